"""Audit: every offset from log start to the end is accounted for exactly once, or the report says which is not.

    1. ask       the broker's marks, when there is a broker; then the tails in its write-ahead log, when they are here
    2. look      metadata, manifests, versions, stray segments: on the driver
    3. check     every segment, byte by byte and offset by offset: on executors
    4. fetch     what is in no segment yet, from the broker, when there is no write-ahead log
    5. sum up    segments, tail and marks of each partition; then what the metadata lacks, and a producer's own list

Marks are asked for before and after the manifests are read, because everything moves: what was acknowledged before must
be there, and what is there must have been acknowledged after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from holdfast.catalog.catalog import is_internal
from holdfast.catalog.plan import OPEN_SIZE
from holdfast.catalog.store import Store, cluster_of
from holdfast.cluster.metadata import Metadata
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.clock import SystemClock
from holdfast.io.versions import VersionRetries
from holdfast.spark.jobs.audit.expect import Acked, compare
from holdfast.spark.jobs.audit.fetch import FetchTail, fetch_tails, flushed_since
from holdfast.spark.jobs.audit.look import DELETED, PartitionLook, look_again, look_at
from holdfast.spark.jobs.audit.report import PartitionReport, SegmentReport
from holdfast.spark.jobs.audit.segment import AuditTask, Suspect, audit_task
from holdfast.spark.jobs.audit.sum import BrokerMarks, Tails, sum_up
from holdfast.spark.jobs.audit.unlisted import unlisted_marks, unlisted_tails
from holdfast.spark.jobs.run import OnDone, Unit, parallelism_of, run_units
from holdfast.types import PartitionId, TopicPartition

TASK_SIZE = 64 * 1024 * 1024

AskBroker = Callable[[Sequence[str]], Mapping[TopicPartition, BrokerMarks]]  # Of these topics; of all, for none.


@dataclass(frozen=True)
class Evidence:
    """What else is known: each part may be missing, and then less is known of the end of a partition."""

    read_tails: Callable[[], Tails] | None = None  # From the write-ahead log, after the marks and before manifests.
    ask_broker: AskBroker | None = None
    fetch_tail: FetchTail | None = None  # From the broker, where the write-ahead log is not at hand.
    acked: Acked = field(default_factory=dict)


def audit(
    session: Any,
    store: Store,
    topics: Iterable[str] = (),
    evidence: Evidence | None = None,
    *,
    decode: bool = True,
    on_done: OnDone | None = None,
) -> list[PartitionReport]:
    """Reports of all partitions of these topics, or of all topics."""
    known = evidence or Evidence()
    names = sorted(set(topics))
    before = known.ask_broker(names) if known.ask_broker else {}
    tails = known.read_tails() if known.read_tails else None
    metadata = _metadata(store)
    looks = look_at(store.open(), _partitions(metadata, names), cluster_of(store))
    found: dict[PartitionId, list[SegmentReport]] = {look.home: [] for look in looks}

    def check(suspects: Sequence[Suspect]) -> None:
        units = list(_units(store, suspects, decode=decode, parallelism=parallelism_of(session)))
        for result in run_units(session, units, audit_task, on_done):
            for home, report in result:
                found[home].append(report)

    check([Suspect.of(look.manifest, info) for look in looks if look.manifest for info in look.manifest.segments])
    listed, left = _still_there(store, looks)
    look_again(store.open(), left, SystemClock())
    if tails is None and known.fetch_tail is not None:
        tails = fetch_tails(store.open(), left, before, known.fetch_tail)
        check([suspect for look in left for suspect in flushed_since(look)])
        listed, left = _still_there(store, left)
    after = known.ask_broker(sorted({look.where.topic for look in left})) if known.ask_broker and left else {}
    reports = [sum_up(look, found[look.home], tails, before.get(look.where), after.get(look.where)) for look in left]
    there = {look.home for look in left}
    reports += [PartitionReport(*look.where, problems=[DELETED]) for look in looks if look.home not in there]
    reports += _unlisted(known, names, before, tails, [*_partitions(metadata), *listed])
    return _compared(reports, known.acked, set(names))


def _still_there(
    store: Store, looks: Sequence[PartitionLook]
) -> tuple[list[tuple[TopicPartition, PartitionId]], list[PartitionLook]]:
    """The partitions that are there now, and the looks at them: topics that are deleted take their segments along."""
    listed = _partitions(_metadata(store))
    there = {home for _, home in listed}
    return listed, [look for look in looks if look.home in there]


def _unlisted(
    known: Evidence,
    names: Sequence[str],
    marks: Mapping[TopicPartition, BrokerMarks],
    tails: Tails | None,
    listed: Sequence[tuple[TopicPartition, PartitionId]],
) -> Iterator[PartitionReport]:
    if known.ask_broker is not None:
        yield from unlisted_marks(marks, {where for where, _ in listed}, partial(known.ask_broker, names))
    if known.read_tails is not None and not names:  # A log does not say whether they are of the topics that are meant.
        yield from unlisted_tails(tails or {}, {home for _, home in listed}, known.read_tails)


def _metadata(store: Store) -> Metadata:
    patience = VersionRetries.of_readers()
    return MetadataLog(store.open(), cluster_of(store), "", patience).metadata


def _partitions(metadata: Metadata, topics: Iterable[str] | None = None) -> list[tuple[TopicPartition, PartitionId]]:
    """Those of some topics; for no names, of all but internal ones; for None, of all."""
    named = [metadata.topic(name) for name in sorted(set(topics or ()))]
    every = [each for _, each in sorted(metadata.topics.items()) if topics is None or not is_internal(each)]
    wanted = named or every
    return [
        (TopicPartition(each.name, number), PartitionId(each.topic_id, number))
        for each in wanted
        for number in range(each.partitions)
    ]


def _units(store: Store, suspects: Sequence[Suspect], *, decode: bool, parallelism: int) -> Iterator[Unit[AuditTask]]:
    """Whole segments, in tasks of about equal size: enough of them to keep every executor busy."""
    cost_max = max(1, min(TASK_SIZE, sum(map(_cost, suspects)) // (2 * parallelism)))
    run: list[Suspect] = []
    cost = 0
    for each in suspects:
        if run and cost + _cost(each) > cost_max:
            yield _unit(store, run, decode=decode)
            run, cost = [], 0
        run.append(each)
        cost += _cost(each)
    if run:
        yield _unit(store, run, decode=decode)


def _cost(suspect: Suspect) -> int:
    return suspect.info.size + OPEN_SIZE


def _unit(store: Store, run: list[Suspect], *, decode: bool) -> Unit[AuditTask]:
    return Unit(AuditTask(store, tuple(run), decode), len(run), sum(each.info.size for each in run))


def _compared(reports: list[PartitionReport], acked: Acked, topics: set[str]) -> list[PartitionReport]:
    """Hold the producer's list against the reports; a partition that is only in the list is gone."""
    by_name = {TopicPartition(each.topic, each.partition): each for each in reports}
    for where, offsets in sorted(acked.items()):
        if topics and where.topic not in topics:
            continue
        if where not in by_name:
            gone = PartitionReport(
                *where, problems=["records were acknowledged, but the cluster has no such partition"]
            )
            by_name[where] = gone
            reports.append(gone)
        compare(by_name[where], offsets)
    return reports
