"""A small Spark in a JVM of its own: with our source, and with Spark's Kafka connector where its jars are."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

JARS = Path(__file__).parents[2] / ".tools" / "spark-jars"


def no_spark() -> str | None:
    """Why Spark cannot run, or None."""
    if shutil.which("java") is None:
        return "java is missing"
    return None if importlib.util.find_spec("pyspark") else "PySpark is missing"


def missing() -> str | None:
    """Why Spark cannot run with its Kafka connector, or None."""
    for needed in ("java", "javac", "mvn"):
        if shutil.which(needed) is None:
            return f"{needed} is missing"
    if not _jars_are_there():
        return "the jars are not there: run .ci/install-java-clients"
    return None if importlib.util.find_spec("pyspark") else "PySpark is not installed: run make test"


def _jars_are_there() -> bool:
    return JARS.with_suffix(".stamp").exists()


def settings(folder: Path, *, jars: bool = True) -> dict[str, str]:
    """What keeps Spark small, quiet and on this machine. Its Python workers stay, with all that they have loaded."""
    found = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.local.dir": str(folder / "local"),
        "spark.python.daemon.module": "holdfast.spark.daemon",
        "spark.python.worker.reuse": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    if jars and _jars_are_there():
        found["spark.jars"] = ",".join(map(str, sorted(JARS.glob("*.jar"))))
    return found


def start(folder: Path, *, jars: bool = True) -> Any:
    """A session, which finds the source by itself."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # Whatever python3 is on the path, workers need what we have.
    builder = SparkSession.builder.master("local[2]").appName("holdfast")
    for name, value in settings(folder, jars=jars).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def spark_session(folder: Path) -> Iterator[Any]:
    """A session that ends, with its JVM, when the block does."""
    from pyspark import SparkContext

    session = start(folder)
    yield session
    session.stop()
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None
