"""Audit beside others that are at work: what they change meanwhile is neither lost, nor doubled, nor a fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.spark.disturbed import DisturbedSession
from tests.spark.killing import Here
from tests.support.spark_store import T0, StoredCluster, StoredPartition

from holdfast.catalog.store import Store, find_store
from holdfast.cluster.metadata import Topic, create_topic, delete_topic
from holdfast.io.clock import SystemClock
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.versions import Versions
from holdfast.record.batch import read_header
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.spark.jobs.audit.audit import Evidence, audit
from holdfast.spark.jobs.audit.look import DELETED, NO_MANIFEST, look_again, look_at
from holdfast.spark.jobs.audit.report import PartitionReport
from holdfast.spark.jobs.audit.sum import AuditedBatch, BrokerMarks, Tails, sum_up
from holdfast.spark.jobs.compact import CompactTask, compact_task
from holdfast.types import OffsetRange, PartitionId, TopicPartition


@pytest.fixture
def cluster(tmp_path: Path) -> StoredCluster:
    return StoredCluster(LocalObjects(tmp_path / "store"))


@pytest.fixture
def store(tmp_path: Path, cluster: StoredCluster) -> Store:
    return find_store(str(tmp_path / "store"))


@pytest.fixture
def partition(cluster: StoredCluster) -> StoredPartition:
    """Six segments of ten records each, all of one idempotent producer."""
    [made] = cluster.topic("t")
    for first in range(0, 60, 10):
        rows = [Record(b"k%d" % n, b"v", T0 + n) for n in range(first, first + 10)]
        batch = build(rows, base_offset=first, leader_epoch=1, producer_id=5, producer_epoch=0, base_sequence=first)
        made.pending.append(bytes(batch))
        made.next_offset += 10
        made.flush()
    return made


def run(spark: Any, store: Store, meanwhile: Callable[[], None]) -> list[PartitionReport]:
    """An audit, and what happens between its look at the manifests and its look at the segments."""
    return audit(DisturbedSession(spark, meanwhile), store)


@pytest.mark.parametrize("gone", [[0, 1, 2, 3, 4, 5], [1, 2], [5]])
def test_segments_that_are_merged_meanwhile(
    spark: Any, store: Store, partition: StoredPartition, gone: list[int]
) -> None:
    """L2, P4: old segments of which some are deleted already count by what was made of them: each offset once."""
    names = [each.name for each in partition.log.manifest.segments]

    def merge() -> None:
        task = CompactTask(store, TopicPartition("t", 0), partition.home, 1 << 20, None, tuple(names))
        assert compact_task(task).segments_after == 1
        for number in gone:
            partition.cluster.objects.delete(names[number])

    [report] = run(spark, store, merge)
    assert report.is_sound, report.problems
    assert (report.counts.records, report.counts.accounted, report.batches) == (60, 60, 6)


def test_segments_that_expire_meanwhile(spark: Any, store: Store, partition: StoredPartition) -> None:
    """L2, P4: what retention took while the audit ran is counted as that, and is no gap."""
    [report] = run(spark, store, lambda: partition.expire(25))
    assert report.is_sound, report.problems
    assert (report.counts.expired, report.counts.records, report.counts.accounted) == (20, 40, 60)


def test_a_topic_that_is_deleted_meanwhile(spark: Any, store: Store, partition: StoredPartition) -> None:
    """P4: a topic that went away is named and nothing of it is called sound; if it is still there, the gap is told."""
    cluster = partition.cluster

    def empty() -> None:
        for each in [*cluster.objects.list(partition.home.manifests), *cluster.objects.list(partition.home.segments)]:
            cluster.objects.delete(each.name)

    def delete() -> None:
        cluster.metadata.commit(delete_topic(partition.home.topic_id))
        empty()

    cluster.topic("other")
    saved = {each.name: cluster.objects.get(each.name) for each in cluster.objects.list("")}
    vanished = {each.topic: each for each in run(spark, store, empty)}
    assert vanished["t"].missing == [OffsetRange(0, 60)]
    assert not vanished["t"].is_sound
    for name, data in saved.items():
        cluster.objects.put(name, [data])
    reports = {each.topic: each for each in run(spark, store, delete)}
    gone, other = reports["t"], reports["other"]
    assert (gone.problems, gone.missing, gone.delivered_percent) == ([DELETED], [], 0)
    assert other.is_sound, other.problems


def test_a_topic_that_is_made_meanwhile(spark: Any, store: Store, cluster: StoredCluster) -> None:
    """P4: between a topic's metadata and its first manifest it is neither gone nor unsound."""
    home = PartitionId(UUID(int=7), 0)
    cluster.metadata.commit(create_topic(Topic("new", home.topic_id, 1)))
    [report] = run(spark, store, lambda: StoredPartition(cluster, home) and None)
    assert report.is_sound, report.problems
    assert "made while the audit ran" in report.notes[0]


