"""One segment on an executor: every byte against its crc, every offset counted once, every record decoded.

It goes on behind what is damaged: the index has a crc of its own and says where the next interval begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.catalog.store import Store
from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound, Objects
from holdfast.record.columnar.columns import Column
from holdfast.record.columnar.decode import Decoder
from holdfast.segment.errors import NoManifest, SegmentLost
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.segment.manifest.manifest import Manifest, OpenTransaction
from holdfast.segment.missing import follow
from holdfast.segment.scan import PIECE_SIZE
from holdfast.segment.verify import Finding, FoundBatches, SegmentRule, inspect
from holdfast.spark.jobs.audit.report import SegmentReport
from holdfast.spark.jobs.audit.walk import Walk
from holdfast.types import OffsetRange, PartitionId


@dataclass(frozen=True)
class Suspect:
    """One segment to be checked, and what its manifest says of the transactions in it."""

    home: PartitionId
    info: SegmentInfo
    log_start: int
    aborted: tuple[Aborted, ...]
    open: tuple[OpenTransaction, ...]
    part: OffsetRange | None = None  # Only these of its offsets, where it stands in for a smaller segment.

    @classmethod
    def of(cls, manifest: Manifest, info: SegmentInfo, part: OffsetRange | None = None) -> Suspect:
        aborted = tuple(manifest.segments.aborted(info.base, info.end))
        return cls(manifest.home, info, manifest.log_start, aborted, manifest.open_transactions, part)

    @property
    def span(self) -> OffsetRange:
        """The offsets to account for."""
        return self.part or OffsetRange(max(self.info.base, self.log_start), self.info.end)


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
        _Check(suspect, report, decode=decode).run(objects)
    except NotFound:
        yield from _after_not_found(objects, suspect, decode=decode)
        return
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
    report.counts.expired = OffsetRange(*instead.expired(*span)).width
    if report.counts.expired:
        yield report
    whole = suspect.part or OffsetRange(info.base, info.end)
    for other in instead.segments:
        part = OffsetRange(max(whole.start, other.base), min(whole.end, other.end))
        yield from check_segment(objects, Suspect.of(instead.manifest, other, part), decode=decode)


class _Check:
    """One pass over a segment: `segment.verify` judges it, here its offsets are counted."""

    def __init__(self, suspect: Suspect, report: SegmentReport, *, decode: bool) -> None:
        self._suspect = suspect
        self._report = report
        self._decoder = Decoder(Column.NONE, suspect.info.name, verify_crc=False) if decode else None
        self._walk = Walk(report, suspect.info, suspect.log_start, suspect.aborted, suspect.open, part=suspect.part)

    def run(self, objects: Objects) -> None:
        suspect, report = self._suspect, self._report
        batches: list[memoryview] = []
        size = 0
        for found in inspect(objects, suspect.home, suspect.info, suspect.part):
            if isinstance(found, Finding):
                self._note(found)
                continue
            some = self._count(found)
            batches += some
            size += sum(map(len, some))
            if size >= PIECE_SIZE:
                self._decode(batches)
                batches, size = [], 0
        self._decode(batches)
        if suspect.part is None:
            report.size = suspect.info.size
        self._walk.end()

    def _note(self, finding: Finding) -> None:
        self._report.problem(finding.what)
        if finding.rule in (SegmentRule.SEGMENT, SegmentRule.INTERVAL):
            assert finding.end is not None
            self._walk.skip(finding.end)

    def _count(self, found: FoundBatches) -> list[memoryview]:
        """Count batches; those whose records are to be looked at."""
        if not found.in_place:
            return []  # All that their interval holds is counted as missing.
        if self._suspect.part is not None:
            self._report.size += sum(header.size for header, _ in found.batches)
        count = self._walk.batch if found.is_right else self._walk.unreadable
        for header, _ in found.batches:
            count(header)
        if not found.is_right or self._decoder is None:
            return []
        return [batch for header, batch in found.batches if header.record_count and not header.is_control]

    def _decode(self, batches: Sequence[memoryview]) -> None:
        """A batch with a right crc that cannot be decoded is what a client sent: odd, but neither lost nor damaged."""
        if self._decoder is None or not batches:
            return
        try:
            for _ in self._decoder.groups(batches):
                pass
        except Corrupt as damage:
            if len(batches) == 1:
                self._report.notes.append(f"{self._suspect.info.name}: sent like this by a client: {damage}")
                return
            middle = len(batches) // 2
            self._decode(batches[:middle])
            self._decode(batches[middle:])
