"""Reading referenced segments from the store, for the client: bytes to pieces, and what to do when one is gone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from crc32c import crc32c

from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound, Objects
from holdfast.segment.cached.blocks import read_whole
from holdfast.segment.cached.read import Expired, after_not_found
from holdfast.segment.errors import Damaged
from holdfast.segment.index import Segment, check_is, decode_tail
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.names import PartitionId
from holdfast.segment.scan import open_segment
from holdfast.subscribe.merge.piece import Piece, Range, decode_piece

log = logging.getLogger(__name__)

FIRST_SIZE = 1 << 20
JOB_SIZE_MIN, JOB_SIZE = 64 << 10, 8 << 20  # Bytes read and decoded at a time; a smaller segment is one read.


class Loaded(NamedTuple):
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

    def read(self, info: SegmentInfo) -> list[Loaded]:
        """A small segment, with one read; or what stands in its place."""
        try:
            data = memoryview(read_whole(self.objects, info.name, 0, info.size))
        except NotFound:
            return list(self._instead_of(info))
        segment = decode_tail(info.name, data[info.size - info.tail_size :], info.size)
        check_is(segment, info)
        return [self._loaded(segment, data, 0, 0, len(segment.index), info)]

    def decode(self, parts: Sequence[Loaded]) -> Piece:
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
        return [partial(self._read_part, segment, info, first, end) for first, end in self._parts(segment)]

    def _read_instead(self, info: SegmentInfo, start: int | None = None, end: int | None = None) -> list[Piece]:
        return [self.decode([part]) for part in self._instead_of(info, start, end)]

    def _parts(self, segment: Segment) -> Iterator[tuple[int, int]]:
        """Intervals `[first, end)` of about `job_size` bytes, from the one with the first wanted offset on.

        Where the lane begins they are smaller, and grow: its first events need not wait for many.
        """
        first = segment.interval_of_offset(self.wanted.start)
        size = min(FIRST_SIZE, self.job_size) if segment.footer.base <= self.wanted.start else self.job_size
        while first < len(segment.index):
            start, end = segment.interval(first).start, first + 1
            while end < len(segment.index) and segment.interval(end).end - start <= size:
                end += 1
            yield first, end
            first, size = end, min(2 * size, self.job_size)

    def _read_part(self, segment: Segment, info: SegmentInfo, first: int, end: int) -> list[Piece]:
        start, stop = segment.interval(first).start, segment.interval(end - 1).end
        try:
            data = memoryview(read_whole(self.objects, info.name, start, stop))
        except NotFound:  # It went away between two reads: the rest is in what replaced it, or is gone.
            missing = int(segment.index[first]["base_offset"])
            last = info.end if end == len(segment.index) else int(segment.index[end]["base_offset"])
            return self._read_instead(info, missing, last)
        return [self.decode([self._loaded(segment, data, start, first, end, info)])]

    def _loaded(self, segment: Segment, data: memoryview, at: int, first: int, end: int, info: SegmentInfo) -> Loaded:
        """The batches of intervals `[first, end)`; `data` starts at byte `at` of the segment."""
        first = max(first, segment.interval_of_offset(self.wanted.start))
        buffers = []
        for number in range(first, end):
            interval = segment.interval(number)
            piece = data[interval.start - at : interval.end - at]
            if crc32c(piece) != interval.crc:
                raise Damaged(info.name, f"the crc of bytes {interval.start} to {interval.end} is wrong")
            buffers.append(piece)
        last = info.end if end == len(segment.index) else int(segment.index[end]["base_offset"])
        return Loaded(buffers, self._range(info.base, last, info.name))

    def _range(self, start: int, end: int, place: str) -> Range:
        return replace(
            self.wanted,
            start=max(start, self.wanted.start),
            end=min(end, self.wanted.end),
            place=place,
            aborted=[each for each in self.wanted.aborted if each.first_offset < end and each.last_offset >= start],
        )

    def _instead_of(self, missing: SegmentInfo, start: int | None = None, end: int | None = None) -> Iterator[Loaded]:
        """What the newest manifest says of a segment that is not in the store: the same rule as everywhere."""
        start = max(missing.base if start is None else start, self.wanted.start)
        end = missing.end if end is None else end
        found = after_not_found(missing, load_manifest(self.objects, self.home))
        if isinstance(found, Expired):
            log.warning("%s: offsets %d to %d are deleted and skipped", self.wanted.place, start, end)
            self.on_skipped(self.wanted.lane, start, end)
            yield Loaded([], self._range(start, end, self.wanted.place), alone=True)
            return
        part = replace(self, wanted=self._range(start, end, self.wanted.place))
        for info in found.segments:
            if info.end > start and info.base < end:
                yield from (each._replace(alone=True) for each in part.read(info))
