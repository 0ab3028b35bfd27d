"""One Spark for all test files of a process: a JVM costs more than most tests, and so does a fresh Python worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.spark_session import missing, no_spark, spark_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two cores of this machine, with `format("holdfast")` and, where they are, the connector's jars."""
    reason = no_spark()
    if reason:
        pytest.skip(reason)
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session")
def connector() -> None:
    """For files that need Spark's own Kafka connector in the session."""
    reason = missing()
    if reason and reason.endswith("is missing"):
        pytest.skip(reason)
    if reason:
        pytest.fail(reason)
