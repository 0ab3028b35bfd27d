"""Columns of whole numbers, each as narrow as its numbers allow: millions of them cost a byte or two each.

    | for each column: width u8 (0, 1, 2, 4 or 8 bytes) | lowest i64 | what each number has above the lowest |

A column whose numbers are all the same has a width of 0. Only ever in memory: the byte order is the machine's.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence

_COLUMN = struct.Struct("=Bq")
_CODES = {array(code).itemsize: code for code in "BHIQ"}
assert sorted(_CODES) == [1, 2, 4, 8]


def pack(columns: Iterable[Sequence[int]]) -> bytes:
    """Columns of one length, at least 1, as bytes."""
    pieces: list[bytes] = []
    for column in columns:
        lowest = min(column)
        width = _width(max(column) - lowest)
        pieces.append(_COLUMN.pack(width, lowest))
        if width:
            above = [number - lowest for number in column] if lowest else column
            pieces.append(array(_CODES[width], above).tobytes())
    return b"".join(pieces)


def _width(highest: int) -> int:
    if highest == 0:
        return 0
    return next(width for width in (1, 2, 4, 8) if highest < 1 << 8 * width)


def unpack(data: bytes, count: int) -> list[Sequence[int]]:
    """The columns, of `count` numbers each."""
    columns: list[Sequence[int]] = []
    at = 0
    while at < len(data):
        width, lowest = _COLUMN.unpack_from(data, at)
        at += _COLUMN.size
        if not width:
            columns.append([lowest] * count)
            continue
        above = array(_CODES[width])
        above.frombytes(data[at : at + width * count])
        columns.append([lowest + number for number in above] if lowest else above)
        at += width * count
    return columns
