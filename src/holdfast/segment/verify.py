"""Is a segment what was written? Every rule of one segment, held against every byte of it, for whoever asks.

It goes on behind damage: the index has a crc of its own, and says where the next interval begins. What was misread once
is read again before it is called damage. What is found comes in the order of the bytes, among the batches that are
there.

    segment    its tail cannot be read: nothing else can be found in it
    header     its first bytes are not those it was given
    interval   bytes are not those that the index summed up, or are no batches: offsets are lost with it
    batch      one batch is not what its sender summed up, or breaks a rule of the format: its offsets are lost
    order      an offset comes again, or is missing between two batches or at the end
    sums       index or footer say something else of the batches than they are
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from holdfast.errors import Corrupt, HoldfastError
from holdfast.io.objects import Objects
from holdfast.record.batch import BatchHeader, check_crc, check_fields, is_crc_right, split
from holdfast.record.errors import InvalidBatch, WrongCrc
from holdfast.segment.cached.blocks import read_whole
from holdfast.segment.errors import Damaged, NewerFormat, SegmentLost
from holdfast.segment.format import HEADER_SIZE, check_header
from holdfast.segment.index import Interval, Segment, decode_tail, interval_damage
from holdfast.segment.manifest.info import NO_TIMESTAMP, SegmentInfo
from holdfast.segment.names import PartitionId
from holdfast.segment.scan import open_segment, runs
from holdfast.types import Buffer

Read: TypeAlias = Callable[[int, int], Buffer]  # The bytes `[start, end)` of the segment.


class Verdict(StrEnum):
    """What is to be done: repair, repair without it, upgrade."""

    DAMAGED = "damaged"
    LOST = "lost"
    NEWER = "newer"


class Rule(StrEnum):
    """Which rule is broken."""

    SEGMENT = "segment"
    HEADER = "header"
    INTERVAL = "interval"
    BATCH = "batch"
    ORDER = "order"
    SUMS = "sums"


class Finding(NamedTuple):
    """One thing that is not as it was written."""

    name: str  # Of the object, or what else is meant.
    what: str
    position: int | None = None  # Of a byte.
    verdict: Verdict = Verdict.DAMAGED
    rule: Rule | None = None  # None: it is about no segment's bytes.
    start: int | None = None  # The offsets `[start, end)` cannot be read because of it.
    end: int | None = None

    @classmethod
    def of(cls, name: str, failure: HoldfastError, position: int | None = None) -> Finding:
        """What an error says; one that carries its facts is not made to repeat the name."""
        what = getattr(failure, "what", None) or str(failure)
        return cls(getattr(failure, "name", None) or name, what, position, verdict_of(failure))


def verdict_of(failure: HoldfastError) -> Verdict:
    if isinstance(failure, NewerFormat):
        return Verdict.NEWER
    return Verdict.LOST if isinstance(failure, SegmentLost) else Verdict.DAMAGED


class FoundBatch(NamedTuple):
    """One batch of a segment."""

    header: BatchHeader
    batch: memoryview
    position: int
    is_right: bool = False  # It is what was sent, and stands where it was put.
    in_place: bool = False  # Its interval is right: so are its offset and its epoch, which its own crc leaves out.


Found: TypeAlias = FoundBatch | Finding


def inspect(
    objects: Objects, home: PartitionId, info: SegmentInfo, part: tuple[int, int] | None = None
) -> Iterator[Found]:
    """All batches and all findings of a listed segment. Raises NotFound when it is not there: see `segment.missing`.

    With a `part`, only the intervals that can hold these offsets.
    """
    try:
        segment = open_segment(objects, info)
    except (Corrupt, NewerFormat) as damage:
        found = Finding.of(info.name, damage, info.size - info.tail_size)
        yield found._replace(rule=Rule.SEGMENT, start=info.base, end=info.end)
        return
    read: Read = lambda start, end: read_whole(objects, info.name, start, end)  # noqa: E731
    yield from _Inspection(segment, home, read, part).run()


def verify(name: str, data: Buffer) -> Segment:
    """Open a whole segment; raise the first thing that is wrong with it. Only its name says what it should be."""
    view = memoryview(data)
    segment = decode_tail(name, view, len(view))
    check_header(name, view, segment.footer.home, segment.footer.base)
    inspection = _Inspection(segment, segment.footer.home, lambda start, end: view[start:end])
    for found in inspection.run():
        if isinstance(found, Finding):
            raise Damaged(name, found.what)
    return segment


class _Inspection:
    """One pass over a segment: what comes next, and what was seen so far."""

    def __init__(self, segment: Segment, home: PartitionId, read: Read, part: tuple[int, int] | None = None) -> None:
        self._segment = segment
        self._info = segment.info()
        self._home = home
        self._read = read
        self._is_part = part is not None
        self._first, self._stop = 0, len(segment.index)
        if part is not None:
            self._first = segment.interval_of_offset(part[0])
            self._stop = int(segment.index["base_offset"].searchsorted(part[1], side="left"))
        self._position = segment.interval(self._first).start if part is not None and self._stop else HEADER_SIZE
        self._offset = segment.offset_of(self._first) if part is not None else int(self._info.base)
        self._records = self._batches = 0
        self._min_timestamp: int | None = None
        self._max_timestamp = NO_TIMESTAMP
        self._whole = part is None  # Every batch so far could be read, so that sums can be held against the footer.

    def run(self) -> Iterator[Found]:
        try:
            check_header(self._info.name, self._read(0, HEADER_SIZE), self._home, self._info.base)
        except (Corrupt, NewerFormat) as damage:
            yield Finding.of(self._info.name, damage, 0)._replace(rule=Rule.HEADER)
        for run in runs(self._segment, first=self._first, stop=self._stop):
            start, end = run.bytes_in(self._segment)
            try:
                data = memoryview(self._read(start, end))
            except Corrupt as damage:  # It is shorter than it was.
                yield self._lost(run.first, run.stop, start, getattr(damage, "what", str(damage)))
                continue
            for number in range(*run):
                interval = self._segment.interval(number)
                yield from self._interval(number, interval, data[interval.start - start : interval.end - start])
        if not self._is_part:
            yield from self._ending()

    def _lost(self, first: int, stop: int, position: int, what: str) -> Finding:
        """Nothing of some intervals can be believed."""
        self._whole = False
        start, self._offset = max(self._offset, self._segment.offset_of(first)), self._segment.offset_of(stop)
        self._position = self._segment.interval(stop - 1).end
        return self._finding(Rule.INTERVAL, position, what, start, self._offset)

    def _interval(self, number: int, interval: Interval, data: memoryview) -> Iterator[Found]:
        if interval.start != self._position:
            what = f"the index goes on here, the batches before end at {self._position}"
            yield self._finding(Rule.SUMS, interval.start, what)
        damage = interval_damage(self._info.name, interval, [data])
        if damage is not None:
            data = memoryview(self._read(interval.start, interval.end))  # It may have been misread.
            damage = interval_damage(self._info.name, interval, [data])
        if damage is not None:
            found = self._lost(number, number + 1, interval.start, damage.what)
            yield found
            yield from self._out_of_place(interval.start, data)
            return
        self._position = interval.start
        count = self._batches
        try:
            for header, batch in split(data):
                if self._position == interval.start and header.base_offset != self._segment.offset_of(number):
                    what = f"the index says that offset {self._segment.offset_of(number)} is here"
                    yield self._finding(Rule.SUMS, interval.start, what)
                violation = _violation(header, batch)
                if violation is not None:
                    lost = header.base_offset, header.end_offset
                    yield self._finding(Rule.BATCH, self._position, violation, *lost)
                if header.base_offset != self._offset and self._is_out_of_order(header):
                    yield self._out_of_order(header, self._position)
                yield FoundBatch(header, batch, self._position, violation is None, in_place=True)
                self._add(header)
        except InvalidBatch as violation:
            what = f"from here to byte {interval.end} no batch can be read: {violation}"
            self._whole = False
            start, self._offset = self._offset, self._segment.offset_of(number + 1)
            yield self._finding(Rule.INTERVAL, self._position, what, start, self._offset)
        else:
            yield from self._against_index(number, interval, self._batches - count)
        self._position = interval.end

    def _against_index(self, number: int, interval: Interval, count: int) -> Iterator[Finding]:
        entry = self._segment.index[number]
        if count != entry["batch_count"]:
            yield self._finding(Rule.SUMS, interval.start, f"{count} batches, the index says otherwise")
        if self._whole and entry["max_timestamp"] != self._max_timestamp:
            what = f"the latest time is {self._max_timestamp}, the index says otherwise"
            yield self._finding(Rule.SUMS, interval.start, what)

    def _is_out_of_order(self, header: BatchHeader) -> bool:
        return header.base_offset < self._offset or not self._info.compacted

    def _add(self, header: BatchHeader) -> None:
        self._offset = max(self._offset, header.end_offset)
        self._position += header.size
        self._batches += 1
        self._records += header.record_count
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp = header.max_timestamp
        if self._min_timestamp is None or header.base_timestamp < self._min_timestamp:
            self._min_timestamp = header.base_timestamp

    def _out_of_place(self, position: int, data: memoryview) -> Iterator[Found]:
        """What can still be told of the batches of an interval that is wrong, as far as their lengths lead."""
        try:
            for header, batch in split(data):
                if not is_crc_right(header, batch):
                    what = f"the crc of the batch at offset {header.base_offset} is wrong"
                    yield self._finding(Rule.BATCH, position, what)  # Its offsets are lost with the interval's.
                yield FoundBatch(header, batch, position)
                position += header.size
        except InvalidBatch as violation:
            yield self._finding(Rule.BATCH, position, f"from here on no batch can be read: {violation}")

    def _out_of_order(self, header: BatchHeader, position: int) -> Finding:
        base, expected = header.base_offset, self._offset
        if base < expected:
            return self._finding(Rule.ORDER, position, f"offset {base} comes again where {expected} is expected")
        what = f"offsets [{expected}, {base}) are missing: offset {base} stands where {expected} is expected"
        return self._finding(Rule.ORDER, position, what, expected, base)

    def _ending(self) -> Iterator[Finding]:
        footer = self._segment.footer
        if self._position != footer.index_position:
            what = f"the batches end here, the index starts at {footer.index_position}"
            yield self._finding(Rule.SUMS, self._position, what)
        if not self._whole:
            return
        if self._offset > footer.end or (self._offset < footer.end and not self._info.compacted):
            what = f"its batches end at offset {self._offset}, its range at {footer.end}"
            yield self._finding(Rule.ORDER, self._position, what, min(self._offset, footer.end), footer.end)
        least = NO_TIMESTAMP if self._min_timestamp is None else self._min_timestamp
        seen = (self._records, self._batches, least, self._max_timestamp)
        said = (footer.record_count, footer.batch_count, footer.min_timestamp, footer.max_timestamp)
        if seen != said:
            what = (
                f"{seen[0]} records in {seen[1]} batches from {seen[2]} to {seen[3]}; its footer says {said[0]} in "
                f"{said[1]} from {said[2]} to {said[3]}"
            )
            yield self._finding(Rule.SUMS, footer.index_position, what)

    def _finding(
        self, rule: Rule, position: int, what: str, start: int | None = None, end: int | None = None
    ) -> Finding:
        return Finding(self._info.name, what, position, Verdict.DAMAGED, rule, start, end)


def _violation(header: BatchHeader, batch: memoryview) -> str | None:
    """What is wrong with a batch whose bytes are where they were put."""
    try:
        check_crc(header, batch)
        check_fields(header)
    except WrongCrc as wrong:
        return str(wrong)
    except InvalidBatch as violation:
        return f"the batch at offset {header.base_offset}: {violation}"
    return None
