"""One segment on an executor: every byte against its crc, every offset counted once, every record decoded.

It goes on behind what is damaged: the index has a crc of its own and says where the next interval begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crc32c import crc32c

from holdfast.catalog.store import Store
from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound, Objects
from holdfast.record.batch import BatchHeader, check_crc, check_fields, split
from holdfast.record.columns import Column
from holdfast.record.decode import Decoder
from holdfast.record.errors import InvalidBatch, WrongCrc
from holdfast.segment.cached.blocks import read_whole
from holdfast.segment.errors import NewerFormat, NoManifest, SegmentLost
from holdfast.segment.format import HEADER_SIZE, check_header
from holdfast.segment.index import Segment
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.segment.manifest.manifest import Manifest, OpenTransaction
from holdfast.segment.missing import follow
from holdfast.segment.names import PartitionId
from holdfast.segment.scan import PIECE_SIZE, open_segment
from holdfast.spark.jobs.audit.report import SegmentReport, Span
from holdfast.spark.jobs.audit.walk import Walk


@dataclass(frozen=True)
class Suspect:
    """One segment to be checked, and what its manifest says of the transactions in it."""

    home: PartitionId
    info: SegmentInfo
    log_start: int
    aborted: tuple[Aborted, ...]
    open: tuple[OpenTransaction, ...]
    part: Span | None = None  # Only these of its offsets, where it stands in for a smaller segment.

    @classmethod
    def of(cls, manifest: Manifest, info: SegmentInfo, part: Span | None = None) -> Suspect:
        aborted = tuple(manifest.segments.aborted(info.base, info.end))
        return cls(manifest.home, info, manifest.log_start, aborted, manifest.open_transactions, part)

    @property
    def span(self) -> Span:
        """The offsets to account for."""
        return self.part or Span(max(self.info.base, self.log_start), self.info.end)


@dataclass(frozen=True)
class AuditTask:
    """Some segments for one executor."""

    store: Store
    suspects: tuple[Suspect, ...]
    decode: bool  # Look into the records, not only at the headers of batches.


def audit_task(task: AuditTask) -> list[tuple[PartitionId, SegmentReport]]:
    """Check all segments of a task."""
    objects = task.store.open()
    return [
        (suspect.home, report)
        for suspect in task.suspects
        for report in check_segment(objects, suspect, decode=task.decode)
    ]


def check_segment(objects: Objects, suspect: Suspect, *, decode: bool = True) -> Iterator[SegmentReport]:
    """What became of the segment's offsets. One that compaction has replaced meanwhile is checked in its new form."""
    report = SegmentReport(suspect.span, suspect.info.name)
    try:
        _Check(objects, suspect, report, decode=decode).run()
    except NotFound:
        yield from _after_not_found(objects, suspect, decode=decode)
        return
    except (Corrupt, NewerFormat) as damage:
        report.problem(getattr(damage, "what", None) or str(damage))
        report.missing.append(report.span)
    yield report


def _after_not_found(objects: Objects, suspect: Suspect, *, decode: bool) -> Iterator[SegmentReport]:
    info, span = suspect.info, suspect.span
    report = SegmentReport(span, info.name)
    try:
        instead = follow(objects, suspect.home, info)
    except (NoManifest, SegmentLost) as lost:  # The driver lets go of all reports of a topic that was deleted.
        report.missing.append(span)
        gone = "it is not in the store, and there is no manifest any more"
        report.problem(lost.what if isinstance(lost, SegmentLost) else gone)
        yield report
        return
    report.counts.expired = Span(*instead.expired(*span)).width
    if report.counts.expired:
        yield report
    whole = suspect.part or Span(info.base, info.end)
    for other in instead.segments:
        part = Span(max(whole.start, other.base), min(whole.end, other.end))
        yield from check_segment(objects, Suspect.of(instead.manifest, other, part), decode=decode)


