"""K12: Spark's source names a batch that nobody can read, and steps over it where it is told to; jobs always do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from tests.record.test_malformed import malformed
from tests.spark.stored import T0, Stored, records

from holdfast.broker.topics import Topics
from holdfast.catalog.catalog import open_catalog
from holdfast.catalog.errors import DataLost
from holdfast.catalog.read import read
from holdfast.io.clock import SystemClock
from holdfast.record.batch import stamp_max_timestamp
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.record.unreadable import Unreadable
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store
from holdfast.spark.jobs.compact import compact
from holdfast.spark.jobs.merge.merge import merge
from holdfast.spark.jobs.merge.source import open_sources
from holdfast.spark.source.options import parse
from holdfast.spark.source.schema import full_schema
from holdfast.spark.source.source import BatchReader
from holdfast.types import TopicPartition


async def work(topics: Topics) -> None:
    log = (await topics.create("t", 1, {})).partition(0)
    await log.append(build(records(0, 5)))
    await log.append(malformed("00 00 00 00 01 01 00" * 2, 2, 1))
    await log.append(build(records(7, 5)))
    await log.flush()


def test_a_batch_that_nobody_can_read_is_named_and_stepped_over(tmp_path: Path, caplog: Any) -> None:
    """K12: by default the read fails with offsets, reason and the way on: with failOnDataLoss=false it goes on."""
    stored = Stored(tmp_path)
    stored.run(work)
    options = parse({"path": stored.path, "subscribe": "t"}, stream=False)
    [part] = BatchReader(options, full_schema(include_headers=False)).partitions()
    with pytest.raises(DataLost, match=r"t-0: offsets \[5, 7\).*nobody can read this batch.*failOnDataLoss"):
        list(read(part.task, ["offset"], part.store))  # type: ignore[attr-defined]
    batches = list(read(part.task, ["offset"], part.store, fail_on_data_loss=False))  # type: ignore[attr-defined]
    assert [each for batch in batches for each in batch.column("offset").to_pylist()] == [*range(5), *range(7, 12)]
    assert "[5, 7)" in caplog.text


SIZES = malformed("00 00 00 00 01 01 00" * 2, 2, 1)
DEEP = malformed("10 00 00 00 01 01 02 00 03")  # Its times are right: only who looks at headers finds out.


async def two(topics: Topics) -> None:
    log = (await topics.create("t", 1, {})).partition(0)
    await log.append(build(records(0, 5)))
    await log.append(bytearray(SIZES))
    await log.append(build(records(7, 5)))
    await log.flush()
    await log.append(bytearray(DEEP))
    await log.append(build(records(13, 5)))
    await log.flush()


GOOD = [*range(5), *range(7, 12), *range(13, 18)]


def offsets_in(folder: Path) -> list[int]:
    return [int(each) for each in ds.dataset(folder, ignore_prefixes=["_"]).to_table().column("offset").to_pylist()]


def test_an_archive_steps_over_what_nobody_can_read(spark: Any, tmp_path: Path) -> None:
    """K12, P4: all records around it are archived, once; it is counted, and named with the reason."""
    stored, out = Stored(tmp_path / "data"), tmp_path / "out"
    stored.run(two)
    for expected in (15, 0):
        target = ParquetTarget(spark, parquet_store(str(out)))
        done = archive(spark, open_catalog(stored.path, topics=["t"]), target)
        assert done.rows() == expected
        if expected:
            found = done.unreadable[TopicPartition("t", 0)]
            assert (found.batches, found.offsets) == (2, 3)
            assert [(each.start, each.end) for each in found.named] == [(5, 7), (12, 13)]
            assert "size" in found.named[0].why
        else:
            assert not done.unreadable  # They are behind it.
    assert sorted(offsets_in(out)) == GOOD


def test_a_merge_steps_over_what_nobody_can_read(spark: Any, tmp_path: Path) -> None:
    """K12, P4: both passes agree on what that is, also where only a look at headers tells."""
    stored, out = Stored(tmp_path / "data"), tmp_path / "out"
    stored.run(two)
    done = merge(spark, open_sources(["t"], stored.path), parquet_store(str(out)))
    assert (done.rows, done.sources) == (15, {"t": 15})
    found = done.unreadable["t-0"]
    assert (found.batches, found.offsets) == (2, 3)
    assert [each[:2] for each in found.named] == [(5, 7), (12, 13)]
    assert isinstance(found.named[0], Unreadable)
    assert sorted(offsets_in(out)) == GOOD


def test_a_time_is_found_beside_what_nobody_can_read(tmp_path: Path) -> None:
    """K12: a read from a time on begins at such a batch, as the broker says it, and does not fail at once."""
    stored = Stored(tmp_path)

    async def beside(topics: Topics) -> None:
        log = (await topics.create("t", 1, {})).partition(0)
        await log.append(build(records(0, 5)))
        bad = memoryview(bytearray(SIZES))
        stamp_max_timestamp(bad, T0 + 100_000)
        await log.append(bad)
        await log.append(build(records(7, 5, time=lambda n: T0 + 200_000 + n)))
        await log.flush()

    stored.run(beside)
    for time, first in ((50_000, 5), (150_000, 7)):
        options = parse({"path": stored.path, "subscribe": "t", "startingTimestamp": str(T0 + time)}, stream=False)
        parts = BatchReader(options, full_schema(include_headers=False)).partitions()
        assert min(piece.start for part in parts for piece in part.task.pieces) == first  # type: ignore[attr-defined]


def test_compaction_keeps_and_counts_what_nobody_can_read(spark: Any, tmp_path: Path) -> None:
    """K12, K11: and what is younger than min.compaction.lag.ms is not touched at all."""
    stored = Stored(tmp_path)
    now_ms = SystemClock().now_ms()

    async def keyed(topics: Topics) -> None:
        configs = {"cleanup.policy": "compact", "min.compaction.lag.ms": "3600000"}
        log = (await topics.create("t", 1, configs)).partition(0)
        old, young = now_ms - 7_200_000, now_ms - 60_000
        for time in (old, young):
            await log.append(build([Record(b"k", b"%d" % n, time) for n in range(3)]))
            await log.append(bytearray(DEEP if time == old else SIZES))
            if time == old:
                bad = memoryview(bytearray(SIZES))
                stamp_max_timestamp(bad, old)
                await log.append(bad)
            await log.flush()

    stored.run(keyed)
    [done] = compact(spark, open_catalog(stored.path, topics=["t"]))
    assert (done.records_before - done.records_after, done.unreadable) == (2, 1)
    assert not compact(spark, open_catalog(stored.path, topics=["t"]))[0].segments_before  # The rest is too young.
