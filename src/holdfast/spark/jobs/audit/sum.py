"""What is known of one partition, put together: its segments, its tail, stray segments, and the broker's marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.record.batch import BatchHeader
from holdfast.spark.jobs.audit.look import NO_MANIFEST, PartitionLook, offsets_in
from holdfast.spark.jobs.audit.report import PartitionReport, SegmentReport
from holdfast.spark.jobs.audit.walk import Walk, is_behind, repeated
from holdfast.types import OffsetRange, PartitionId


class BrokerMarks(NamedTuple):
    """What a broker says of a partition."""

    log_start: int
    high_watermark: int


class AuditedBatch(NamedTuple):
    """A batch that is in no segment yet."""

    header: BatchHeader
    is_right: bool  # Its crc.


Tails = Mapping[PartitionId, Sequence[AuditedBatch]]


def sum_up(
    look: PartitionLook,
    found: Sequence[SegmentReport],
    tails: Tails | None,
    before: BrokerMarks | None,
    after: BrokerMarks | None,
) -> PartitionReport:
    """The report of one partition, from all that is known of it."""
    report = PartitionReport(*look.where, leftovers=look.leftovers, problems=list(look.problems))
    manifest = look.manifest
    if look.is_new:
        # What was acknowledged before we looked had a manifest by then, and that one is gone.
        if (tails is not None and tails.get(look.home)) or (before is not None and before.high_watermark):
            report.problems.append(NO_MANIFEST)
        else:
            report.notes.append("it was made while the audit ran: what is in it by now was not looked at")
        return report
    if manifest is not None:
        later = look.later or manifest
        report.log_start, report.flushed = manifest.log_start, later.flushed
        report.take(found)
        report.counts.expired += OffsetRange(manifest.flushed, later.log_start).width
        report.segments = len({each.name for each in found})
        _check_producers(report, found)
    accounted = report.flushed
    if tails is not None:
        accounted = _add_tail(report, look, tails.get(look.home, ()))
    _judge_stray(report, look, accounted)
    report.end = accounted
    if before is not None and after is not None:
        unseen = tails is None and manifest is not None and not look.beyond
        _check_marks(report, before, after, tail_unseen=unseen)
    report.missing = OffsetRange.joined(report.missing)
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


def _add_tail(report: PartitionReport, look: PartitionLook, batches: Sequence[AuditedBatch]) -> int:
    """Count the write-ahead log's batches at and above `flushed`; where they end."""
    above = [each for each in batches if each.header.end_offset > report.flushed]
    if not above:
        return report.flushed
    end = max(each.header.end_offset for each in above)
    tail = SegmentReport(OffsetRange(report.flushed, end), f"the tail of {look.where}")
    manifest = look.later or look.manifest
    walk = Walk(tail, None, report.flushed, (), manifest.open_transactions if manifest else ())
    for each in above:
        if each.is_right:
            walk.batch(each.header)
        else:
            tail.problem(f"the crc of the batch at offset {each.header.base_offset} is wrong")
            walk.unreadable(each.header)
    walk.end()
    report.tail = tail.counts.accounted
    report.counts.add(tail.counts)
    report.missing += tail.missing
    report.problems += tail.problems
    return end


def _judge_stray(report: PartitionReport, look: PartitionLook, accounted: int) -> None:
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
            report.missing.append(OffsetRange(max(span.start, accounted), span.end))


def _check_marks(report: PartitionReport, before: BrokerMarks, after: BrokerMarks, *, tail_unseen: bool) -> None:
    if report.log_start < before.log_start or report.log_start > after.log_start:
        report.problems.append(
            f"log start is {report.log_start} in the manifest, and was {before.log_start} to {after.log_start} at the "
            "broker"
        )
    if report.flushed > after.high_watermark:
        report.problems.append(
            f"segments reach to {report.flushed}, the broker's high watermark is {after.high_watermark}"
        )
    if before.high_watermark <= report.end:
        return
    unseen = OffsetRange(report.end, before.high_watermark)
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
