"""Picked rows of many pieces as Arrow record batches, in the order of their turns: each byte is copied once, or not at
all when the rows stand side by side in one piece. This is also what goes over the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import string_at
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.native import kernels
from holdfast.record.columnar.arrow import HEADER, TIMESTAMP, binary_array, headers_array
from holdfast.record.columnar.columns import Binary, Columns, Headers
from holdfast.subscribe.merge.merge import MergedRows, Pick
from holdfast.subscribe.merge.piece import Piece

SCHEMA: Final[Any] = pa.schema(
    {
        "lane": pa.int32(),
        "offset": pa.int64(),
        "timestamp": TIMESTAMP,
        "timestamp_type": pa.int32(),
        "order_time": pa.int64(),
        "epoch": pa.int32(),
        "late": pa.bool_(),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(HEADER),
    }
)
_FEW: Final = 64 if kernels is None else 0  # Without C live events never wait for numba to be loaded.
SIZE_MAX: Final = 1 << 30  # Of the keys, values or headers of one record batch: Arrow's ends have 32 bits.


def gather(taken: MergedRows) -> list[Any]:
    """The rows in order: one record batch, or several where they would be too large for one."""
    count = len(taken)
    if not count:
        return []
    if len(taken.picks) == 1 and taken.turns is None:
        pick = taken.picks[0]
        rows = pick.piece.rows[pick.start : pick.end]
        if rows[-1] - rows[0] + 1 == count and _is_narrow(pick.piece.columns):
            return [_sliced(pick, int(rows[0]), count, late=taken.late)]
    turns = np.arange(count) if taken.turns is None else taken.turns
    return _gathered(_Sources(taken.picks), turns, late=taken.late)


def _is_narrow(columns: Columns) -> bool:
    return all(each is None or each.ends.dtype == np.int32 for each in (columns.key, columns.value, columns.headers))


def _sliced(pick: Pick, first: int, count: int, *, late: bool) -> Any:
    piece, here = pick.piece, slice(pick.start, pick.end)
    columns = piece.columns
    return _batch(
        piece.lanes[here],
        columns.offset[first : first + count],
        columns.timestamp[first : first + count],
        piece.types[here],
        piece.times[here],
        piece.epochs[here],
        binary_array(columns.key).slice(first, count),
        binary_array(columns.value).slice(first, count),
        headers_array(columns.headers).slice(first, count),
        late=late,
    )


def _batch(
    lanes: Any, offsets: Any, timestamps: Any, types: Any, times: Any, epochs: Any, *rest: Any, late: bool
) -> Any:
    arrays = [
        pa.array(lanes),
        pa.array(offsets),
        pa.array(timestamps).view(TIMESTAMP),
        pa.array(types),
        pa.array(times),
        pa.array(epochs),
        pa.array(np.full(len(lanes), late)),
        *rest,
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


class _Sources:
    """All picked rows, one after the other, as if they were one table."""

    def __init__(self, picks: Sequence[Pick]) -> None:
        self._picks = picks
        self.keys = _Strings([(pick.piece.columns.key, _rows(pick)) for pick in picks])
        self.values = _Strings([(pick.piece.columns.value, _rows(pick)) for pick in picks])
        self._header_sizes = np.concatenate([_header_sizes(_headers_of(pick.piece), _rows(pick)) for pick in picks])

    def size(self, turns: NDArray[np.int64]) -> int:
        """Of the largest column of these rows."""
        columns = self.keys.sizes, self.values.sizes, self._header_sizes
        return max(int(sizes[turns].sum()) for sizes in columns)

    def numbers(self, name: str) -> NDArray[Any]:
        return np.concatenate([getattr(pick.piece, name)[pick.start : pick.end] for pick in self._picks])

    def columns(self, name: str) -> NDArray[Any]:
        return np.concatenate([getattr(pick.piece.columns, name)[_rows(pick)] for pick in self._picks])

    def headers(self, turns: NDArray[np.int64]) -> Headers:
        """The headers of the rows in order; most records have none."""
        sources = [(_headers_of(pick.piece), _rows(pick)) for pick in self._picks]
        base = np.cumsum([0, *(len(headers.keys) for headers, _ in sources[:-1])])
        counts = np.concatenate([np.diff(headers.ends)[rows] for headers, rows in sources])[turns]
        firsts = np.concatenate([each.ends[rows] + start for (each, rows), start in zip(sources, base, strict=True)])
        ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        order = np.repeat(firsts[turns] - ends[:-1], counts) + np.arange(ends[-1])
        keys = _Strings([(headers.keys, np.arange(len(headers.keys))) for headers, _ in sources])
        values = _Strings([(headers.values, np.arange(len(headers.values))) for headers, _ in sources])
        return Headers(ends.astype(np.int32), keys.gather(order), values.gather(order))


class _Strings:
    """Byte strings that lie in many places."""

    def __init__(self, sources: Sequence[tuple[Binary | None, NDArray[np.int64]]]) -> None:
        found = [(binary, rows) for binary, rows in sources if binary is not None]
        assert len(found) == len(sources)  # Subscriptions decode all columns.
        self._held = found  # Addresses are good for as long as the memory is held.
        starts = [binary.ends[rows].astype(np.int64) for binary, rows in found]
        self._at = np.concatenate(
            [start + binary.data.ctypes.data for start, (binary, _) in zip(starts, found, strict=True)]
        )
        self.sizes = np.concatenate(
            [binary.ends[rows + 1] - start for start, (binary, rows) in zip(starts, found, strict=True)]
        )
        self._valid = None
        if any(binary.validity is not None for binary, _ in found):
            self._valid = np.concatenate([_valid(binary, rows) for binary, rows in found])

    def gather(self, turns: NDArray[np.int64]) -> Binary:
        ends = np.zeros(len(turns) + 1, np.int32)
        np.cumsum(self.sizes[turns], out=ends[1:])
        data = self._copied_one_by_one(turns) if len(turns) <= _FEW else self._copied(turns, ends)
        valid = None if self._valid is None else np.packbits(self._valid[turns], bitorder="little")
        return Binary(ends, data, valid)

    def _copied(self, turns: NDArray[np.int64], ends: NDArray[np.int32]) -> NDArray[np.uint8]:
        from holdfast.record.loops import read_loops as loops

        data = np.empty(int(ends[-1]), np.uint8)
        loops.gather(self._at[turns], ends, data.ctypes.data)
        return data

    def _copied_one_by_one(self, turns: NDArray[np.int64]) -> NDArray[np.uint8]:
        places = zip(self._at[turns].tolist(), self.sizes[turns].tolist(), strict=True)
        return np.frombuffer(b"".join(string_at(at, size) for at, size in places), np.uint8)


def _rows(pick: Pick) -> NDArray[np.int64]:
    return pick.piece.rows[pick.start : pick.end]


def _headers_of(piece: Piece) -> Headers:
    assert piece.columns.headers is not None
    return piece.columns.headers


def _header_sizes(headers: Headers, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes of the names or of the values of each row's headers, whichever are more; most records have none."""
    if not len(headers.keys):
        return np.zeros(len(rows), np.int64)
    first, end = headers.ends[rows], headers.ends[rows + 1]
    names, values = (each.ends[end].astype(np.int64) - each.ends[first] for each in (headers.keys, headers.values))
    sizes: NDArray[np.int64] = np.maximum(names, values)
    return sizes


def _valid(binary: Binary, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    if binary.validity is None:
        return np.ones(len(rows), np.bool_)
    bits: NDArray[np.bool_] = (binary.validity[rows >> 3] >> (rows & 7).astype(np.uint8) & 1).astype(np.bool_)
    return bits


def _gathered(sources: _Sources, turns: NDArray[np.int64], *, late: bool) -> list[Any]:
    if len(turns) > 1 and sources.size(turns) > SIZE_MAX:
        half = len(turns) // 2
        return [
            *_gathered(sources, turns[:half], late=late),
            *_gathered(sources, turns[half:], late=late),
        ]
    return [
        _batch(
            sources.numbers("lanes")[turns],
            sources.columns("offset")[turns],
            sources.columns("timestamp")[turns],
            sources.numbers("types")[turns],
            sources.numbers("times")[turns],
            sources.numbers("epochs")[turns],
            binary_array(sources.keys.gather(turns)),
            binary_array(sources.values.gather(turns)),
            headers_array(sources.headers(turns)),
            late=late,
        )
    ]
