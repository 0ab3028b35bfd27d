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

from collections.abc import Callable, Iterator, Sequence
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
from holdfast.segment.scan import open_segment, runs
from holdfast.types import Buffer, PartitionId

Read: TypeAlias = Callable[[int, int], Buffer]  # The bytes `[start, end)` of the segment.

_NEVER = 2**63 - 1  # A timestamp after all others.


class SegmentVerdict(StrEnum):
    """What is to be done: repair, repair without it, upgrade."""

    DAMAGED = "damaged"
    LOST = "lost"
    NEWER = "newer"


class SegmentRule(StrEnum):
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
    verdict: SegmentVerdict = SegmentVerdict.DAMAGED
    rule: SegmentRule | None = None  # None: it is about no segment's bytes.
    start: int | None = None  # The offsets `[start, end)` cannot be read because of it.
    end: int | None = None

    @classmethod
    def of(cls, name: str, failure: HoldfastError, position: int | None = None) -> Finding:
        """What an error says; one that carries its facts is not made to repeat the name."""
        what = getattr(failure, "what", None) or str(failure)
        return cls(getattr(failure, "name", None) or name, what, position, verdict_of(failure))


def verdict_of(failure: HoldfastError) -> SegmentVerdict:
    if isinstance(failure, NewerFormat):
        return SegmentVerdict.NEWER
    return SegmentVerdict.LOST if isinstance(failure, SegmentLost) else SegmentVerdict.DAMAGED


Batch: TypeAlias = tuple[BatchHeader, memoryview]


class FoundBatches(NamedTuple):
    """Some batches of a segment that stand one after the other: an interval's, or those between two findings."""

    batches: Sequence[Batch]
    position: int  # Of the first one.
    is_right: bool = False  # They are what was sent, and stand where they were put.
    in_place: bool = False  # Their interval is right: so are offsets and epochs, which their own crcs leave out.


