"""Audit: what is sound is found sound, with everything counted; each planted fault is found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark.faults import (
    flipped_byte,
    flipped_byte_in_header,
    flipped_byte_in_index,
    home_of,
    manifest_in_the_middle_deleted,
    missing_segment,
    newest_manifest_deleted,
    partition_deleted,
    rewrite,
)
from tests.spark.stored import Stored, fill, records, transaction

from holdfast.broker.topics import Topics
from holdfast.catalog.store import find_store
from holdfast.cli.audit.evidence import evidence_of
from holdfast.record.build import build
from holdfast.record.marker import MarkerKind
from holdfast.record.records import Record
from holdfast.segment.manifest.load import load_manifest
from holdfast.spark.jobs.audit.audit import Evidence, audit
from holdfast.spark.jobs.audit.expect import read_expected
from holdfast.spark.jobs.audit.report import PartitionReport
from holdfast.spark.jobs.audit.sum import BrokerMarks
from holdfast.types import OffsetRange, TopicPartition


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    """Two partitions with several segments each."""
    cluster = Stored(tmp_path / "data")

    async def work(topics: Topics) -> None:
        topic = await topics.create("orders", 2, {})
        for number in range(2):
            await fill(topic.partition(number), [records(100 * n, 100) for n in range(6)], flush_every=2)

    cluster.run(work)
    return cluster


def run(spark: Any, cluster: Stored, evidence: Evidence | None = None, *topics: str) -> dict[int, PartitionReport]:
    reports = audit(spark, find_store(cluster.path, cluster.options), topics, evidence)
    return {each.partition: each for each in reports}


def test_a_sound_cluster(spark: Any, stored: Stored) -> None:
    """P4, L2: every offset is accounted for, in every partition."""
    reports = run(spark, stored)
    assert sorted(reports) == [0, 1]
    for report in reports.values():
        assert report.is_sound, report.problems
        assert (report.log_start, report.end, report.counts.records, report.segments) == (0, 600, 600, 3)
        assert report.delivered_percent == 100.0


def test_what_is_counted_apart(spark: Any, tmp_path: Path) -> None:
    """L2: control, aborted, undecided and compacted-away offsets are counted apart, and none is missing."""
    cluster = Stored(tmp_path / "data")

    async def work(topics: Topics) -> None:
        log = (await topics.create("moves", 1, {"cleanup.policy": "compact"})).partition(0)
        await fill(log, [records(0, 50), records(0, 50), records(0, 50)], flush_every=1)
        await transaction(log, 7, records(900, 10), MarkerKind.COMMIT)
        await log.flush()
        await log.compact()
        await transaction(log, 8, records(910, 20), MarkerKind.ABORT)
        await transaction(log, 9, records(930, 5), None)
        await log.flush()

    cluster.run(work)
    report = run(spark, cluster)[0]
    assert report.is_sound, report.problems
    counts = report.counts
    assert (report.end, counts.accounted) == (187, 187)
    assert (counts.compacted, counts.control, counts.aborted, counts.open) == (100, 2, 20, 5)


def test_the_tail_of_a_killed_broker(spark: Any, tmp_path: Path) -> None:
    """L2: what is only in the write-ahead log is taken from there by the command, and missing without it."""
    cluster = Stored(tmp_path / "data")

    async def work(topics: Topics) -> None:
        log = (await topics.create("t", 1, {})).partition(0)
        await fill(log, [records(0, 10)])
        await log.append(build(records(10, 10)))
        shutil.copytree(cluster.data, tmp_path / "copy")  # As a kill at this moment leaves it.

    cluster.run(work)
    killed = Stored(tmp_path / "copy")
    evidence = evidence_of(killed.path, find_store(killed.path), None, None)
    report = run(spark, killed, evidence)[0]
    assert (report.is_sound, report.flushed, report.end, report.tail) == (True, 10, 20, 10)
    marks = {TopicPartition("t", 0): BrokerMarks(0, 20)}
    without = run(spark, killed, Evidence(read_tails=dict, ask_broker=lambda _: marks))[0]
    assert (without.is_sound, without.missing) == (False, [OffsetRange(10, 20)])


@pytest.mark.parametrize(
    ("plant", "gaps", "said"),
    [
        (missing_segment, [OffsetRange(200, 400)], "is not in the store"),
        (flipped_byte, [OffsetRange(200, 400)], "crc"),
        (flipped_byte_in_header, [], "header"),
        (flipped_byte_in_index, [OffsetRange(400, 600)], "crc of its index"),
        (newest_manifest_deleted, [OffsetRange(400, 600)], "no manifest lists it"),
        (manifest_in_the_middle_deleted, [], "is missing, though newer ones are there"),
        (partition_deleted, [], "the whole partition is gone"),
    ],
)
def test_faults(
    spark: Any, stored: Stored, plant: Callable[[Stored], None], gaps: list[OffsetRange], said: str
) -> None:
    """P4: a fault in one partition is found, with the offsets that it costs; the other partition is sound."""
    plant(stored)
    reports = run(spark, stored)
    assert not reports[0].is_sound
    assert reports[0].missing == gaps
    assert any(said in each for each in reports[0].problems), reports[0].problems
    assert reports[1].is_sound


def test_a_batch_stored_twice(spark: Any, stored: Stored) -> None:
    """P4: a batch that comes again at the same offsets is found, though every crc is right."""
    rewrite(stored, lambda batches: [batches[0], batches[0], *batches[1:]])
    report = run(spark, stored)[0]
    assert report.counts.duplicates == 100
    assert report.counts.records == 600
    assert not report.missing
    assert not report.is_sound


def test_an_offset_gap(spark: Any, stored: Stored) -> None:
    """P4, L2: offsets that a flush left out are found, though every crc is right."""
    rewrite(stored, lambda batches: batches[1:])
    report = run(spark, stored)[0]
    assert report.missing == [OffsetRange(200, 300)]
    assert report.delivered_percent == pytest.approx(100 * 500 / 600)
    assert any("[200, 300) are missing" in each for each in report.problems)


def test_a_producers_batch_stored_under_two_offsets(spark: Any, tmp_path: Path) -> None:
    """P4: a batch of an idempotent producer that was appended twice is found by its sequences."""
    cluster = Stored(tmp_path / "data")

    async def work(topics: Topics) -> None:
        log = (await topics.create("t", 1, {})).partition(0)
        for sequence in (0, 10, 0):
            if sequence == 0:
                log.producers._states.clear()  # As a broker that has forgotten its producer.
            fields = {"producer_id": 5, "producer_epoch": 0, "base_sequence": sequence}
            await log.append(build([Record(b"k", b"v", 0)] * 10, **fields))
            await log.flush()

    cluster.run(work)
    report = run(spark, cluster)[0]
    assert not report.is_sound
    assert any("stored twice" in each for each in report.problems)


def test_marks_of_the_broker(spark: Any, stored: Stored) -> None:
    """P4: a broker that acknowledged more than there is, or started elsewhere, is contradicted."""

    def ask(marks: BrokerMarks) -> Evidence:
        everywhere = {TopicPartition("orders", number): marks for number in range(2)}
        return Evidence(read_tails=dict, ask_broker=lambda _: everywhere)

    assert run(spark, stored, ask(BrokerMarks(0, 600)))[0].is_sound
    behind = run(spark, stored, ask(BrokerMarks(0, 700)))[0]
    assert (behind.missing, behind.end) == ([OffsetRange(600, 700)], 700)
    assert not run(spark, stored, ask(BrokerMarks(5, 600)))[0].is_sound
    [beyond] = run(spark, stored, ask(BrokerMarks(0, 500)))[0].problems
    assert beyond == "segments reach to 600, the broker's high watermark is 500"


def test_a_producers_list(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: acknowledged offsets that are nowhere, or were acknowledged twice, are named."""
    missing_segment(stored)
    acked = tmp_path / "acked"
    lines = ["orders 0 0", "orders 0 250", "orders 0 399", "orders 0 400", "orders 0 9999", "orders 1 7", "orders 1 7"]
    acked.write_text("\n".join([*lines, "gone 3 1"]) + "\n")
    reports = audit(spark, find_store(stored.path), (), Evidence(acked=read_expected(acked)))
    by_name = {(each.topic, each.partition): each for each in reports}
    assert (by_name["orders", 0].expected, by_name["orders", 0].expected_missing) == (5, 3)
    assert by_name["orders", 1].counts.duplicates == 1
    assert by_name["gone", 3].expected_missing == 1
    assert not by_name["gone", 3].is_sound


def test_on_a_real_s3_server(spark: Any, s3_store: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """P4: the same on an object store, a lost segment included."""
    url, options = s3_store
    cluster = Stored(tmp_path / "data", url, options)

    async def work(topics: Topics) -> None:
        await fill((await topics.create("t", 1, {})).partition(0), [records(0, 10), records(10, 10)], flush_every=1)

    cluster.run(work)
    assert run(spark, cluster)[0].is_sound
    cluster.objects.delete(load_manifest(cluster.objects, home_of(cluster)).segments[1].name)
    assert run(spark, cluster)[0].missing == [OffsetRange(10, 20)]
