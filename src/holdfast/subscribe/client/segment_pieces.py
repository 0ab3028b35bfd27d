"""Reading referenced segments from the store, for the client: bytes to pieces, and what to do when one is gone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound, Objects
from holdfast.segment.index import Segment
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.missing import follow
from holdfast.segment.scan import IntervalRun, check_run, open_segment, open_whole, read_run, runs
from holdfast.subscribe.merge.piece import Piece, Range, decode_piece
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

FIRST_SIZE = 1 << 20
JOB_SIZE_MIN, JOB_SIZE = 64 << 10, 8 << 20  # Bytes read and decoded at a time; a smaller segment is one read.


class LoadedSegment(NamedTuple):
    """Bytes of the lane that were read and held against their crcs, to be decoded."""

    buffers: list[memoryview]
    wanted: Range
    alone: bool = False  # It holds more than what is wanted of it, which may be in another one, too.


@dataclass(frozen=True, slots=True)
class SegmentSource:
    """The segments of one lane. All calls block; threads make them."""

    objects: Objects
    home: PartitionId
    wanted: Range  # What of the lane is wanted at all.
    on_skipped: Callable[[int, int, int], None]  # Lane, start, end: retention took them, or nobody can read them.
    job_size: int = JOB_SIZE

    def read(self, info: SegmentInfo) -> list[LoadedSegment]:
        """A small segment, with one read; or what stands in its place."""
        try:
            segment, data = open_whole(self.objects, info)
        except NotFound:
            return list(self._instead_of(info))
        run = IntervalRun(min(segment.interval_of_offset(self.wanted.start), len(segment.index)), len(segment.index))
        if run.first == run.stop:
            return [self._loaded(segment, None, run)]
        part = data[slice(*run.bytes_in(segment))]
        check_run(segment, run, part)
        return [self._loaded(segment, part, run)]

    def decode(self, parts: Sequence[LoadedSegment]) -> Piece:
        """Parts that follow one another as one piece: there may be very many small segments."""
        first, last = parts[0].wanted, parts[-1].wanted
        aborted = tuple(dict.fromkeys(each for part in parts for each in part.wanted.aborted))
        buffers = [buffer for part in parts for buffer in part.buffers]
        try:
            piece = decode_piece(buffers, replace(first, end=last.end, aborted=aborted))
        except Corrupt:
            for part in parts:
                decode_piece(part.buffers, part.wanted)  # So that the error names the one that is damaged.
            raise
        for each in piece.unreadable:
            log.warning("%s: %s", self.wanted.place, each)
            self.on_skipped(self.wanted.lane, each.start, each.end)
        return piece

    def open(self, info: SegmentInfo) -> list[Callable[[], list[Piece]]]:
        """Reads of the parts of a large segment, to be made one by one or side by side."""
        try:
            segment = open_segment(self.objects, info)
        except NotFound:
            return [partial(self._read_instead, info)]
        return [partial(self._read_part, segment, info, run) for run in self._runs(segment)]

    def _read_instead(self, info: SegmentInfo, start: int | None = None, end: int | None = None) -> list[Piece]:
        return [self.decode([part]) for part in self._instead_of(info, start, end)]

    def _runs(self, segment: Segment) -> Iterator[IntervalRun]:
        """Intervals of about `job_size` bytes, from the one with the first wanted offset on.

        Where the lane begins they are smaller, and grow: its first events need not wait for many.
        """
        begins_here = segment.footer.base <= self.wanted.start
        first = segment.interval_of_offset(self.wanted.start)
        return runs(segment, self.job_size, first, first_size=FIRST_SIZE if begins_here else None)

    def _read_part(self, segment: Segment, info: SegmentInfo, run: IntervalRun) -> list[Piece]:
        try:
            data = read_run(self.objects, segment, run)
        except NotFound:  # It went away between two reads: the rest is in what replaced it, or is gone.
            return self._read_instead(info, segment.offset_of(run.first), segment.offset_of(run.stop))
        return [self.decode([self._loaded(segment, data, run)])]

    def _loaded(self, segment: Segment, data: memoryview | None, run: IntervalRun) -> LoadedSegment:
        """The batches of a run; None if it is empty."""
        part = self._range(segment.footer.base, segment.offset_of(run.stop), segment.name)
        return LoadedSegment([] if data is None else [data], part)

    def _range(self, start: int, end: int, place: str) -> Range:
        return replace(
            self.wanted,
            start=max(start, self.wanted.start),
            end=min(end, self.wanted.end),
            place=place,
            aborted=[each for each in self.wanted.aborted if each.first_offset < end and each.last_offset >= start],
        )

    def _instead_of(
        self, missing: SegmentInfo, start: int | None = None, end: int | None = None
    ) -> Iterator[LoadedSegment]:
        """What the newest manifest says of a segment that is not in the store: the same rule as everywhere."""
        start = max(missing.base if start is None else start, self.wanted.start)
        end = missing.end if end is None else end
        found = follow(self.objects, self.home, missing)
        if not found.segments:
            log.warning("%s: offsets %d to %d are deleted and skipped", self.wanted.place, start, end)
            self.on_skipped(self.wanted.lane, start, end)
            yield LoadedSegment([], self._range(start, end, self.wanted.place), alone=True)
            return
        part = replace(self, wanted=self._range(start, end, self.wanted.place))
        for info in found.segments:
            if info.end > start and info.base < end:
                yield from (each._replace(alone=True) for each in part.read(info))