class _Check:
    """One pass over a segment."""

    def __init__(self, objects: Objects, suspect: Suspect, report: SegmentReport, *, decode: bool) -> None:
        self._objects = objects
        self._info = suspect.info
        self._home = suspect.home
        self._report = report
        self._decoder = Decoder(Column.NONE, suspect.info.name, verify_crc=False) if decode else None
        self._part = suspect.part
        self._walk = Walk(report, suspect.info, suspect.log_start, suspect.aborted, suspect.open, part=suspect.part)

    def run(self) -> None:
        info, report = self._info, self._report
        segment = open_segment(self._objects, info)
        try:
            check_header(info.name, read_whole(self._objects, info.name, 0, HEADER_SIZE), self._home, info.base)
        except (Corrupt, NewerFormat) as damage:
            report.problem(getattr(damage, "what", str(damage)))
        if len(segment.index) and segment.interval(0).start != HEADER_SIZE:
            report.problem(f"its batches start at byte {segment.interval(0).start}, not {HEADER_SIZE}")
        first, end = self._intervals(segment)
        report.size = info.size if self._part is None else sum(_size(segment, number) for number in range(first, end))
        for some in _groups(segment, first, end):
            self._piece(segment, *some)
        self._walk.end(segment.footer)

    def _intervals(self, segment: Segment) -> tuple[int, int]:
        """All of them, or those that can hold the part."""
        if self._part is None:
            return 0, len(segment.index)
        end = int(segment.index["base_offset"].searchsorted(self._part.end, side="left"))
        return segment.interval_of_offset(self._part.start), end

    def _piece(self, segment: Segment, first: int, end: int) -> None:
        start = segment.interval(first).start
        piece = memoryview(read_whole(self._objects, segment.name, start, segment.interval(end - 1).end))
        whole: list[memoryview] = []
        for number in range(first, end):
            interval = segment.interval(number)
            part = piece[interval.start - start : interval.end - start]
            if crc32c(part) != interval.crc:
                self._damaged(segment, number, f"the crc of bytes {interval.start} to {interval.end} is wrong")
                continue
            try:
                whole += [batch for header, batch in split(part) if self._batch(header, batch)]
            except (Corrupt, InvalidBatch) as damage:
                self._damaged(segment, number, f"bytes {interval.start} to {interval.end}: {damage}")
        self._decode(whole)

    def _damaged(self, segment: Segment, number: int, what: str) -> None:
        last = number + 1 == len(segment.index)
        self._report.problem(what)
        self._walk.skip(self._info.end if last else int(segment.index[number + 1]["base_offset"]))

    def _batch(self, header: BatchHeader, batch: memoryview) -> bool:
        """Count a batch; whether its records are to be looked at."""
        try:
            check_crc(header, batch)
            check_fields(header)
        except (Corrupt, InvalidBatch) as damage:
            at = "" if isinstance(damage, WrongCrc) else f"the batch at offset {header.base_offset}: "
            self._report.problem(f"{at}{damage}")
            self._walk.unreadable(header)
            return False
        self._walk.batch(header)
        return not header.is_control and header.record_count > 0

    def _decode(self, batches: Sequence[memoryview]) -> None:
        """A batch with a right crc that cannot be decoded is what a client sent: odd, but neither lost nor damaged."""
        if self._decoder is None or not batches:
            return
        try:
            for _ in self._decoder.groups(batches):
                pass
        except Corrupt as damage:
            if len(batches) == 1:
                self._report.notes.append(f"{self._info.name}: sent like this by a client: {damage}")
                return
            middle = len(batches) // 2
            self._decode(batches[:middle])
            self._decode(batches[middle:])


def _size(segment: Segment, number: int) -> int:
    interval = segment.interval(number)
    return interval.end - interval.start


def _groups(segment: Segment, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of these intervals of about one piece; at least one interval each."""
    while first < end:
        start = segment.interval(first).start
        number = first + 1
        while number < end and segment.interval(number).end - start <= PIECE_SIZE:
            number += 1
        yield first, number
        first = number
