"""Audit: every offset from log start to the end is accounted for exactly once, or the report says which is not.

    1. ask       the broker's marks, when there is a broker; then the tails in its write-ahead log, when they are here
    2. look      metadata, manifests, versions, stray segments: on the driver
    3. check     every segment, byte by byte and offset by offset: on executors
    4. sum up    segments, tail and marks of each partition; then a producer's own list, when there is one

Marks are asked for before and after the manifests are read, because everything moves: what was acknowledged before must
be there, and what is there must have been acknowledged after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.versions import Patience
from holdfast.record.batch import BatchHeader
from holdfast.segment.names import PartitionId
from holdfast.spark.catalog import TopicPartition, is_internal
from holdfast.spark.jobs.audit_expect import Acked, compare
from holdfast.spark.jobs.audit_look import Look, look_again, look_at, offsets_in
from holdfast.spark.jobs.audit_report import PartitionReport, SegmentReport, Span, joined
from holdfast.spark.jobs.audit_segment import AuditTask, Suspect, audit_task
from holdfast.spark.jobs.audit_walk import Walk, is_behind, repeated
from holdfast.spark.jobs.run import OnDone, Unit, run_units
from holdfast.spark.plan import OPEN_SIZE
from holdfast.spark.store import Store, cluster_of

TASK_SIZE = 64 * 1024 * 1024


class BrokerMarks(NamedTuple):
    """What a broker says of a partition."""

    log_start: int
    high_watermark: int


class TailBatch(NamedTuple):
    """A batch that is in no segment yet."""

    header: BatchHeader
    is_right: bool  # Its crc.


Tails = Mapping[PartitionId, Sequence[TailBatch]]
AskBroker = Callable[[], Mapping[TopicPartition, BrokerMarks]]
FetchTail = Callable[[TopicPartition, int, int], Sequence[TailBatch]]  # The batches of the offsets `[start, end)`.


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
    before = known.ask_broker() if known.ask_broker else {}
    tails = known.read_tails() if known.read_tails else None
    looks = look_at(store.open(), _partitions(store, topics), cluster_of(store))
    units = list(_units(store, looks, decode=decode, parallelism=session.sparkContext.defaultParallelism))
    found: dict[PartitionId, list[SegmentReport]] = {look.home: [] for look in looks}
    for result in run_units(session, units, audit_task, on_done):
        for home, report in result:
            found[home].append(report)
    for look in looks:
        look_again(store.open(), look)
    if tails is None and known.fetch_tail is not None:
        tails = _fetched(looks, before, known.fetch_tail)
    after = known.ask_broker() if known.ask_broker else {}
    reports = [_sum_up(look, found[look.home], tails, before.get(look.where), after.get(look.where)) for look in looks]
    return _compared(reports, known.acked, set(topics))


def _fetched(looks: Sequence[Look], marks: Mapping[TopicPartition, BrokerMarks], fetch: FetchTail) -> Tails:
    """What brokers have above the manifests; not where segments are unlisted: they may know a manifest that is gone."""
    return {
        look.home: fetch(look.where, look.manifest.flushed, marks[look.where].high_watermark)
        for look in looks
        if look.manifest is not None and not look.beyond and look.where in marks
        if look.manifest.flushed < marks[look.where].high_watermark
    }


def _partitions(store: Store, topics: Iterable[str]) -> list[tuple[TopicPartition, PartitionId]]:
    patience = Patience(SystemClock(), SystemChance(), lambda _: None)  # For writers; here is none.
    metadata = MetadataLog(store.open(), cluster_of(store), "", patience).metadata
    wanted = [metadata.topic(name) for name in sorted(set(topics))] or [
        each for _, each in sorted(metadata.topics.items()) if not is_internal(each)
    ]
    return [
        (TopicPartition(each.name, number), PartitionId(each.topic_id, number))
        for each in wanted
        for number in range(each.partitions)
    ]


def _units(store: Store, looks: Sequence[Look], *, decode: bool, parallelism: int) -> Iterator[Unit[AuditTask]]:
    """Whole segments, in tasks of about equal size: enough of them to keep every executor busy."""
    suspects = [Suspect.of(look.manifest, info) for look in looks if look.manifest for info in look.manifest.segments]
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


def _sum_up(
    look: Look,
    found: Sequence[SegmentReport],
    tails: Tails | None,
    before: BrokerMarks | None,
    after: BrokerMarks | None,
) -> PartitionReport:
    report = PartitionReport(*look.where, leftovers=look.leftovers, problems=list(look.problems))
    manifest = look.manifest
    if manifest is not None:
        report.log_start, report.flushed = manifest.log_start, manifest.flushed
        report.take(found)
        report.segments = len(found)
        _check_producers(report, found)
    accounted = report.flushed
    if tails is not None:
        accounted = _add_tail(report, look, tails.get(look.home, ()))
    _judge_stray(report, look, accounted)
    report.end = accounted
    if before is not None and after is not None:
        unseen = tails is None and manifest is not None and not look.beyond
        _check_marks(report, before, after, tail_unseen=unseen)
    report.missing = joined(report.missing)
    return report


def _check_producers(report: PartitionReport, found: Sequence[SegmentReport]) -> None:
    """Across the borders of segments; inside them the tasks have done it."""
    last: dict[tuple[int, int], int] = {}
    for segment in sorted(found, key=lambda each: each.span):
        for run in segment.producers:
            key = run.producer_id, run.epoch
            if key in last and is_behind(run.first, last[key]):
                report.problems.append(repeated(run.producer_id, run.first, run.offset))
                report.counts.duplicates += 1
            last[key] = run.last


def _add_tail(report: PartitionReport, look: Look, batches: Sequence[TailBatch]) -> int:
    """Count the write-ahead log's batches at and above `flushed`; where they end."""
    above = [each for each in batches if each.header.end_offset > report.flushed]
    if not above:
        return report.flushed
    end = max(each.header.end_offset for each in above)
    tail = SegmentReport(Span(report.flushed, end), f"the tail of {look.where}")
    walk = Walk(tail, None, report.flushed, (), look.manifest.open_transactions if look.manifest else ())
    for each in above:
        if each.is_right:
            walk.batch(each.header)
        else:
            tail.problem(f"the crc of the batch at offset {each.header.base_offset} is wrong")
            walk.unreadable(each.header)
    walk.end(None)
    report.tail = tail.counts.accounted
    report.counts.add(tail.counts)
    report.missing += tail.missing
    report.problems += tail.problems
    return end


