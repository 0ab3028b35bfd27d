"""Where the entries of one chunk are: one place for each append record, in columns as narrow as their numbers allow.

The newest places are in plain arrays; each full set of them is packed. So a place costs a few bytes: with small entries
a log has tens of millions of them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

from holdfast.wal.chunks import columns

_PACK_COUNT = 512
_PACK_SIZE = 64  # Bytes of a pack besides its columns.


class FrameRange(NamedTuple):
    """One append record in a chunk: the index of its first entry, and its frame's bytes."""

    first_index: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


class FrameIndex:
    """The append records of a chunk in the order of their indexes. A place ends where the next one begins."""

    __slots__ = ("_first", "_offset", "_pack_first", "_packs", "_size", "_unpacked", "memory_size")

    def __init__(self) -> None:
        self._pack_first = array("Q")  # The first index of each pack.
        self._packs: list[tuple[int, bytes]] = []  # The first offset of each pack, and its columns.
        self._unpacked: tuple[int, list[int], list[int], list[int]] | None = None  # The last pack that was looked at.
        self._first = array("Q")
        self._offset = array("Q")
        self._size = array("Q")
        self.memory_size = 0  # Bytes that the packs take, about.

    def __len__(self) -> int:
        return len(self._packs) * _PACK_COUNT + len(self._first)

    def add(self, first_index: int, offset: int, size: int) -> None:
        self._first.append(first_index)
        self._offset.append(offset)
        self._size.append(size)
        if len(self._first) == _PACK_COUNT:
            self._pack()

    def extend(self, first_index: bytes, offset: bytes, size: bytes) -> None:
        """Add many places at once, given as columns of unsigned 64-bit numbers."""
        step = _PACK_COUNT * self._first.itemsize
        at = 0
        while at < len(first_index):
            end = at + step - len(self._first) * self._first.itemsize
            self._first.frombytes(first_index[at:end])
            self._offset.frombytes(offset[at:end])
            self._size.frombytes(size[at:end])
            at = end
            if len(self._first) == _PACK_COUNT:
                self._pack()

    def _pack(self) -> None:
        first, offset, size = self._first, self._offset, self._size
        packed = columns.pack(
            (
                [index - before for index, before in zip(first, [first[0], *first], strict=False)],
                [at - before for at, before in zip(offset, [offset[0], *offset], strict=False)],
                size,
            )
        )
        self._pack_first.append(first[0])
        self._packs.append((offset[0], packed))
        self.memory_size += _PACK_SIZE + len(packed)
        del first[:], offset[:], size[:]

    def _unpack(self, pack: int) -> tuple[int, list[int], list[int], list[int]]:
        if self._unpacked is None or self._unpacked[0] != pack:
            start, packed = self._packs[pack]
            steps, distances, sizes = columns.unpack(packed, _PACK_COUNT)
            first = list(accumulate(steps, initial=self._pack_first[pack]))[1:]
            offset = list(accumulate(distances, initial=start))[1:]
            self._unpacked = pack, first, offset, list(sizes)
        return self._unpacked

    def number_of(self, index: int) -> int:
        """Which place holds `index`; -1 when it lies before the first one."""
        if self._first and index >= self._first[0]:
            return len(self._packs) * _PACK_COUNT + bisect_right(self._first, index) - 1
        pack = bisect_right(self._pack_first, index) - 1
        if pack < 0:
            return -1
        return pack * _PACK_COUNT + bisect_right(self._unpack(pack)[1], index) - 1

    def __getitem__(self, number: int) -> FrameRange:
        pack, at = divmod(number, _PACK_COUNT)
        if pack < len(self._packs):
            _, first, offset, size = self._unpack(pack)
            return FrameRange(first[at], offset[at], size[at])
        return FrameRange(self._first[at], self._offset[at], self._size[at])

    def truncate(self, index: int) -> None:
        """Forget the places that begin at `index` or above."""
        while self._packs and (not self._first or self._first[0] >= index):
            del self._first[:], self._offset[:], self._size[:]
            _, first, offset, size = self._unpack(len(self._packs) - 1)
            self._first.extend(first)
            self._offset.extend(offset)
            self._size.extend(size)
            self.memory_size -= _PACK_SIZE + len(self._packs.pop()[1])
            self._pack_first.pop()
            self._unpacked = None
        keep = bisect_left(self._first, index)
        del self._first[keep:], self._offset[keep:], self._size[keep:]

    def clear(self) -> None:
        del self._first[:], self._offset[:], self._size[:], self._pack_first[:], self._packs[:]
        self._unpacked = None
        self.memory_size = 0

    @property
    def first_index(self) -> int | None:
        if self._pack_first:
            return self._pack_first[0]
        return self._first[0] if self._first else None
