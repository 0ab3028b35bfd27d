"""Batches to one segment: a pure function. The batches are not copied; what it returns goes into one put."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from itertools import chain

import numpy as np
from crc32c import crc32c

from holdfast.errors import Rejected
from holdfast.record.batch import read_header, split
from holdfast.record.errors import WrongCrc
from holdfast.record.layout import ATTRIBUTES_AT, LENGTH_END, MAGIC
from holdfast.record.layout import HEADER_SIZE as BATCH_HEADER_SIZE
from holdfast.segment.format import (
    ABORTED_ENTRY,
    COMPACTED,
    HEADER_SIZE,
    INDEX_ENTRY,
    Footer,
    encode_footer,
    encode_header,
)
from holdfast.segment.manifest.info import NO_TIMESTAMP, Aborted, SegmentInfo
from holdfast.segment.names import segment_name
from holdfast.segment.producers import Producers, to_rows
from holdfast.segment.times import SIZE_MIN, record_times
from holdfast.types import Buffer, Epoch, Offset, PartitionId

INTERVAL_SIZE = 64 * 1024  # One index entry for about this many bytes; a larger batch has one of its own.
INTERVAL_BATCHES_MAX = 256  # And for so many batches, so that a small one is found fast.

# Base offset, length, magic, crc, last offset delta, base and max timestamp, record count of a batch.
_FIELDS = struct.Struct(">qi4xbI2xiqq14xi")
assert _FIELDS.size == BATCH_HEADER_SIZE


class NotTiled(Rejected):
    """Batches do not follow one another as a segment's must."""

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(f"a batch starts or ends at offset {found} where {expected} is expected")
        self.expected = expected
        self.found = found


def encode_segment(
    batches: Sequence[Buffer],
    *,
    home: PartitionId,
    epoch: Epoch,
    tag: str,
    producers: Producers | None = None,
    aborted: Sequence[Aborted] = (),
    start: Offset | None = None,
    end: Offset | None = None,
    compacted: bool = False,
    thorough: bool = False,
    times_size_min: int = SIZE_MIN,
    interval_size: int = INTERVAL_SIZE,
) -> tuple[list[Buffer], SegmentInfo]:
    """The buffers of one segment, and what the manifest says of it.

    Each buffer holds one or more whole batches, stamped with their offsets; one that does not match its own crc is
    refused. `start` and `end` are needed only for a
    compacted segment, which stands for offsets it no longer holds. `tag` comes from `names.new_tag`, new for each try.
    `thorough` looks at the records' times whatever that costs, `times_size_min` only in segments of this size.
    """
    index = _Index(interval_size, compacted=compacted)
    if start is not None:
        index.end = start
    for buffer in batches:
        index.add(buffer)
    base = index.first if start is None else start
    end = Offset(index.end) if end is None else end
    if base is None:
        raise Rejected("a segment without batches needs the range it stands for")
    if index.end > end or (index.end < end and not compacted):
        raise NotTiled(end, index.end)
    sections = [index.encode(), _encode_producers(producers), _encode_aborted(aborted)]
    footer = index.footer(home, Offset(base), end, sections)
    info = SegmentInfo(
        name=segment_name(home, Offset(base), end, epoch, tag),
        base=Offset(base),
        end=end,
        size=footer.size,
        tail_size=footer.tail_size,
        min_timestamp=footer.min_timestamp,
        max_timestamp=footer.max_timestamp,
        record_count=footer.record_count,
        compacted=compacted,
        aborted=tuple(aborted),
        times=record_times(batches, footer.batch_count, thorough=thorough, size_min=times_size_min),
    )
    return [encode_header(home, base), *batches, *sections, encode_footer(footer)], info


class _Index:
    """Grows by one buffer at a time; an interval is closed when the next batch would make it too large."""

    def __init__(self, interval_size: int, *, compacted: bool) -> None:
        self._interval_size = interval_size
        self.first: int | None = None
        self.end = -1
        self._compacted = compacted
        self._closed: list[tuple[int, int, int, int, int]] = []
        self._open: tuple[int, int] | None = None  # Base offset and position.
        self._crc = 0
        self._count = 0
        self._batch_count = 0
        self._record_count = 0
        self._position = HEADER_SIZE
        self._min_timestamp: int | None = None
        self._max_timestamp = NO_TIMESTAMP

    def add(self, buffer: Buffer) -> None:
        """Add the batches of a buffer. There may be very many small ones, so this reads only what it needs of each."""
        view = memoryview(buffer)
        position = 0
        while position < len(view):
            if len(view) - position < _FIELDS.size:
                read_header(view, position)  # Raises, and says how much is missing.
            base, length, magic, crc, delta, base_timestamp, max_timestamp, count = _FIELDS.unpack_from(view, position)
            end = position + length + LENGTH_END
            if magic != MAGIC or length < _FIELDS.size - LENGTH_END or end > len(view):
                for _ in split(view[position:]):
                    pass  # Raises, and says what is wrong.
            computed = crc32c(view[position + ATTRIBUTES_AT : end])
            if computed != crc:  # Whatever brought it here, it is not stored as if it were right.
                raise WrongCrc(base, crc, computed)
            self._place(base, end - position)
            self._crc = crc32c(view[position:end], self._crc)
            self._count += 1
            self._record_count += count
            self._position += end - position
            self.end = base + delta + 1
            if max_timestamp > self._max_timestamp:
                self._max_timestamp = max_timestamp
            if self._min_timestamp is None or base_timestamp < self._min_timestamp:
                self._min_timestamp = base_timestamp
            position = end

    def _place(self, base: int, size: int) -> None:
        """See that a batch follows the one before, and open an interval for it if it needs one."""
        if base != self.end and self.end >= 0 and not (self._compacted and base > self.end):
            raise NotTiled(self.end, base)
        if self.first is None:
            self.first = base
        if self._open is not None:
            grown = self._position + size - self._open[1]
            if grown <= self._interval_size and self._count < INTERVAL_BATCHES_MAX:
                return
            self._close()
        self._open = (base, self._position)

    def _close(self) -> None:
        if self._open is not None:
            self._closed.append((*self._open, self._max_timestamp, self._crc, self._count))
            self._batch_count += self._count
        self._open, self._crc, self._count = None, 0, 0

    def encode(self) -> bytes:
        self._close()
        return np.array(self._closed, dtype=INDEX_ENTRY).tobytes()

    def footer(self, home: PartitionId, base: Offset, end: Offset, sections: Sequence[bytes]) -> Footer:
        index_size, producers_size, aborted_size = map(len, sections)
        return Footer(
            home.topic_id.bytes,
            home.partition,
            COMPACTED if self._compacted else 0,
            base,
            end,
            NO_TIMESTAMP if self._min_timestamp is None else self._min_timestamp,
            self._max_timestamp,
            self._record_count,
            self._batch_count,
            self._position,
            index_size,
            producers_size,
            aborted_size,
            crc32c(b"".join(sections)),
        )


def _encode_producers(producers: Producers | None) -> bytes:
    return json.dumps(to_rows(producers), separators=(",", ":")).encode() if producers else b""


def _encode_aborted(aborted: Sequence[Aborted]) -> bytes:
    return np.fromiter(chain.from_iterable(aborted), dtype="<i8", count=4 * len(aborted)).view(ABORTED_ENTRY).tobytes()
