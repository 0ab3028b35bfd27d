"""One small Spark session for the tests of pipelines; it ends with the module, because others need other jars."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.spark.session import SessionSettings, spark_session


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session on two cores of this machine."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("java is missing")
    from pyspark import SparkContext

    with spark_session(SessionSettings("test", "local[2]")) as session:
        yield session
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None  # type: ignore[assignment]
