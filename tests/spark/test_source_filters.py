"""What filters leave to be read, without Spark: fewer segments, and never a row too few."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)
from pyspark.sql.types import StructType
from tests.support.spark_store import T0, StoredCluster

from holdfast.io.objects.local.objects import LocalObjects
from holdfast.record.records import Record
from holdfast.spark.source.options import parse
from holdfast.spark.source.schema import full_schema
from holdfast.spark.source.source import PruningReader

FIRST = datetime.fromtimestamp(T0 / 1000, UTC)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three partitions of two topics with four segments of 50 records each, a second between two records."""
    path = tmp_path_factory.mktemp("counted")
    cluster = StoredCluster(LocalObjects(path))
    for partition in cluster.topic("a", 2) + cluster.topic("b", 1):
        for _ in range(4):
            partition.count(25)
            partition.count(25)
            partition.flush()
    return path


def found(path: Path, *filters: Any) -> tuple[int, list[tuple[str, int, int]]]:
    """How many pieces of segments are read, and the rows that they hand out."""
    options = {"path": str(path), "subscribePattern": ".*", "pushFilters": "true"}
    reader = PruningReader(parse(options, stream=False), full_schema(include_headers=False))
    assert reader.pushFilters(list(filters)) == list(filters)  # Spark applies them all again.
    parts: list[Any] = reader.partitions()
    batches = (batch for part in parts for batch in reader.read(part))
    rows = [(row["topic"], row["partition"], row["offset"]) for batch in batches for row in batch.to_pylist()]
    return sum(len(part.task.pieces) for part in parts), rows


def rows(topic: str, partition: int, start: int, end: int) -> list[tuple[str, int, int]]:
    return [(topic, partition, offset) for offset in range(start, end)]


def at(seconds: float = 0, microseconds: int = 0) -> datetime:
    return FIRST + timedelta(seconds=seconds, microseconds=microseconds)


def test_places(path: Path) -> None:
    """P1: topics, partitions and offsets that no filter wants are not planned."""
    a1 = EqualTo(("topic",), "a"), EqualTo(("partition",), 1)
    assert found(path, *a1) == (4, rows("a", 1, 0, 200))
    assert found(path, *a1, GreaterThan(("offset",), 120), LessThanOrEqual(("offset",), 140)) == (
        1,
        rows("a", 1, 121, 141),
    )
    starts_with_b = StringStartsWith(("topic",), "b"), GreaterThanOrEqual(("offset",), 149)
    assert found(path, *starts_with_b) == (2, rows("b", 0, 149, 200))
    some = In(("topic",), ("b", "c", None)), In(("partition",), (0, 7)), LessThan(("offset",), 2)
    assert found(path, *some) == (1, rows("b", 0, 0, 2))
    assert found(path, EqualTo(("topic",), "c")) == (0, [])


def test_times(path: Path) -> None:
    """P1: a time leaves out segments, batches and rows; half milliseconds are rounded to the right side."""
    span = GreaterThanOrEqual(("timestamp",), at(100)), LessThan(("timestamp",), at(130))
    assert found(path, EqualTo(("topic",), "b"), *span) == (1, rows("b", 0, 100, 130))
    b = EqualTo(("topic",), "b")
    assert found(path, b, LessThan(("timestamp",), at(1))) == (1, rows("b", 0, 0, 1))
    assert found(path, b, LessThanOrEqual(("timestamp",), at(1))) == (1, rows("b", 0, 0, 2))
    assert found(path, b, LessThanOrEqual(("timestamp",), at(1, -1))) == (1, rows("b", 0, 0, 1))
    assert found(path, b, GreaterThan(("timestamp",), at(198))) == (1, rows("b", 0, 199, 200))
    assert found(path, b, GreaterThanOrEqual(("timestamp",), at(198, 1))) == (1, rows("b", 0, 199, 200))
    assert found(path, b, EqualTo(("timestamp",), at(7))) == (1, rows("b", 0, 7, 8))
    assert found(path, b, EqualTo(("timestamp",), at(7, 500))) == (0, [])


def test_what_is_not_understood_leaves_everything(path: Path) -> None:
    """P1: other filters and other columns take nothing away."""
    others = Not(EqualTo(("partition",), 0)), IsNotNull(("offset",)), EqualTo(("value",), b"k"), EqualTo(("a", "b"), 1)
    assert len(found(path, *others, EqualTo(("offset",), None))[1]) == 600


def test_keys_and_what_is_null(path: Path, tmp_path: Path) -> None:
    """P1: rows with another key, and those that are null or not, do not go into the JVM; where a column is not read,
    nothing is left out by it."""
    assert found(path, EqualTo(("key",), b"k7"))[1] == [("a", 0, 7), ("a", 1, 7), ("b", 0, 7)]
    some = In(("key",), (b"k7", b"k9", None))
    assert found(path, some, EqualTo(("partition",), 1))[1] == [("a", 1, 7), ("a", 1, 9)]
    assert found(path, some, EqualTo(("key",), b"k8"))[1] == []
    [partition] = StoredCluster(LocalObjects(tmp_path)).topic("a")
    partition.add([Record(None, b"v"), Record(b"", None), Record(b"k", b"v", 0, (("h", b"x"),))])
    partition.flush()

    whole = full_schema(include_headers=True)

    def offsets(*filters: Any, schema: StructType = whole) -> list[int]:
        options = {"path": str(tmp_path), "subscribe": "a", "pushFilters": "true", "includeHeaders": "true"}
        reader = PruningReader(parse(options, stream=False), schema)
        reader.pushFilters(list(filters))
        batches = (batch for part in reader.partitions() for batch in reader.read(part))
        return [row["offset"] for batch in batches for row in batch.to_pylist()]

    assert offsets(IsNull(("key",))) == [0]
    assert offsets(IsNotNull(("key",))) == [1, 2]
    assert offsets(EqualTo(("key",), b"")) == [1]
    assert offsets(IsNull(("value",))) == [1]
    assert offsets(IsNotNull(("headers",))) == [2]
    assert offsets(IsNotNull(("key",)), IsNotNull(("value",)), Not(EqualTo(("key",), b"k"))) == [2]
    narrow = StructType([each for each in full_schema(include_headers=False).fields if each.name == "offset"])
    assert offsets(EqualTo(("key",), b"k"), schema=narrow) == [0, 1, 2]


def test_times_that_go_back(tmp_path: Path) -> None:
    """P1: a late record in a batch that starts later is found, whether its segment knows its times or not."""
    [partition] = StoredCluster(LocalObjects(tmp_path)).topic("t")
    for known in (True, False):
        partition.add([Record(b"k", b"v", T0 + 90_000), Record(b"k", b"v", T0 + 1000), Record(b"k", b"v", T0 + 99_000)])
        partition.flush(times_size_min=0 if known else 1 << 20)
    assert [each.times is None for each in partition.log.manifest.segments] == [False, True]
    early = LessThan(("timestamp",), at(2))
    assert found(tmp_path, early) == (2, [("t", 0, 1), ("t", 0, 4)])
    assert found(tmp_path, LessThan(("timestamp",), at(1)))[1] == []
    assert found(tmp_path, GreaterThan(("timestamp",), at(100))) == (1, [])  # The second does not know.
