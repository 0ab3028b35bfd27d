"""A few records to a piece, one by one: what comes live is too little to be worth the way through machine code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from holdfast.record.batch import BatchHeader, check_crc, check_fields, split
from holdfast.record.columnar.columns import Binary, Columns, Headers
from holdfast.record.errors import CorruptBatch, stored
from holdfast.record.records import Record, read_records
from holdfast.segment.aborted import AbortedIndex
from holdfast.subscribe.merge.piece import NO_EPOCH, NO_TIME, Piece, Position, Range, decode_piece
from holdfast.types import Buffer

COUNT_MAX = 16  # Records; more go through `decode_piece`, which gives the same.


class _Row(NamedTuple):
    record: Record
    time: int
    epoch: int
    kind: int


class _Reader:
    """Goes through batches, and knows where the order time stands: as in `piece`, where the rules are."""

    def __init__(self, wanted: Range) -> None:
        self._wanted = wanted
        self._aborted = AbortedIndex(wanted.aborted)
        self._highest = NO_TIME  # What whole batches say of themselves.
        self._running = NO_TIME
        self.epoch = NO_EPOCH

    @property
    def order_time(self) -> int:
        return max(self._highest, self._running)

    def rows(self, buffers: Iterable[Buffer]) -> Iterator[_Row]:
        for buffer in buffers:
            for header, batch in split(buffer):
                check_crc(header, batch)
                check_fields(header)
                yield from self._rows(header, batch)
                self._note(header)

    def _rows(self, header: BatchHeader, batch: memoryview) -> Iterator[_Row]:
        wanted = self._wanted
        begun, hidden = header.end_offset > wanted.start, self._aborted.hides(header)
        for record in read_records(batch):
            assert record.offset is not None
            time = record.timestamp if begun and record.offset < wanted.end else NO_TIME
            self._running = max(self._running, self._highest, time)
            if not hidden and wanted.start <= record.offset < wanted.end:
                yield _Row(record, self._running, header.leader_epoch, int(header.is_log_append_time))

    def _note(self, header: BatchHeader) -> None:
        wanted = self._wanted
        if wanted.start < header.end_offset <= wanted.end:
            self._highest = max(self._highest, header.max_timestamp)
        if header.base_offset < wanted.end:
            self.epoch = header.leader_epoch if header.end_offset >= wanted.end else NO_EPOCH


def few_piece(buffers: Iterable[Buffer], wanted: Range) -> Piece:
    """The same as `decode_piece`, for a few records. What cannot be read is left to that one, which steps over it."""
    reader, buffers = _Reader(wanted), list(buffers)
    try:
        with stored(wanted.place):
            found = list(reader.rows(buffers))
    except CorruptBatch:
        return decode_piece(buffers, wanted)
    records = [row.record for row in found]
    keys = strings([record.key for record in records])
    chosen = np.arange(len(found)) if wanted.filter is None else np.flatnonzero(wanted.filter.mask(keys))
    columns = Columns(
        (),
        np.zeros(1, np.int64),
        np.array([record.offset for record in records], np.int64),
        np.array([record.timestamp for record in records], np.int64),
        keys,
        strings([record.value for record in records]),
        header_columns([record.headers for record in records]),
    )
    return Piece(
        columns,
        chosen,
        np.full(len(chosen), wanted.lane, np.int32),
        np.array([row.time for row in found], np.int64)[chosen],
        np.array([row.epoch for row in found], np.int32)[chosen],
        np.array([row.kind for row in found], np.int32)[chosen],
        {wanted.lane: Position(wanted.end, reader.epoch, reader.order_time)},
    )


def strings(texts: Sequence[bytes | None]) -> Binary:
    """Some byte strings as a column."""
    ends = [0]
    for text in texts:
        ends.append(ends[-1] + len(text or b""))
    valid = None
    if None in texts:
        valid = np.packbits([text is not None for text in texts], bitorder="little")
    return Binary(np.array(ends, np.int32), np.frombuffer(b"".join(text or b"" for text in texts), np.uint8), valid)


_NO_STRINGS = strings([])


def header_columns(rows: Sequence[Sequence[tuple[str, bytes | None]]]) -> Headers:
    """The headers of some records as columns; most have none."""
    if not any(rows):
        return Headers(np.zeros(len(rows) + 1, np.int32), _NO_STRINGS, _NO_STRINGS)
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    keys = strings([key.encode() for row in rows for key, _ in row])
    return Headers(ends, keys, strings([value for row in rows for _, value in row]))