Found: TypeAlias = FoundBatches | Finding


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
        yield found._replace(rule=SegmentRule.SEGMENT, start=info.base, end=info.end)
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
        self._bases: list[int] = [*segment.index["base_offset"].tolist(), segment.footer.end]
        self._counts: list[int] = segment.index["batch_count"].tolist()
        self._latest: list[int] = segment.index["max_timestamp"].tolist()
        self._first, self._stop = 0, len(segment.index)
        if part is not None:
            self._first = segment.interval_of_offset(part[0])
            self._stop = int(segment.index["base_offset"].searchsorted(part[1], side="left"))
        self._position = segment.interval(self._first).start if part is not None and self._stop else HEADER_SIZE
        self._offset = self._bases[self._first] if part is not None else int(self._info.base)
        self._records = self._batches = 0
        self._min_timestamp = _NEVER
        self._max_timestamp = NO_TIMESTAMP
        self._whole = part is None  # Every batch so far could be read, so that sums can be held against the footer.

    def run(self) -> Iterator[Found]:
        try:
            check_header(self._info.name, self._read(0, HEADER_SIZE), self._home, self._info.base)
        except (Corrupt, NewerFormat) as damage:
            yield Finding.of(self._info.name, damage, 0)._replace(rule=SegmentRule.HEADER)
        for run in runs(self._segment, first=self._first, stop=self._stop):
            start, end = run.bytes_in(self._segment)
            try:
                data = memoryview(self._read(start, end))
            except Corrupt as damage:  # It is shorter than it was.
                yield self._lost(run.first, run.stop, start, getattr(damage, "what", str(damage)))
                continue
            for number, interval in enumerate(self._segment.intervals(*run), run.first):
                yield from self._interval(number, interval, data[interval.start - start : interval.end - start])
        if not self._is_part:
            yield from self._ending()

    def _lost(self, first: int, stop: int, position: int, what: str) -> Finding:
        """Nothing of some intervals can be believed."""
        self._whole = False
        start, self._offset = max(self._offset, self._bases[first]), self._bases[stop]
        self._position = self._segment.interval(stop - 1).end
        return self._finding(SegmentRule.INTERVAL, position, what, start, self._offset)

    def _interval(self, number: int, interval: Interval, data: memoryview) -> Iterator[Found]:
        if interval.start != self._position:
            what = f"the index goes on here, the batches before end at {self._position}"
            yield self._finding(SegmentRule.SUMS, interval.start, what)
        damage = interval_damage(self._info.name, interval, [data])
        if damage is not None:
            data = memoryview(self._read(interval.start, interval.end))  # It may have been misread.
            damage = interval_damage(self._info.name, interval, [data])
        if damage is not None:
            found = self._lost(number, number + 1, interval.start, damage.what)
            yield found
            yield from self._out_of_place(interval.start, data)
            return
        yield from self._in_place(number, interval, data)

    def _in_place(self, number: int, interval: Interval, data: memoryview) -> Iterator[Found]:
        """The batches of an interval that is right. There are very many: only what is wrong becomes a value."""
        position = interval.start
        headers: list[BatchHeader] = []
        right: list[Batch] = []
        size = 0  # Of those.
        cut_off: InvalidBatch | None = None
        try:
            for header, batch in split(data):
                broken: str | None = None
                try:
                    check_crc(header, batch)
                    check_fields(header)
                except InvalidBatch as violation:
                    broken = _explain(header, violation)
                offset = header.base_offset
                is_moved = offset != self._offset and (offset < self._offset or not self._info.compacted)
                if is_moved or broken or (not headers and offset != self._bases[number]):
                    if right:
                        yield FoundBatches(right, position - size, is_right=True, in_place=True)
                    right, size = [], 0
                    yield from self._wrong(header, position, broken, None if headers else self._bases[number])
                if broken:
                    yield FoundBatches(((header, batch),), position, in_place=True)
                else:
                    right.append((header, batch))
                    size += header.size
                headers.append(header)
                position += header.size
                self._offset = max(self._offset, offset + header.last_offset_delta + 1)
        except InvalidBatch as violation:
            cut_off = violation
        if right:
            yield FoundBatches(right, position - size, is_right=True, in_place=True)
        self._position = interval.end
        if cut_off is None:
            yield from self._against_index(number, interval, headers)
            return
        what = f"from here to byte {interval.end} no batch can be read: {cut_off}"
        self._whole = False
        start, self._offset = self._offset, self._bases[number + 1]
        yield self._finding(SegmentRule.INTERVAL, position, what, start, self._offset)

    def _wrong(self, header: BatchHeader, position: int, broken: str | None, base: int | None) -> Iterator[Finding]:
        """All that is wrong with a batch whose interval is right; `base` is where the index says that the first is."""
        if base is not None and header.base_offset != base:
            yield self._finding(SegmentRule.SUMS, position, f"the index says that offset {base} is here")
        if broken:
            yield self._finding(SegmentRule.BATCH, position, broken, header.base_offset, header.end_offset)
        if header.base_offset < self._offset or (header.base_offset > self._offset and not self._info.compacted):
            yield self._out_of_order(header, position)

    def _against_index(self, number: int, interval: Interval, headers: Sequence[BatchHeader]) -> Iterator[Finding]:
        self._batches += len(headers)
        self._records += sum([header.record_count for header in headers])
        self._max_timestamp = max([self._max_timestamp, *[header.max_timestamp for header in headers]])
        self._min_timestamp = min([self._min_timestamp, *[header.base_timestamp for header in headers]])
        if len(headers) != self._counts[number]:
            yield self._finding(SegmentRule.SUMS, interval.start, f"{len(headers)} batches, the index says otherwise")
        if self._whole and self._latest[number] != self._max_timestamp:
            what = f"the latest time is {self._max_timestamp}, the index says otherwise"
            yield self._finding(SegmentRule.SUMS, interval.start, what)

    def _out_of_place(self, position: int, data: memoryview) -> Iterator[Found]:
        """What can still be told of the batches of an interval that is wrong, as far as their lengths lead."""
        try:
            for header, batch in split(data):
                if not is_crc_right(header, batch):
                    what = f"the crc of the batch at offset {header.base_offset} is wrong"
                    yield self._finding(SegmentRule.BATCH, position, what)  # Its offsets are lost with the interval's.
                yield FoundBatches(((header, batch),), position)
                position += header.size
        except InvalidBatch as violation:
            yield self._finding(SegmentRule.BATCH, position, f"from here on no batch can be read: {violation}")

    def _out_of_order(self, header: BatchHeader, position: int) -> Finding:
        base, expected = header.base_offset, self._offset
        if base < expected:
            return self._finding(SegmentRule.ORDER, position, f"offset {base} comes again where {expected} is expected")
        what = f"offsets [{expected}, {base}) are missing: offset {base} stands where {expected} is expected"
        return self._finding(SegmentRule.ORDER, position, what, expected, base)

    def _ending(self) -> Iterator[Finding]:
        footer = self._segment.footer
        if self._position != footer.index_position:
            what = f"the batches end here, the index starts at {footer.index_position}"
            yield self._finding(SegmentRule.SUMS, self._position, what)
        if not self._whole:
            return
        if self._offset > footer.end or (self._offset < footer.end and not self._info.compacted):
            what = f"its batches end at offset {self._offset}, its range at {footer.end}"
            yield self._finding(SegmentRule.ORDER, self._position, what, min(self._offset, footer.end), footer.end)
        least = self._min_timestamp if self._batches else NO_TIMESTAMP
        seen = (self._records, self._batches, least, self._max_timestamp)
        said = (footer.record_count, footer.batch_count, footer.min_timestamp, footer.max_timestamp)
        if seen != said:
            what = (
                f"{seen[0]} records in {seen[1]} batches from {seen[2]} to {seen[3]}; its footer says {said[0]} in "
                f"{said[1]} from {said[2]} to {said[3]}"
            )
            yield self._finding(SegmentRule.SUMS, footer.index_position, what)

    def _finding(
        self, rule: SegmentRule, position: int, what: str, start: int | None = None, end: int | None = None
    ) -> Finding:
        return Finding(self._info.name, what, position, SegmentVerdict.DAMAGED, rule, start, end)


def _explain(header: BatchHeader, violation: InvalidBatch) -> str:
    """What is wrong with a batch whose bytes are where they were put."""
    if isinstance(violation, WrongCrc):
        return str(violation)
    return f"the batch at offset {header.base_offset}: {violation}"
