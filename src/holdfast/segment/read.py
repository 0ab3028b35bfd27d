"""Reading a segment: batches from an offset on, or the first batch of a time, through the block cache.

Every interval is held against its crc before a batch of it is handed out. Batches are views of the cached blocks; only
one that lies across the border of two blocks is copied.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from crc32c import crc32c

from holdfast.record.batch import BatchHeader, read_header, split
from holdfast.record.layout import HEADER_SIZE as BATCH_HEADER_SIZE
from holdfast.segment.blocks import BlockCache, Window
from holdfast.segment.errors import Damaged, SegmentLost
from holdfast.segment.info import SegmentInfo
from holdfast.segment.manifest import Manifest
from holdfast.segment.reader import Interval, Segment, check_is, decode_tail
from holdfast.types import Offset

# Base offset, length, last offset delta and record count of a batch: a scan needs no more, and needs it fast.
_PLACE = struct.Struct(">qi11xi30xi")
_LENGTH_END = 12
assert _PLACE.size == BATCH_HEADER_SIZE


class SegmentRead(NamedTuple):
    """What a read found."""

    buffers: list[memoryview]  # Each one or more whole batches; all of them in order.
    next_offset: Offset  # Where to go on; the segment's end if nothing is left in it.
    size: int
    batch_count: int
    record_count: int
    cached: bool  # Whether no download was waited for.

    def batches(self) -> Iterator[tuple[BatchHeader, memoryview]]:
        """The batches one by one."""
        for buffer in self.buffers:
            yield from split(buffer)


class _Batch(NamedTuple):
    start: int
    end: int
    base_offset: int
    end_offset: int
    record_count: int


@dataclass(frozen=True)
class SegmentReader:
    """Reads segments through one block cache. Calls block; any thread may make them."""

    blocks: BlockCache

    def open(self, info: SegmentInfo) -> Segment:
        """A segment's index and snapshots: one request, or none."""

        def decode(tail: bytes) -> Segment:
            segment = decode_tail(info.name, tail, info.size)
            check_is(segment, info)
            return segment

        return self.blocks.tail(info.name, info.size, info.tail_size, decode)

    def read(
        self,
        info: SegmentInfo,
        offset: int,
        max_bytes: int,
        *,
        max_records: int | None = None,
        end: int | None = None,
    ) -> SegmentRead:
        """Batches from the one that holds `offset` on, or from the next one at a hole.

        At least one batch if there is one, then as many as fit into both limits; none that starts at `end` or above.
        Raises NotFound if the segment is gone: see `after_not_found`.
        """
        segment = self.open(info)
        first = segment.interval_of_offset(offset)
        taken = _Taken(offset, max_bytes, max_records, info.end if end is None else end)
        if not len(segment.index):
            return taken.result(info, cached=True)
        start = segment.interval(first).start
        wanted = 0 if max_records else max_bytes
        window = self.blocks.window(info.name, info.size, start, wanted, sequential=offset == info.base)
        for number in range(first, len(segment.index)):
            interval = segment.interval(number)
            _check_interval(info.name, window, interval)
            for batch in _scan(window, interval):
                if not taken.add(batch):
                    taken.gather(window)
                    self.blocks.expect(info.name, interval.start)  # Where a read of the next offset starts.
                    return taken.result(info, cached=window.cached, next_offset=batch.base_offset)
        taken.gather(window)
        return taken.result(info, cached=window.cached)

    def find_timestamp(
        self, info: SegmentInfo, timestamp: int, offset: int = 0
    ) -> tuple[BatchHeader, memoryview] | None:
        """The first batch, from the one that holds `offset` on, with a record at or after a time."""
        segment = self.open(info)
        first = max(segment.interval_of_timestamp(timestamp), segment.interval_of_offset(offset))
        for number in range(first, len(segment.index)):
            interval = segment.interval(number)
            window = self.blocks.window(info.name, info.size, interval.start, 0)
            _check_interval(info.name, window, interval)
            for batch in _scan(window, interval):
                view = _join(window.pieces(batch.start, batch.end))
                header = read_header(view)
                if header.max_timestamp >= timestamp and batch.end_offset > offset:
                    return header, view
        return None