def _judge_stray(report: PartitionReport, look: Look, accounted: int) -> None:
    """Segments with offsets that no manifest lists: fine if the tail has the same offsets, a fault otherwise."""
    for name in look.beyond:
        span = offsets_in(name)
        if span.end <= accounted and not any(gap.start < span.end and span.start < gap.end for gap in report.missing):
            report.leftovers += 1
            continue
        report.problems.append(
            f"{name} holds offsets from {span.start} to {span.end}, and no manifest lists it: the newest manifest is "
            "gone, or its writer stopped between the two and has not come back"
        )
        if look.manifest is not None:
            report.missing.append(Span(max(span.start, accounted), span.end))


def _check_marks(report: PartitionReport, before: BrokerMarks, after: BrokerMarks, *, tail_unseen: bool) -> None:
    if report.log_start < before.log_start or report.log_start > after.log_start:
        report.problems.append(
            f"log start is {report.log_start} in the manifest, and was {before.log_start} to {after.log_start} at the "
            "broker"
        )
    if report.flushed > after.high_watermark:
        report.problems.append(f"segments reach to {report.flushed}, the broker's high watermark is {after}")
    if before.high_watermark <= report.end:
        return
    unseen = Span(report.end, before.high_watermark)
    if tail_unseen:
        report.notes.append(
            f"offsets [{unseen.start}, {unseen.end}) are not flushed yet, and only the broker has them: not checked"
        )
        report.tail += unseen.width
        report.counts.records += unseen.width
    else:
        report.missing.append(unseen)
        report.problems.append(
            f"the broker acknowledged up to {unseen.end}, but offsets from {unseen.start} are nowhere"
        )
    report.end = before.high_watermark


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
