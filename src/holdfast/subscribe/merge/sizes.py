"""How many bytes pieces hold and rows take, and what is so little that it is done at once, on the event loop.

Counting rows is not enough for either: a single one may have megabytes, and a few compressed bytes may hold as many.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.record.batch import split
from holdfast.record.columnar.columns import Binary, Columns
from holdfast.subscribe.merge.merge import MergedRows, Pick
from holdfast.subscribe.merge.piece import Piece
from holdfast.types import Buffer

SMALL_SIZE = 512 << 10  # Bytes that are copied faster than a thread gets its turn.


def is_little(buffers: Sequence[Buffer], size_max: int = SMALL_SIZE) -> bool:
    """Whether batches are decoded at once: few bytes, and none of them compressed, since nobody knows to how many."""
    if sum(map(len, buffers)) > size_max:
        return False
    return not any(header.codec for buffer in buffers for header, _ in split(buffer))


def held_size(piece: Piece) -> int:
    """The bytes that stay in memory for as long as the piece does."""
    columns = piece.columns
    arrays = (piece.rows, piece.lanes, piece.times, piece.epochs, piece.types, columns.offset, columns.timestamp)
    return sum(array.nbytes for array in arrays) + sum(_binary_size(each) for each in _binaries(columns))


def _binaries(columns: Columns) -> list[Binary | None]:
    headers = columns.headers
    return [columns.key, columns.value, *(() if headers is None else (headers.keys, headers.values))]


def _binary_size(binary: Binary | None) -> int:
    return 0 if binary is None else binary.ends.nbytes + binary.data.nbytes


def rows_size(taken: MergedRows) -> int:
    """About the bytes of the keys, values and headers of the rows; where only some of a piece pass, at most."""
    return sum(map(_pick_size, taken.picks))


def _pick_size(pick: Pick) -> int:
    columns = pick.piece.columns
    first, end = int(pick.piece.rows[pick.start]), int(pick.piece.rows[pick.end - 1]) + 1
    size = sum(int(each.ends[end] - each.ends[first]) for each in (columns.key, columns.value) if each is not None)
    if columns.headers is not None:
        ends, keys, values = columns.headers
        first, end = int(ends[first]), int(ends[end])
        size += int(keys.ends[end] - keys.ends[first]) + int(values.ends[end] - values.ends[first])
    return size
