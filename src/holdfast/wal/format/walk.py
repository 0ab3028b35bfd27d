"""Walk over the frames of a chunk in bulk: which are valid, and where, as columns of numbers.

Per frame there is one look at its header and one crc, by machine code where it was built; everything else is done for
all frames of a window at once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from holdfast.io.disk import File
from holdfast.native import kernels
from holdfast.wal.format import record
from holdfast.wal.format.frame import HEADER, mark_of, stated_size

_WINDOW_SIZE = 4 << 20
_HEADER_SIZE = HEADER.size
_PEEK = struct.Struct("<I3sxI")  # The part of a header that says whether a frame is whole and valid.

Numbers = npt.NDArray[np.int64]

OFFSET, SIZE, KIND, ROUND_START, ROUND, EPOCH, FIRST, COUNT = range(8)
COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Walked:
    """Valid frames, one row each. Epoch, first index and count are those of an append record, else 0."""

    rows: Numbers  # [n, COLUMNS]; offsets are bytes of the chunk.
    data: memoryview  # The window the frames lie in …
    base: int  # … and the byte of the chunk where it begins.

    def body(self, row: int) -> memoryview:
        start = int(self.rows[row, OFFSET]) - self.base
        return self.data[start + HEADER.size : start + int(self.rows[row, SIZE])]


def walk(file: File, seed: int, start: int, end: int | None = None) -> Iterator[Walked]:
    """All valid frames from `start` on, up to the first place where there is none, or up to `end`."""
    base, size = start, _WINDOW_SIZE
    while True:
        data = file.read_at(base, size if end is None else max(min(size, end - base), 0))
        rows, used = _walk_window(data, seed)
        if len(rows):
            rows[:, OFFSET] += base
            yield Walked(rows, memoryview(data), base)
            base, size = base + used, _WINDOW_SIZE
            continue
        wanted = stated_size(data, seed)
        if wanted <= len(data) or len(data) < size:
            return  # A bad frame, or the end of the file.
        size = wanted


def _walk_window(data: bytes, seed: int) -> tuple[Numbers, int]:
    """The valid frames at the beginning of `data`, with offsets in it, and how many bytes they are."""
    if kernels is not None:
        found, used = kernels.walk_frames(data, seed)
        offsets = np.frombuffer(found, np.int64)
    else:
        offsets, used = walk_in_python(data, seed)
    return _columns(np.frombuffer(data, np.uint8), offsets), used


def walk_in_python(data: bytes, seed: int) -> tuple[Numbers, int]:
    """Where each valid frame at the beginning of `data` begins, and how many bytes they are."""
    view, mark = memoryview(data), mark_of(seed)
    unpack, total = _PEEK.unpack_from, len(data)
    offsets: list[int] = []
    offset, limit = 0, total - HEADER.size
    while offset <= limit:
        crc, found, size = unpack(data, offset)
        end = offset + _HEADER_SIZE + size
        if end > total or crc32c(view[offset + 4 : end], seed) != crc or found != mark:
            break
        offsets.append(offset)
        offset = end
    return np.array(offsets, np.int64), offset


def _columns(data: npt.NDArray[np.uint8], offsets: Numbers) -> Numbers:
    """The rows of the valid frames at `offsets`."""
    rows = np.zeros((len(offsets), COLUMNS), np.int64)
    rows[:, OFFSET] = offsets
    rows[:, SIZE] = _gather(data, offsets + 8, "<u4") + _HEADER_SIZE
    rows[:, KIND] = data[offsets + 7]
    rows[:, ROUND_START] = _gather(data, offsets + 12, "<u4")
    rows[:, ROUND] = _gather(data, offsets + 16, "<u8")
    appends = np.flatnonzero(
        (rows[:, KIND] == record.APPEND) & (rows[:, SIZE] >= _HEADER_SIZE + record.APPEND_FIXED.size)
    )
    bodies = offsets[appends] + _HEADER_SIZE
    rows[appends, EPOCH] = _gather(data, bodies, "<u8")
    rows[appends, FIRST] = _gather(data, bodies + 8, "<u8")
    rows[appends, COUNT] = _gather(data, bodies + 16, "<u4")
    return rows


def _gather(data: npt.NDArray[np.uint8], offsets: Numbers, dtype: str) -> Numbers:
    """One number at each of the offsets."""
    width = np.dtype(dtype).itemsize
    bytes_ = data[offsets[:, None] + np.arange(width)]
    numbers: Numbers = bytes_.view(dtype)[:, 0].astype(np.int64)
    return numbers
