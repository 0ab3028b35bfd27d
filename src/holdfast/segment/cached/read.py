"""Reading a segment: batches from an offset on, or the first batch of a time, through the block cache.

Every interval is held against its crc before a batch of it is handed out. One that is wrong is read once more; then it
is damage, and what is sound in front of it is handed out. Batches are views of the cached blocks; only one that lies
across the border of two blocks is copied.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.record.batch import BatchHeader, read_header, split
from holdfast.record.errors import InvalidBatch
from holdfast.record.layout import HEADER_SIZE as BATCH_HEADER_SIZE
from holdfast.record.layout import LENGTH_END
from holdfast.segment.cached.ahead import ReadAhead
from holdfast.segment.cached.blocks import BlockCache, KeptBlocks, NotKept, Window
from holdfast.segment.errors import Damaged
from holdfast.segment.format import HEADER_SIZE
from holdfast.segment.index import Interval, Segment, check_interval, open_tail
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.types import Offset

# Base offset, length, last offset delta and record count of a batch: a scan needs no more, and needs it fast.
_PLACE = struct.Struct(">qi11xi30xi")
assert _PLACE.size == BATCH_HEADER_SIZE


class SegmentRead(NamedTuple):
    """What a read found."""

    buffers: list[memoryview]  # Each one or more whole batches, unless it was read in pieces; all of them in order.
    next_offset: Offset  # Where to go on; the segment's end if nothing is left in it.
    size: int
    batch_count: int
    record_count: int
    cached: bool  # Whether no download was waited for.
    damage: Damaged | None = None  # What is at `next_offset`, and ended the read there.

    def batches(self) -> Iterator[tuple[BatchHeader, memoryview]]:
        """The batches one by one."""
        for buffer in self.buffers:
            yield from split(buffer)

    def whole(self) -> SegmentRead:
        """The same, for who can do nothing with what lies in front of damage."""
        if self.damage is not None:
            raise self.damage
        return self


class _Limits(NamedTuple):
    """What a read asks for."""

    offset: int
    max_bytes: int
    max_records: int | None
    end: int
    in_pieces: bool  # Batches may be cut where a block ends: no byte is copied.


@dataclass(frozen=True)
class KeptReader:
    """Reads what is in memory, and has no way to the store: for event loops."""

    kept: KeptBlocks
    ahead: ReadAhead

    def read(
        self,
        info: SegmentInfo,
        offset: int,
        max_bytes: int,
        *,
        max_records: int | None = None,
        end: int | None = None,
        in_pieces: bool = False,
    ) -> SegmentRead | None:
        """The same as `SegmentReader.read` gives; None if a block is missing, or wrong, and the store must be asked."""
        limits = _Limits(offset, max_bytes, max_records, info.end if end is None else end, in_pieces)
        segment = self.kept.tail(info.name)
        if segment is None:
            return None
        try:
            found = _read(segment, info, limits, Window(self.kept, info.name, info.size), self.ahead)
        except NotKept:
            return None
        return found if found.damage is None else None

    def first_header(self, info: SegmentInfo) -> BatchHeader | None:
        """That of the first batch, not held against any crc; None if it is not in memory, or there is none."""
        start = self.kept.start_of(info.name, HEADER_SIZE + BATCH_HEADER_SIZE)
        if start is None or not info.record_count:
            return None
        try:
            return read_header(start, HEADER_SIZE)
        except InvalidBatch:
            return None


@dataclass(frozen=True)
class SegmentReader:
    """Reads segments through one block cache. Calls block; any thread may make them but an event loop's."""

    blocks: BlockCache

    @property
    def kept(self) -> KeptReader:
        """The part of it that an event loop may use."""
        return KeptReader(self.blocks.kept, self.blocks.ahead)

    def open(self, info: SegmentInfo) -> Segment:
        """A segment's index and snapshots: one request, or none."""

        def decode(tail: bytes) -> Segment:
            return open_tail(info, tail)

        return self.blocks.tail(info.name, info.size, info.tail_size, decode)

    def read(
        self,
        info: SegmentInfo,
        offset: int,
        max_bytes: int,
        *,
        max_records: int | None = None,
        end: int | None = None,
        in_pieces: bool = False,
    ) -> SegmentRead:
        """Batches from the one that holds `offset` on, or from the next one at a hole.

        At least one batch if there is one, then as many as fit into both limits; none that starts at `end` or above.
        What is sound in front of damage is returned, and says so; the damage itself is raised where nothing lies in
        front. Bytes that are wrong are read once more before they are called damage. With `in_pieces` a batch may be
        cut where a block ends, and nothing is copied.
        Raises NotFound if the segment is gone: see `segment.missing`.
        """
        limits = _Limits(offset, max_bytes, max_records, info.end if end is None else end, in_pieces)
        segment = self.open(info)
        found = self._try(segment, info, limits)
        if found.damage is not None:
            found = self._try(segment, info, limits)
        return found if found.batch_count else found.whole()

    def _try(self, segment: Segment, info: SegmentInfo, limits: _Limits) -> SegmentRead:
        found = _read(segment, info, limits, Window(self.blocks, info.name, info.size), self.blocks.ahead)
        if found.damage is not None:
            self._drop(segment, segment.interval_of_offset(found.next_offset))
        return found

    def _drop(self, segment: Segment, number: int) -> None:
        interval = segment.interval(number)
        self.blocks.drop(segment.name, interval.start, interval.end)

    def find_timestamp(
        self, info: SegmentInfo, timestamp: int, offset: int = 0
    ) -> tuple[BatchHeader, memoryview] | None:
        """The first batch, from the one that holds `offset` on, with a record at or after a time."""
        segment = self.open(info)
        first = max(segment.interval_of_timestamp(timestamp), segment.interval_of_offset(offset))
        for number in range(first, len(segment.index)):
            interval = segment.interval(number)
            window = self._sound_window(segment, info, number)
            position = interval.start
            while position < interval.end:
                header = read_header(_join(window.pieces(position, position + BATCH_HEADER_SIZE)))
                if header.max_timestamp >= timestamp and header.end_offset > offset:
                    return header, _join(window.pieces(position, position + header.size))
                position += header.size
        return None

    def _sound_window(self, segment: Segment, info: SegmentInfo, number: int) -> Window:
        """A window on one interval, whose bytes are right."""
        for last in (False, True):
            window = Window(self.blocks, info.name, info.size)
            try:
                interval = segment.interval(number)
                check_interval(info.name, interval, window.pieces(interval.start, interval.end))
            except Damaged:
                self._drop(segment, number)
                if last:
                    raise
            else:
                break
        return window