class _Taken:
    """The batches a read takes: which, and how much of the limits they use."""

    def __init__(self, offset: int, max_bytes: int, max_records: int | None, end: int) -> None:
        self._offset = offset
        self._bytes_left = max_bytes
        self._records_left = max_records
        self._end = end
        self._batches: list[_Batch] = []
        self._buffers: list[memoryview] = []

    def add(self, batch: _Batch) -> bool:
        """Take a batch, or pass over one that is too early; False when the read is over."""
        if batch.end_offset <= self._offset:
            return True
        if batch.base_offset >= self._end:
            return False
        size = batch.end - batch.start
        if self._batches:
            if size > self._bytes_left:
                return False
            if self._records_left is not None and batch.record_count > self._records_left:
                return False
        self._batches.append(batch)
        self._bytes_left -= size
        if self._records_left is not None:
            self._records_left -= batch.record_count
        return True

    def gather(self, window: Window) -> None:
        """Views of the batches: as few as possible, and a copy only across the border of two blocks."""
        run_start = run_end = -1
        for batch in self._batches:
            if batch.start // window.block_size == (batch.end - 1) // window.block_size:
                if run_start >= 0 and run_start // window.block_size == batch.start // window.block_size:
                    run_end = batch.end
                    continue
                self._flush(window, run_start, run_end)
                run_start, run_end = batch.start, batch.end
            else:
                self._flush(window, run_start, run_end)
                run_start = run_end = -1
                self._buffers.append(_join(window.pieces(batch.start, batch.end)))
        self._flush(window, run_start, run_end)

    def _flush(self, window: Window, start: int, end: int) -> None:
        if start >= 0:
            self._buffers += window.pieces(start, end)

    def result(self, info: SegmentInfo, *, cached: bool, next_offset: int | None = None) -> SegmentRead:
        size = sum(batch.end - batch.start for batch in self._batches)
        records = sum(batch.record_count for batch in self._batches)
        after = info.end if next_offset is None else Offset(next_offset)
        return SegmentRead(self._buffers, after, size, len(self._batches), records, cached)


def _check_interval(name: str, window: Window, interval: Interval) -> None:
    crc = 0
    for piece in window.pieces(interval.start, interval.end):
        crc = crc32c(piece, crc)
    if crc != interval.crc:
        raise Damaged(name, f"the crc of bytes {interval.start} to {interval.end} is wrong")


def _scan(window: Window, interval: Interval) -> Iterator[_Batch]:
    """The batches of an interval whose crc is right."""
    position = interval.start
    pieces = window.pieces(interval.start, interval.end)
    whole = pieces[0] if len(pieces) == 1 else None
    while position < interval.end:
        if whole is not None:
            base, length, delta, count = _PLACE.unpack_from(whole, position - interval.start)
        else:
            base, length, delta, count = _PLACE.unpack(_join(window.pieces(position, position + _PLACE.size)))
        end = position + length + _LENGTH_END
        yield _Batch(position, end, base, base + delta + 1, count)
        position = end


def _join(pieces: list[memoryview]) -> memoryview:
    return pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))


@dataclass(frozen=True)
class Expired:
    """The offsets are below log start: skip them, count them, say so."""

    log_start: Offset


@dataclass(frozen=True)
class Replaced:
    """Compaction wrote others for the same offsets: read these."""

    segments: tuple[SegmentInfo, ...]


def after_not_found(missing: SegmentInfo, newest: Manifest) -> Expired | Replaced:
    """What to do about a segment that is not in the store, given the manifest loaded after that was noticed."""
    if missing.end <= newest.log_start:
        return Expired(newest.log_start)
    listed = newest.segments.between(max(missing.base, newest.log_start), missing.end)
    if not listed or any(each.name == missing.name for each in listed) or listed[-1].end < missing.end:
        raise SegmentLost(missing.name, newest.version)
    return Replaced(listed)
