"""Audit beside a broker at work: it commits between any two requests, and compacts what is just being fetched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.spark.killing import Here
from tests.support.spark_store import T0, StoredCluster, StoredPartition

from holdfast.catalog.store import find_store
from holdfast.client.errors import Refused
from holdfast.cluster.metadata import delete_topic
from holdfast.io.clock import SystemClock
from holdfast.io.objects.faulty import Call, FaultyObjects
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.versions import FULL_EVERY, Versions
from holdfast.record.batch import read_header
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.spark.jobs.audit.audit import Evidence, audit
from holdfast.spark.jobs.audit.fetch import fetch_tails
from holdfast.spark.jobs.audit.look import DELETED, look_again, look_at
from holdfast.spark.jobs.audit.report import PartitionReport
from holdfast.spark.jobs.audit.sum import AuditedBatch, BrokerMarks, sum_up
from holdfast.types import TopicPartition

REQUESTS_MAX = 9  # More than a look at one partition makes.
BEFORE_FULL = FULL_EVERY - 2


@pytest.mark.parametrize("moment", range(REQUESTS_MAX))
def test_a_broker_that_commits_while_we_look(moment: int) -> None:
    """P4: versions that come between two requests are not missing, and a hint to a newer one is no loss."""
    cluster = StoredCluster(MemoryObjects())
    [partition] = cluster.topic("t")
    while partition.log.manifest.version < BEFORE_FULL:
        partition.raise_epoch()
    requests = 0

    def meanwhile(_: Call) -> None:
        nonlocal requests
        requests += 1
        for _turn in range(3 if requests == moment + 1 else 0):
            partition.count(10)
            partition.flush()

    moving = FaultyObjects(cluster.objects, meanwhile)
    [look] = look_at(moving, [(TopicPartition("t", 0), partition.home)], "c")
    look_again(cluster.objects, [look], SystemClock())
    assert 4 <= requests < REQUESTS_MAX
    assert (look.problems, look.beyond) == ([], [])


class BusyBroker:
    """Has 40 records, of which 20 are flushed; it flushes the others and tidies up at the moment they are fetched."""

    def __init__(self, place: Path, tidy_up: Callable[[StoredPartition], None]) -> None:
        self.cluster = StoredCluster(LocalObjects(place))
        [self.partition] = self.cluster.topic("t")
        self.tidy_up = tidy_up
        self.fetched: list[tuple[int, int]] = []
        for flushed in (True, False):
            for _ in range(2):
                self.partition.count(10)
            if flushed:
                self.partition.flush()

    def fetch(self, _: TopicPartition, start: int, end: int) -> list[AuditedBatch]:
        self.fetched.append((start, end))
        partition = self.partition
        partition.flush()
        self.tidy_up(partition)
        if start < partition.log.manifest.log_start:
            raise Refused("t-0", 1, "offset out of range")
        headers = [read_header(batch) for batch in partition._batches(partition.log.manifest.segments)]
        return [AuditedBatch(each, is_right=True) for each in headers if each.end_offset > start]


def run(broker: BusyBroker, place: Path) -> PartitionReport:
    marks = {TopicPartition("t", 0): BrokerMarks(0, 40)}
    seen = iter([marks, {TopicPartition("t", 0): BrokerMarks(broker.partition.log.manifest.log_start, 40)}])
    evidence = Evidence(ask_broker=lambda _: next(seen), fetch_tail=broker.fetch)
    [report] = audit(Here(), find_store(str(place)), ["t"], evidence)
    return report


def test_a_tail_that_is_compacted_while_it_is_fetched(tmp_path: Path) -> None:
    """P4, L2: what compaction let go of a tail is counted as that, and is no gap."""
    broker = BusyBroker(
        tmp_path, lambda partition: partition.rewrite(lambda batch: read_header(batch).base_offset != 20)
    )
    report = run(broker, tmp_path)
    assert report.is_sound, report.problems
    assert (report.end, report.counts.records, report.counts.compacted, report.tail) == (40, 30, 10, 0)
    assert broker.fetched == [(20, 40)]


def test_a_tail_that_expires_while_it_is_fetched(tmp_path: Path) -> None:
    """P4, L2: what retention took of a tail is counted as expired."""
    broker = BusyBroker(tmp_path, lambda partition: partition.expire(30))
    report = run(broker, tmp_path)
    assert report.is_sound, report.problems
    assert (report.end, report.counts.records, report.counts.expired) == (40, 30, 10)


@pytest.mark.parametrize("is_collected", [False, True])
def test_a_topic_that_is_deleted_while_its_tail_is_fetched(tmp_path: Path, is_collected: bool) -> None:
    """P4: it is reported as deleted, and the audit of all others goes on."""

    def delete(partition: StoredPartition) -> None:
        objects = partition.cluster.objects
        partition.cluster.metadata.commit(delete_topic(partition.home.topic_id))
        for each in list(objects.list(partition.home.manifests)) if is_collected else ():
            objects.delete(each.name)
        raise Refused("t-0", 3, "unknown topic or partition")

    assert run(BusyBroker(tmp_path, delete), tmp_path).problems == [DELETED]


def test_a_manifest_that_goes_while_the_tail_is_fetched() -> None:
    """P4: what the broker has in its memory does not make up for a manifest that was there a moment ago."""
    cluster = StoredCluster(MemoryObjects())
    [partition] = cluster.topic("t")
    for _ in range(2):
        partition.count(10)
        partition.flush()
    where, marks = TopicPartition("t", 0), BrokerMarks(0, 21)
    [look] = look_at(cluster.objects, [(where, partition.home)], "c")
    assert look.manifest is not None
    cluster.objects.delete(Versions(cluster.objects, partition.home.manifests).name(look.manifest.version))
    tail = [AuditedBatch(read_header(build([Record(None, b"v", T0)] * (21 - 10), base_offset=10)), is_right=True)]
    tails = fetch_tails(cluster.objects, [look], {where: marks}, lambda *_: tail)
    assert not sum_up(look, [], tails, marks, marks).is_sound
