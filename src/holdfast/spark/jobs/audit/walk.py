"""From batch to batch: which offset comes next, and what became of those that are not there."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.record.batch import BatchHeader
from holdfast.record.layout import NO_PRODUCER, SEQUENCE_MASK
from holdfast.segment.aborted import AbortedIndex
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.segment.manifest.manifest import OpenTransaction
from holdfast.spark.jobs.audit.report import ProducerRun, SegmentReport
from holdfast.types import OffsetRange


class Walk:
    """Counts the offsets of one segment, or of a tail, into its report."""

    def __init__(
        self,
        report: SegmentReport,
        info: SegmentInfo | None,
        log_start: int,
        aborted: Sequence[Aborted] = (),
        open_transactions: Sequence[OpenTransaction] = (),
        *,
        part: OffsetRange | None = None,
    ) -> None:
        """With a `part`, batches outside are nobody's business: another report counts them.

        Of a segment (`info`) somebody else has said what is out of order; of a tail it is said here.
        """
        self._report = report
        self._compacted = info is not None and info.compacted
        self._is_tail = info is None
        self._log_start = log_start
        self._part = part
        self._next: int = report.span.start if info is None or part else info.base
        self._aborted = AbortedIndex(aborted)
        self._open = {each.producer_id: each.first_offset for each in open_transactions}
        self._runs: dict[tuple[int, int], ProducerRun] = {}
        self._batches = 0

    def batch(self, header: BatchHeader) -> None:
        """A batch whose bytes are right."""
        if self._is_outside(header):
            return
        self._batches += 1
        start = self._place(header)
        self._sequence(header)
        count = max(0, header.end_offset - max(start, self._log_start))
        if not count:
            return
        counts = self._report.counts
        if header.is_control:
            counts.control += count
        elif self._aborted.holds(header):
            counts.aborted += count
        else:
            self._records_of(header, count)

    def _is_outside(self, header: BatchHeader) -> bool:
        """A segment ends where a batch does, also one that was merged with others since: no batch lies across."""
        part = self._part
        return part is not None and (header.end_offset <= part.start or header.base_offset >= part.end)

    def _records_of(self, header: BatchHeader, count: int) -> None:
        counts = self._report.counts
        lacking = header.last_offset_delta + 1 - header.record_count
        if lacking and not self._compacted:
            self._report.problem(
                f"the batch at offset {header.base_offset} has {header.record_count} records for "
                f"{header.last_offset_delta + 1} offsets, and nothing was compacted here"
            )
            lacking = 0
        lacking = min(lacking, count)
        counts.compacted += lacking
        if header.is_transactional and self._open.get(header.producer_id, header.end_offset) <= header.base_offset:
            counts.open += count - lacking
        else:
            counts.records += count - lacking

    def _place(self, header: BatchHeader) -> int:
        """Where what is new in this batch begins: behind what was there already, at or behind the last batch's end."""
        report, expected = self._report, self._next
        if header.base_offset < expected:
            again = OffsetRange(max(header.base_offset, self._log_start), min(header.end_offset, expected))
            report.counts.duplicates += again.width
            if self._is_tail:
                report.problem(f"offset {header.base_offset} comes again where {expected} is expected")
        elif header.base_offset > expected:
            self._hole(OffsetRange(max(expected, self._log_start), header.base_offset))
        self._next = max(expected, header.end_offset)
        return max(header.base_offset, expected)

    def _hole(self, hole: OffsetRange) -> None:
        if not hole.width:
            return
        if self._compacted:
            self._report.counts.compacted += hole.width
        else:
            self._report.missing.append(hole)
            if self._is_tail:
                self._report.problem(f"offsets [{hole.start}, {hole.end}) are missing")

    def _sequence(self, header: BatchHeader) -> None:
        """A producer's sequences only grow: what comes again was stored twice."""
        if header.producer_id == NO_PRODUCER or header.base_sequence < 0 or header.is_control:
            return
        key = header.producer_id, header.producer_epoch
        run = self._runs.get(key)
        if run is None:
            self._runs[key] = ProducerRun(*key, header.base_sequence, header.last_sequence, header.base_offset)
            return
        if is_behind(header.base_sequence, run.last):
            self._report.problem(repeated(header.producer_id, header.base_sequence, header.base_offset))
            self._report.counts.duplicates += header.record_count
        self._runs[key] = run._replace(last=header.last_sequence)

    def unreadable(self, header: BatchHeader) -> None:
        """A batch whose bytes are wrong, though those of its interval are not."""
        if self._is_outside(header):
            return
        self._batches += 1
        start = self._place(header)
        self._report.missing.append(OffsetRange(max(start, self._log_start), header.end_offset))

    def skip(self, offset: int) -> None:
        """Nothing can be read up to here."""
        offset = min(offset, self._report.span.end)
        if offset > self._next:
            self._report.missing.append(OffsetRange(max(self._next, self._log_start), offset))
            self._next = offset

    def end(self) -> None:
        """All batches were seen."""
        report = self._report
        if self._next < report.span.end:
            self._hole(OffsetRange(max(self._next, self._log_start), report.span.end))
        report.batches += self._batches
        report.missing[:] = OffsetRange.joined(report.missing)
        report.producers += self._runs.values()


def is_behind(sequence: int, last: int) -> bool:
    """Whether a sequence is one that the producer has used before; it goes on at 0 after the highest."""
    behind = (last + 1 - sequence) & SEQUENCE_MASK
    return 0 < behind <= SEQUENCE_MASK // 2


def repeated(producer_id: int, sequence: int, offset: int) -> str:
    return f"producer {producer_id} has sequence {sequence} once more at offset {offset}: a batch was stored twice"
