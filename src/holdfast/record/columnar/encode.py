"""Build batches from columns at native speed."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import Rejected
from holdfast.record.build import Envelope, Extent, NoRecords, seal
from holdfast.record.columnar.columns import Binary, Columns
from holdfast.record.columnar.spans import address_of
from holdfast.record.layout import HEADER_SIZE

Numbers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[Any]  # Numbers of rows, or one truth value for each row.


class OffsetsDoNotGrow(Rejected):
    """The rows chosen for a batch are not in the order of their offsets, or start before it."""

    def __init__(self, base_offset: int) -> None:
        super().__init__(f"the offsets of a batch at {base_offset} must grow from there on")
        self.base_offset = base_offset


def encode(
    columns: Columns, rows: Rows | None = None, envelope: Envelope | None = None, last_offset_delta: int | None = None
) -> bytearray:
    """One batch of the rows chosen (all, if None), each with its own offset; ready to be stamped.

    Without an envelope the batch starts at its first row's offset. A last offset delta, for a batch whose last records
    are gone, is kept; otherwise it is the last row's. Columns that were not decoded become null.
    """
    from holdfast.record.loops import write_loops as loops  # Here: without C it loads numba.

    chosen = _numbers(rows, len(columns))
    if not len(chosen):
        raise NoRecords
    offsets, timestamps = columns.offset[chosen], columns.timestamp[chosen]
    envelope = envelope or Envelope(base_offset=int(offsets[0]))
    deltas = offsets - envelope.base_offset
    if deltas[0] < 0 or (np.diff(deltas) <= 0).any():
        raise OffsetsDoNotGrow(envelope.base_offset)
    times = (timestamps - timestamps[0], deltas)
    key, value = locate(columns.key, chosen), locate(columns.value, chosen)
    starts, ends, header_key, header_value = _locate_headers(columns, chosen)
    sizes = np.empty(len(chosen), np.int64)
    size = loops.measure(*times, key[1], value[1], starts, ends, header_key[1], header_value[1], sizes)
    room = bytearray(HEADER_SIZE + size)
    target = address_of(room) + HEADER_SIZE
    loops.write(*times, *key, *value, starts, ends, *header_key, *header_value, sizes, target)
    last = int(deltas[-1]) if last_offset_delta is None else last_offset_delta
    return seal(room, Extent(len(chosen), last, int(timestamps[0]), int(timestamps.max())), envelope)


def _numbers(rows: Rows | None, count: int) -> Numbers:
    """The rows chosen, by their numbers."""
    if rows is None:
        return np.arange(count)
    return np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64)


def locate(binary: Binary | None, rows: Numbers) -> tuple[Numbers, Numbers]:
    """Address and size of each string, with -1 for null."""
    if binary is None:
        return np.zeros(len(rows), np.int64), np.full(len(rows), -1, np.int64)
    starts = binary.ends[rows].astype(np.int64)
    sizes = binary.ends[rows + 1] - starts
    if binary.validity is not None:
        sizes[binary.validity[rows >> 3] >> (rows & 7) & 1 == 0] = -1
    return starts + binary.data.ctypes.data, sizes


def _locate_headers(
    columns: Columns, rows: Numbers
) -> tuple[Numbers, Numbers, tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    """The range of each row's headers, and where the keys and values of those headers lie."""
    if columns.headers is None:
        none, nowhere = np.zeros(len(rows), np.int64), (np.empty(0, np.int64), np.empty(0, np.int64))
        return none, none, nowhere, nowhere
    starts, ends = (columns.headers.ends[at].astype(np.int64) for at in (rows, rows + 1))
    first = int(starts.min())
    headers = np.arange(first, int(ends.max()))
    return (
        starts - first,
        ends - first,
        locate(columns.headers.keys, headers),
        locate(columns.headers.values, headers),
    )