def _read(segment: Segment, info: SegmentInfo, limits: _Limits, window: Window, ahead: ReadAhead) -> SegmentRead:
    """Batches up to the limits, or up to the first interval that is not what was written."""
    if not len(segment.index):
        return SegmentRead([], info.end, 0, 0, 0, cached=True)
    first = segment.interval_of_offset(limits.offset)
    walk = _Walk(limits)
    wanted = 0 if limits.max_records else limits.max_bytes
    ahead.ask(info.name, info.size, segment.interval(first).start, wanted, sequential=limits.offset == info.base)
    damage = None
    for number in range(first, len(segment.index)):
        interval = segment.interval(number)
        if walk.ends_before(window, interval):
            walk.next_offset = int(segment.index[number]["base_offset"])
            ahead.expect(info.name, interval.start)  # Where a read of the next offset starts.
            break
        try:
            check_interval(info.name, interval, window.pieces(interval.start, interval.end))
        except Damaged as found:
            damage = found
            walk.next_offset = max(limits.offset, int(segment.index[number]["base_offset"]))
            break
        if walk.is_over(window, interval):
            ahead.expect(info.name, interval.start)
            break
    after = info.end if walk.next_offset is None else Offset(walk.next_offset)
    size = walk.end - walk.start
    return SegmentRead(walk.buffers(window), after, size, walk.batch_count, walk.record_count, window.cached, damage)


class _Walk:
    """Goes from batch to batch and takes those that belong to a read, which lie side by side: `[start, end)`."""

    def __init__(self, limits: _Limits) -> None:
        self._offset, self._max_bytes, self._max_records, self._end_offset, self._in_pieces = limits
        self._across: list[tuple[int, int]] = []  # Batches that lie across the border of two blocks.
        self.start = 0
        self.end = 0
        self.batch_count = 0
        self.record_count = 0
        self.next_offset: int | None = None  # The first batch that is not taken, once there is one.

    def ends_before(self, window: Window, interval: Interval) -> bool:
        """Whether the first batch of an interval says that it does not fit any more: then nothing of the interval is
        needed, and it is not held against its crc. If that is a lie, the next read meets it."""
        if not self.batch_count:
            return False
        place = _join(window.pieces(interval.start, min(interval.start + _PLACE.size, interval.end)))
        if len(place) < _PLACE.size:
            return False
        _, length, _, count = _PLACE.unpack(place)
        return self._is_full(interval.start + length + LENGTH_END, count)

    def is_over(self, window: Window, interval: Interval) -> bool:
        """Walk through an interval; True if the read ends in it. There may be very many small batches."""
        pieces = window.pieces(interval.start, interval.end)
        whole = pieces[0] if len(pieces) == 1 else None
        position = interval.start
        while position < interval.end:
            if whole is not None:
                base, length, delta, count = _PLACE.unpack_from(whole, position - interval.start)
            else:
                base, length, delta, count = _PLACE.unpack(_join(window.pieces(position, position + _PLACE.size)))
            end = position + length + LENGTH_END
            if base + delta >= self._offset:
                if base >= self._end_offset or (self.batch_count and self._is_full(end, count)):
                    self.next_offset = base
                    return True
                if not self.batch_count:
                    self.start = position
                if whole is None and position // window.block_size != (end - 1) // window.block_size:
                    self._across.append((position, end))
                self.batch_count += 1
                self.record_count += count
                self.end = end
            position = end
        return False

    def _is_full(self, end: int, count: int) -> bool:
        too_many = self._max_records is not None and self.record_count + count > self._max_records
        return too_many or end - self.start > self._max_bytes

    def buffers(self, window: Window) -> list[memoryview]:
        """Views of what was taken: as few as possible, and a copy only of batches across the border of two blocks, if
        they are to be whole."""
        if self._in_pieces:
            return window.pieces(self.start, self.end)
        found = []
        position = self.start
        for start, end in self._across:
            found += window.pieces(position, start)
            found.append(_join(window.pieces(start, end)))
            position = end
        return found + window.pieces(position, self.end)


def _join(pieces: list[memoryview]) -> memoryview:
    return pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))
