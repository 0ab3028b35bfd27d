"""The block cache: segments read in aligned blocks, each downloaded once for all who want it, and ahead for readers
that go on where they stopped.

It has two faces. `BlockCache` loads what is not there, and blocks meanwhile; `KeptBlocks` has no store to ask, so an
event loop may use it. Blocks and opened tails share one bound. Segments never change and names are never used again, so
nothing here can be out of date; what turns out to be wrong is dropped, and read again. Views that were handed out live
as long as their users hold them, beside the bound.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Protocol, TypeAlias, TypeVar

from holdfast.errors import Rejected, Unavailable
from holdfast.io.objects import Objects, fill
from holdfast.segment.cached.ahead import AHEAD_COUNT, ReadAhead
from holdfast.segment.cached.block_memory import BlockMemory
from holdfast.segment.cached.lru import ShelfCounters, SingleFlightLru
from holdfast.segment.errors import Damaged

BLOCK_SIZE = 1024 * 1024
_TAIL = -1  # Where an opened tail stands among its segment's blocks.

Value = TypeVar("Value")
_Shelf: TypeAlias = SingleFlightLru[tuple[str, int], Any]


class Blocks(Protocol):
    """Where a window's blocks come from."""

    block_size: int

    def block(self, name: str, size: int, number: int) -> tuple[memoryview, bool]:
        """One block of a segment of `size` bytes, and whether it was there already."""


class BlockCache:
    """Blocks of segments. Calls block; any thread may make them but an event loop's."""

    def __init__(
        self,
        objects: Objects,
        size_max: int,
        *,
        executor: Executor | None = None,
        block_size: int = BLOCK_SIZE,
        ahead_count: int = AHEAD_COUNT,
    ) -> None:
        if size_max < block_size:
            raise Rejected(f"a block cache of {size_max} bytes cannot hold a block of {block_size}")
        self.block_size = block_size
        self._objects = objects
        self._memory = BlockMemory(block_size)
        self._shelf: _Shelf = SingleFlightLru(size_max)
        self.kept = KeptBlocks(self._shelf, block_size)
        has = lambda name, number: self._shelf.has((name, number))  # noqa: E731
        self.ahead = ReadAhead(self._load_ahead, has, executor, block_size, ahead_count)

    def counters(self) -> ShelfCounters:
        return self._shelf.counters()

    def tail(self, name: str, size: int, tail_size: int, decode: Callable[[bytes], Value]) -> Value:
        """A segment's tail, decoded, read with one request; one that is wrong is read once more."""

        def load() -> Value:
            with contextlib.suppress(Damaged):
                return decode(read_whole(self._objects, name, size - tail_size, size))
            return decode(read_whole(self._objects, name, size - tail_size, size))

        value: Value = self._shelf.take((name, _TAIL), tail_size, load)[0]
        return value

    def block(self, name: str, size: int, number: int) -> tuple[memoryview, bool]:
        """One block of a segment of `size` bytes, and whether it was there already."""
        start, end = self._bounds(size, number)
        return self._shelf.take((name, number), end - start, lambda: self._read(name, start, end))

    def _read(self, name: str, start: int, end: int) -> memoryview:
        """What `read_whole` reads, into memory that an earlier block was in, if there is some."""
        block = self._memory.take(end - start)
        got = 0
        while got < len(block):
            more = fill(self._objects, name, start + got, block[got:])
            if not more:
                raise _ended(name, start + got, end)
            got += more
        return block.toreadonly()

    def drop(self, name: str, start: int, end: int) -> None:
        """The bytes `[start, end)` are not what was written: whoever asks for them next, has them read again."""
        for number in range(start // self.block_size, (end - 1) // self.block_size + 1):
            self._shelf.drop((name, number))

    def _bounds(self, size: int, number: int) -> tuple[int, int]:
        start = number * self.block_size
        return start, min(size, start + self.block_size)

    def _load_ahead(self, name: str, size: int, number: int) -> None:
        start, end = self._bounds(size, number)
        with contextlib.suppress(Unavailable, Rejected, Damaged):  # Whoever wants the block meets the failure itself.
            self._shelf.take_ahead((name, number), end - start, lambda: self._read(name, start, end))


class NotKept(Exception):
    """A block is not in memory. Never leaves this package."""


class KeptBlocks:
    """The blocks and tails that are in memory, and no way to any other: for callers that may not wait."""

    def __init__(self, shelf: _Shelf, block_size: int) -> None:
        self._shelf = shelf
        self.block_size = block_size

    def tail(self, name: str) -> Any | None:
        """A segment's tail as it was decoded, if it is here."""
        return self._shelf.peek((name, _TAIL))

    def has_tail(self, name: str) -> bool:
        """Whether it is here; nothing is counted."""
        return self._shelf.has((name, _TAIL))

    def start_of(self, name: str, size: int) -> bytes | None:
        """A segment's first bytes, if they are here; nothing is counted."""
        block = self._shelf.glance((name, 0))
        return None if block is None else bytes(block[:size])

    def block(self, name: str, size: int, number: int) -> tuple[memoryview, bool]:  # noqa: ARG002
        """One block, which is here, or NotKept."""
        block = self._shelf.peek((name, number))
        if block is None:
            raise NotKept
        return block, True


class Window:
    """Bytes of one segment, for one read: blocks are taken when they are needed and held until the read is over."""

    def __init__(self, blocks: Blocks, name: str, size: int) -> None:
        self._blocks = blocks
        self._name = name
        self._size = size
        self.block_size = blocks.block_size
        self._views: dict[int, memoryview] = {}
        self.cached = True  # Whether everything was there already.

    def pieces(self, start: int, end: int) -> list[memoryview]:
        """The bytes `[start, end)` as views of the blocks they lie in."""
        block_size = self.block_size
        found = []
        while start < end:
            number = start // block_size
            stop = min(end, (number + 1) * block_size)
            found.append(self._block(number)[start - number * block_size : stop - number * block_size])
            start = stop
        return found

    def _block(self, number: int) -> memoryview:
        view = self._views.get(number)
        if view is None:
            block, was_there = self._blocks.block(self._name, self._size, number)
            self.cached &= was_there
            view = self._views[number] = memoryview(block)
        return view


def read_whole(objects: Objects, name: str, start: int, end: int) -> bytes:
    """The bytes `[start, end)` of an object that has them: all, or an error."""
    data = objects.get(name, start, end)
    while len(data) < end - start:
        more = objects.get(name, start + len(data), end)
        if not more:
            raise _ended(name, start + len(data), end)
        data += more
    return data


def _ended(name: str, at: int, end: int) -> Damaged:
    return Damaged(name, f"it ends at byte {at}, bytes up to {end} were written")
