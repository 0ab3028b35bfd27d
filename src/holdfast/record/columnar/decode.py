"""Decode many batches to columns at native speed: walk all records once, then copy keys and values into place.

All memory outside the columns themselves is bounded, every byte read was found to lie inside its batch first, and
whatever is wrong with the bytes is raised as Corrupt, with its place. Other threads run meanwhile.

A broker that did not look into batches, or was told not to, has stored some that nobody can read. Who goes past them
hands in `skip`, and is told of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.batch import BatchHeader, check_crc, check_fields, split
from holdfast.record.codec import EXPANDED_SIZE_MAX
from holdfast.record.columnar.columns import Binary, Column, Columns, Ends, Headers
from holdfast.record.columnar.spans import Spans, address_of
from holdfast.record.errors import UNREADABLE, ExpandsTooFar, InvalidBatch, InvalidRecord, stored
from holdfast.types import Buffer

EndsType: TypeAlias = type[np.int32] | type[np.int64]
Skip: TypeAlias = Callable[[BatchHeader, InvalidBatch], None]
Field: TypeAlias = tuple[Ends, NDArray[np.int64], NDArray[np.uint8]]  # Ends, addresses, validity bits.

_ALL_VALID: Final = 0xFF
_INT32_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Decoder:
    """What to decode, and how. Holds no state: one can serve many threads."""

    columns: Column = Column.ALL
    place: str = "batch"  # Where the bytes come from; errors name it.
    verify_crc: bool = True
    control: bool = False  # Decode control batches too, instead of leaving them out.
    wide: bool = False  # 64-bit ends even where 32 bits would do.
    expanded_size_max: int = EXPANDED_SIZE_MAX  # Of all compressed batches of one output together.
    whole: bool = False  # Look at all of each record, as if all were decoded: then all agree on what cannot be read.
    skip: Skip | None = None  # Told of each batch with a right crc that cannot be read, and is left out; None: raised.

    def decode(self, buffers: Iterable[Buffer]) -> Columns:
        """All records of all batches as one output. A buffer holds one whole batch, or several in a row."""
        spans = Spans(self.expanded_size_max)
        with stored(self.place):
            for _ in self._load(spans, buffers):
                pass
            return self._decode(spans)

    def groups(
        self, buffers: Iterable[Buffer], record_count: int = 100_000, size: int = 64 * 1024 * 1024
    ) -> Iterator[Columns]:
        """The same in outputs of whole batches that end once they hold that many records or bytes."""
        spans = Spans(self.expanded_size_max)
        with stored(self.place):
            for _ in self._load(spans, buffers):
                if spans.record_count >= record_count or spans.size >= size:
                    yield self._decode(spans)
                    spans.clear()
            if spans.headers:
                yield self._decode(spans)

    def _load(self, spans: Spans, buffers: Iterable[Buffer]) -> Iterator[None]:
        """Add one batch after the other to the spans, and come up after each."""
        for buffer in buffers:
            address = address_of(buffer)
            for header, batch in split(buffer):
                if self.control or not header.is_control:
                    if self.verify_crc:
                        check_crc(header, batch)
                    if self._add(spans, header, batch, address):
                        yield
                address += header.size

    def _add(self, spans: Spans, header: BatchHeader, batch: memoryview, address: int) -> bool:
        try:
            check_fields(header)
            spans.add(header, batch, address)
        except UNREADABLE as violation:
            too_much = isinstance(violation, ExpandsTooFar) and spans.headers  # Of all together: not its own fault.
            if self.skip is None or too_much:
                raise
            self.skip(header, violation)
            return False
        return True

    def _leave_out(self, spans: Spans) -> bool:
        """Find the batches that cannot be read, and go on without them; False if there are none."""
        found: dict[int, InvalidBatch] = {}
        alone = Decoder(self.columns, whole=self.whole)
        for number in range(len(spans.headers)):
            try:
                alone._decode(spans.alone(number))
            except InvalidRecord as violation:
                found[number] = violation
        assert self.skip is not None
        for number, why in found.items():
            self.skip(spans.headers[number], why)
        spans.leave_out(found.keys())
        return bool(found)

    def _decode(self, spans: Spans) -> Columns:
        from holdfast.record.loops import read_loops as loops  # Here: without C it loads numba.

        depth = (Column.ALL if self.whole else self.columns).value.bit_length()  # How far to look into each record.
        count = spans.record_count
        ends_type = np.int64 if self.wide or spans.size > _INT32_MAX else np.int32
        offset, timestamp = np.empty(count, np.int64), np.empty(count, np.int64)
        key, value, header = (_field(count if depth >= least else 0, ends_type) for least in (1, 2, 3))
        found = loops.walk(spans.table(), depth, offset, timestamp, *key, *value, *header[:2])
        if found[0] != loops.FINE:
            if self.skip is not None and self._leave_out(spans):
                return self._decode(spans)
            raise spans.explain(*found)
        return Columns(
            tuple(spans.headers),
            spans.starts(),
            offset,
            timestamp,
            _binary(key) if Column.KEY in self.columns else None,
            _binary(value) if Column.VALUE in self.columns else None,
            _headers(header, ends_type) if Column.HEADERS in self.columns else None,
        )


def decode(buffers: Iterable[Buffer], columns: Column = Column.ALL) -> Columns:
    """All records of all batches as one output: see `Decoder` for more choices."""
    return Decoder(columns).decode(buffers)


def _field(count: int, ends_type: EndsType) -> Field:
    ends: Ends = np.zeros(count + 1, ends_type)
    return ends, np.empty(count, np.int64), np.full((count + 7) // 8, _ALL_VALID, np.uint8)


def _binary(field: Field) -> Binary:
    from holdfast.record.loops import read_loops as loops

    ends, at, validity = field
    data = np.empty(ends[-1], np.uint8)
    loops.gather(at, ends, data.ctypes.data)
    return Binary(ends, data, None if (validity == _ALL_VALID).all() else validity)


def _headers(field: Field, ends_type: EndsType) -> Headers:
    from holdfast.record.loops import read_loops as loops

    ends, at, _ = field
    keys, values = (_field(int(ends[-1]), ends_type) for _ in range(2))
    loops.walk_headers(ends, at, *keys[:2], *values)
    return Headers(ends, _binary(keys), _binary(values))
