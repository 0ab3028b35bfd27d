"""The Spark session of a command: this machine by default, any cluster by its master's address.

On a cluster our code and what it needs travel with the job: see `session_ship`. A session that `spark-submit` has
begun keeps the master that it was given.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from holdfast.errors import HoldfastError, Rejected, Unavailable
from holdfast.spark.session.ship import pack_modules

DEFAULT_MASTER = "local[*]"
NO_SPARK = "none"  # As a master: never.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # Set by `spark-submit` for the program it runs.
_QUIET = Path(__file__).with_name("log4j2.properties")
_SHIPPED = "holdfast_modules"
_HERE = "127.0.0.1"
_MASTER = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[[\d, ]+\]|yarn|(spark|k8s)://.+")


class NoSpark(Rejected):
    """PySpark, or the Java that it needs, is not there."""

    def __init__(self, cause: object) -> None:
        super().__init__(f"Spark cannot start: {cause}. Install Java 17 or later, and the packages of holdfast[spark]")
        self.cause = cause


class UnknownMaster(Rejected):
    """Spark takes no such address: its JVM would say so after its start, in a page of its own."""

    def __init__(self, master: str, *, takes_none: bool) -> None:
        more = "none (in this process), " if takes_none else ""
        super().__init__(
            f"{master!r} is no master of Spark: it is {more}local[*] (this machine), local[N], spark://HOST:PORT, yarn "
            "or k8s://HOST:PORT"
        )
        self.master = master


def check_master(master: str, *, takes_none: bool = False) -> None:
    """Raise UnknownMaster for what no session can begin with; `takes_none` where a job also runs without one."""
    if not _MASTER.fullmatch(master) and not (takes_none and master == NO_SPARK):
        raise UnknownMaster(master, takes_none=takes_none)


@dataclass(frozen=True)
class SessionSettings:
    """Where a job runs."""

    name: str
    master: str | None = None  # None: as `spark-submit` said, or this machine.
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        return (self.master or self.conf.get("spark.master") or _default_master()).split("[")[0] == "local"


def parse_conf(pairs: list[str]) -> dict[str, str]:
    """`name=value` pairs as `--conf` gives them."""
    conf = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.startswith("spark."):
            raise Rejected(f"--conf {pair} is not of the form spark.name=value")
        if name == "spark.master":
            check_master(value)
        conf[name] = value
    return conf


@contextmanager
def spark_session(settings: SessionSettings) -> Iterator[Any]:
    """A session for as long as the block lasts; one that was there before stays."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as failure:
        raise NoSpark(failure) from failure
    before = SparkSession.getActiveSession()
    if before is not None:
        yield before
        return
    with TemporaryDirectory(prefix="holdfast-spark-") as folder:
        session = _start(settings, Path(folder))
        try:
            yield session
        finally:
            session.stop()


def _start(settings: SessionSettings, folder: Path) -> Any:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.appName(f"holdfast {settings.name}")
    for name, value in (_defaults(settings, folder) | dict(settings.conf)).items():
        builder = builder.config(name, value)
    if settings.master or _SUBMITTED not in os.environ:
        builder = builder.master(settings.master or settings.conf.get("spark.master", DEFAULT_MASTER))
    try:
        session = builder.getOrCreate()
    except HoldfastError:
        raise
    except Exception as failure:  # The JVM's own words, of whatever class.
        raise _not_started(settings, failure) from failure
    session.sparkContext.setLogLevel("ERROR")
    return session


def _not_started(settings: SessionSettings, failure: Exception) -> HoldfastError:
    if "JAVA_GATEWAY_EXITED" in str(failure):
        return NoSpark("the Java process ended at once")
    first = (str(failure).strip().splitlines() or [""])[0]
    return Unavailable(f"Spark at {settings.master or DEFAULT_MASTER} did not start: {first}")


def _defaults(settings: SessionSettings, folder: Path) -> dict[str, str]:
    """What a job of ours needs; `--conf` comes last and wins."""
    quiet = f"-Dlog4j2.configurationFile={_QUIET.as_uri()}"
    common = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",  # We have our own.
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": quiet,
        "spark.python.worker.reuse": "true",
    }
    if settings.is_local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark asks here, and takes any python3 otherwise.
        # One JVM that only hands out tasks: it needs little memory and no fast compiler.
        return common | {
            "spark.driver.extraJavaOptions": f"{quiet} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.memory": "512m",
            "spark.python.daemon.module": "holdfast.spark.daemon",  # On a cluster who asks for it has it, by --conf.
            "spark.driver.host": _HERE,
            "spark.driver.bindAddress": _HERE,
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
    archive = pack_modules(folder)
    return common | {
        "spark.archives": f"{archive}#{_SHIPPED}",
        "spark.executorEnv.PYTHONPATH": f"./{_SHIPPED}",
        "spark.pyspark.driver.python": sys.executable,
    }


def _default_master() -> str:
    return "cluster" if _SUBMITTED in os.environ else DEFAULT_MASTER