def test_a_topic_without_a_manifest(spark: Any, store: Store, cluster: StoredCluster) -> None:
    """P4: one whose manifest does not come is reported, with both reasons that it can have."""
    cluster.metadata.commit(create_topic(Topic("new", UUID(int=7), 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.spark.jobs.audit.look.MAKING_S", 0.1)
        [report] = audit(spark, store)
    assert report.problems == [NO_MANIFEST]
    assert report.delivered_percent == 0


def made_meanwhile(
    cluster: StoredCluster,
    home: PartitionId,
    meanwhile: Callable[[], object],
    tails: Tails | None = None,
    marks: BrokerMarks | None = None,
) -> PartitionReport:
    """What is said of a partition that had no manifest at the first look."""
    looks = look_at(cluster.objects, [(TopicPartition("t", 0), home)], "c")
    assert looks[0].manifest is None
    meanwhile()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.spark.jobs.audit.look.MAKING_S", 0.0)
        look_again(cluster.objects, looks, SystemClock())
    return sum_up(looks[0], [], tails, marks, marks)


def test_what_is_left_of_a_partition_makes_it_no_new_one(cluster: StoredCluster, partition: StoredPartition) -> None:
    """P4: where segments, or the hint to a manifest, are older than the manifest, the one that was there is gone."""
    for each in cluster.objects.list(partition.home.manifests):
        cluster.objects.delete(each.name)
    again = made_meanwhile(cluster, partition.home, lambda: StoredPartition(cluster, partition.home))
    assert again.problems == [NO_MANIFEST]
    for each in [*cluster.objects.list(partition.home.manifests), *cluster.objects.list(partition.home.segments)]:
        cluster.objects.delete(each.name)
    Versions(cluster.objects, partition.home.manifests).leave_hint(64)
    hinted = made_meanwhile(cluster, partition.home, lambda: None)
    assert hinted.problems == [NO_MANIFEST]


def test_a_partition_with_acknowledged_records_is_no_new_one(cluster: StoredCluster) -> None:
    """P4: a broker takes no record before the manifest is stored; one without, for records that it has, was lost."""
    for number, known in enumerate(("marks", "tail", "nothing")):
        home = PartitionId(UUID(int=number + 7), 0)
        header = read_header(build([Record(None, b"v", T0)]))
        report = made_meanwhile(
            cluster,
            home,
            lambda home=home: StoredPartition(cluster, home),
            {home: [AuditedBatch(header, is_right=True)]} if known == "tail" else None,
            BrokerMarks(0, 1 if known == "marks" else 0),
        )
        assert report.is_sound == (known == "nothing"), known


def test_what_the_stores_metadata_has_lost(store: Store, cluster: StoredCluster, partition: StoredPartition) -> None:
    """P4: records of which only the broker or its log knows, since the newest metadata is gone, are no sound cluster.
    Topics that are deleted meanwhile are none of these."""
    lost, home = TopicPartition("lost", 0), PartitionId(UUID(int=7), 0)
    marks = {TopicPartition("t", 0): BrokerMarks(0, 60), lost: BrokerMarks(0, 30)}
    tails = {home: [AuditedBatch(read_header(build([Record(None, b"v", T0)], base_offset=30)), is_right=True)]}
    known = Evidence(ask_broker=lambda _: marks, read_tails=lambda: tails)
    reports = {each.topic: each for each in audit(Here(), store, evidence=known)}
    assert reports.pop("t").is_sound
    assert (reports["lost"].missing, reports[str(home.topic_id)].missing) == (
        [OffsetRange(0, 30)],
        [OffsetRange(30, 31)],
    )
    assert not any(each.is_sound for each in reports.values())
    answers: list[Any] = [tails, {}]
    asked: list[Any] = [marks, marks, {TopicPartition("t", 0): BrokerMarks(0, 60)}]
    known = Evidence(ask_broker=lambda _: asked.pop(0), read_tails=lambda: answers.pop(0))
    [report] = audit(Here(), store, evidence=known)
    assert report.is_sound, report.problems
    assert (asked, answers) == ([], [])
