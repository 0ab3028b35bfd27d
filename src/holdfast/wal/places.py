"""Where the entries of one chunk are: one place for each append record, in arrays of plain numbers."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple


class Place(NamedTuple):
    """One append record in a chunk: the index of its first entry, and its frame's bytes."""

    first_index: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


class Places:
    """The append records of a chunk in the order of their indexes. A place ends where the next one begins."""

    __slots__ = ("_first", "_offset", "_size")

    def __init__(self) -> None:
        self._first = array("Q")
        self._offset = array("Q")
        self._size = array("Q")

    def __len__(self) -> int:
        return len(self._first)

    def add(self, first_index: int, offset: int, size: int) -> None:
        self._first.append(first_index)
        self._offset.append(offset)
        self._size.append(size)

    def extend(self, first_index: bytes, offset: bytes, size: bytes) -> None:
        """Add many places at once, given as columns of unsigned 64-bit numbers."""
        self._first.frombytes(first_index)
        self._offset.frombytes(offset)
        self._size.frombytes(size)

    def number_of(self, index: int) -> int:
        """Which place holds `index`; -1 when it lies before the first one."""
        return bisect_right(self._first, index) - 1

    def __getitem__(self, number: int) -> Place:
        return Place(self._first[number], self._offset[number], self._size[number])

    def truncate(self, index: int) -> None:
        """Forget the places that begin at `index` or above."""
        keep = bisect_left(self._first, index)
        del self._first[keep:], self._offset[keep:], self._size[keep:]

    def clear(self) -> None:
        del self._first[:], self._offset[:], self._size[:]

    @property
    def first_index(self) -> int | None:
        return self._first[0] if self._first else None
