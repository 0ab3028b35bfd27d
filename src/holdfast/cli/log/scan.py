"""Every batch of a segment, and everything that is wrong with the segment: in pieces, past every cache.

It goes on behind what is damaged: the index says where the next interval begins, and has a crc of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from crc32c import crc32c

from holdfast.cli.log.problem import Problem, problem_of
from holdfast.errors import Corrupt
from holdfast.io.objects import Objects
from holdfast.record.batch import BatchHeader, check_crc, check_fields, read_header, split
from holdfast.record.errors import InvalidBatch, WrongCrc
from holdfast.segment.cached.blocks import read_whole
from holdfast.segment.errors import NewerFormat
from holdfast.segment.format import HEADER_SIZE, check_header
from holdfast.segment.index import Interval, Segment, check_is, decode_tail
from holdfast.segment.manifest.info import NO_TIMESTAMP, SegmentInfo
from holdfast.segment.names import PartitionId

_PIECE_SIZE = 8 << 20


class FoundBatch(NamedTuple):
    """One batch of a segment."""

    position: int
    crc_ok: bool  # Its own crc, and that of its interval, which covers what its own leaves out.
    header: BatchHeader


Found: TypeAlias = FoundBatch | Problem


def scan_segment(objects: Objects, home: PartitionId, info: SegmentInfo) -> Iterator[Found]:
    """All batches and all problems, in order. Raises NotFound when the segment is not there."""
    try:
        segment = _open(objects, info)
        yield from _Scan(home, info, segment).run(objects)
    except (Corrupt, NewerFormat) as damage:
        yield problem_of(info.name, damage, info.size - info.tail_size)


def _open(objects: Objects, info: SegmentInfo) -> Segment:
    tail = read_whole(objects, info.name, info.size - info.tail_size, info.size)
    segment = decode_tail(info.name, tail, info.size)
    check_is(segment, info)
    return segment


def is_crc_right(header: BatchHeader, batch: memoryview) -> bool:
    """Whether a batch is what its sender summed up."""
    try:
        check_crc(header, batch)
    except WrongCrc:
        return False
    return True


class _Scan:
    """One pass over a segment: what comes next, and what was seen so far."""

    def __init__(self, home: PartitionId, info: SegmentInfo, segment: Segment) -> None:
        self._home = home
        self._info = info
        self._segment = segment
        self._position = HEADER_SIZE
        self._offset: int = info.base
        self._records = self._batches = 0
        self._min_timestamp: int | None = None
        self._max_timestamp = NO_TIMESTAMP
        self._whole = True  # Every batch so far could be read, so that sums can be held against the footer.

    def run(self, objects: Objects) -> Iterator[Found]:
        name = self._info.name
        header = read_whole(objects, name, 0, HEADER_SIZE)
        try:
            check_header(name, header, self._home, self._info.base)
        except (Corrupt, NewerFormat) as damage:
            yield problem_of(name, damage, 0)
        for first, end in self._groups():
            start = self._segment.interval(first).start
            piece = memoryview(read_whole(objects, name, start, self._segment.interval(end - 1).end))
            for number in range(first, end):
                interval = self._segment.interval(number)
                yield from self._interval(number, interval, piece[interval.start - start : interval.end - start])
        yield from self._ending()

    def _groups(self) -> Iterator[tuple[int, int]]:
        """Runs of intervals of about one piece; at least one interval each."""
        first, count = 0, len(self._segment.index)
        while first < count:
            start = self._segment.interval(first).start
            end = first + 1
            while end < count and self._segment.interval(end).end - start <= _PIECE_SIZE:
                end += 1
            yield first, end
            first = end

    def _interval(self, number: int, interval: Interval, data: memoryview) -> Iterator[Found]:
        entry = self._segment.index[number]
        if interval.start != self._position:
            yield self._problem(interval.start, f"the index goes on here, the batches before end at {self._position}")
        right = crc32c(data) == interval.crc
        if not right:
            self._whole = False
            yield self._problem(interval.start, f"the crc of bytes {interval.start} to {interval.end} is wrong")
        self._position = interval.start
        count = self._batches
        try:
            if right and read_header(data).base_offset != entry["base_offset"]:
                yield self._problem(interval.start, f"the index says that offset {entry['base_offset']} is here")
            for header, batch in split(data):
                yield from self._batch(header, batch, interval_right=right)
        except InvalidBatch as violation:
            self._whole = False
            yield self._problem(self._position, f"from here to byte {interval.end} no batch can be read: {violation}")
        if right and self._batches - count != entry["batch_count"]:
            yield self._problem(interval.start, f"{self._batches - count} batches, the index says otherwise")
        if self._whole and entry["max_timestamp"] != self._max_timestamp:
            yield self._problem(interval.start, f"the latest time is {self._max_timestamp}, the index says otherwise")
        self._position = interval.end
        if not self._whole and number + 1 < len(self._segment.index):
            self._offset = int(self._segment.index[number + 1]["base_offset"])

    def _batch(self, header: BatchHeader, batch: memoryview, *, interval_right: bool) -> Iterator[Found]:
        position = self._position
        crc_ok = is_crc_right(header, batch)
        if not crc_ok:
            yield self._problem(position, f"the crc of the batch at offset {header.base_offset} is wrong")
        if interval_right:
            check_fields(header)
            hole = header.base_offset > self._offset and not self._info.compacted
            if header.base_offset < self._offset or hole:
                yield self._problem(position, f"offset {header.base_offset} where {self._offset} is expected")
            self._offset = header.end_offset
        yield FoundBatch(position, crc_ok and interval_right, header)
        self._position += header.size
        self._batches += 1
        self._records += header.record_count
        self._max_timestamp = max(self._max_timestamp, header.max_timestamp)
        if self._min_timestamp is None or header.base_timestamp < self._min_timestamp:
            self._min_timestamp = header.base_timestamp

    def _ending(self) -> Iterator[Problem]:
        footer = self._segment.footer
        if self._position != footer.index_position:
            yield self._problem(self._position, f"the batches end here, the index starts at {footer.index_position}")
        if not self._whole:
            return
        if self._offset > footer.end or (self._offset < footer.end and not self._info.compacted):
            yield self._problem(self._position, f"the batches end at offset {self._offset}, the range at {footer.end}")
        times = (NO_TIMESTAMP if self._min_timestamp is None else self._min_timestamp, self._max_timestamp)
        seen = (self._records, self._batches, *times)
        if seen != (footer.record_count, footer.batch_count, footer.min_timestamp, footer.max_timestamp):
            what = f"{seen[0]} records in {seen[1]} batches from {seen[2]} to {seen[3]}, the footer says otherwise"
            yield self._problem(footer.index_position, what)

    def _problem(self, position: int, what: str) -> Problem:
        return Problem(self._info.name, what, position)
