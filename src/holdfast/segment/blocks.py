"""The block cache: segments read in aligned blocks, each downloaded once for all who want it, and ahead for readers
that go on where they stopped.

Blocks and opened tails share one bound. Segments never change and names are never used again, so nothing here can be
out of date. Views that were handed out live as long as their users hold them, beside the bound.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from holdfast.errors import Rejected, Unavailable
from holdfast.io.objects import Objects
from holdfast.segment.errors import Damaged
from holdfast.segment.shelf import Shelf, ShelfCounters

BLOCK_SIZE = 1024 * 1024
AHEAD_COUNT = 4
_EXPECTED_MAX = 4096  # Places where sequential readers may go on.

Value = TypeVar("Value")


class BlockCache:
    """Blocks of segments. Calls block; any thread may make them.

    `executor` loads ahead; it may be the one the callers run in, since nobody ever waits for a load that has not begun.
    """

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
        self._shelf: Shelf[tuple[str, int], Any] = Shelf(size_max)
        self._executor = executor
        self._ahead_count = ahead_count
        self._lock = threading.Lock()
        self._queued: set[tuple[str, int]] = set()  # Blocks whose load ahead is asked for but has not begun.
        self._expected: OrderedDict[tuple[str, int], None] = OrderedDict()

    def counters(self) -> ShelfCounters:
        return self._shelf.counters()

    def tail(self, name: str, size: int, tail_size: int, decode: Callable[[bytes], Value]) -> Value:
        """A segment's tail, decoded, read with one request."""
        load = lambda: decode(read_whole(self._objects, name, size - tail_size, size))  # noqa: E731
        value: Value = self._shelf.take((name, -1), tail_size, load)[0]
        return value

    def block(self, name: str, size: int, number: int) -> tuple[bytes, bool]:
        """One block of a segment of `size` bytes, and whether it was there already."""
        start = number * self.block_size
        end = min(size, start + self.block_size)
        return self._shelf.take((name, number), end - start, lambda: read_whole(self._objects, name, start, end))

    def keeps_tail(self, name: str) -> bool:
        """Whether a segment's tail is here."""
        return self._shelf.keeps([(name, -1)])

    def keeps(self, name: str, size: int, start: int, wanted: int) -> bool:
        """Whether the blocks of `wanted` bytes from `start` on are here."""
        last = min(size - 1, start + max(0, wanted)) // self.block_size
        return self._shelf.keeps((name, number) for number in range(start // self.block_size, last + 1))

    def window(self, name: str, size: int, start: int, wanted: int, *, sequential: bool = False) -> Window:
        """A segment's bytes from `start` on. About `wanted` are loaded together, and more for a sequential reader:
        one that says so, or that goes on where a read ended."""
        first = start // self.block_size
        last = min(size - 1, start + max(0, wanted)) // self.block_size
        with self._lock:
            expected = (name, first) in self._expected
        if sequential or expected:
            last = min((size - 1) // self.block_size, last + self._ahead_count)
        for number in range(first + 1, min(last, first + 2 * self._ahead_count) + 1):
            self._load_ahead(name, size, number)
        return Window(self, name, size)

    def expect(self, name: str, position: int) -> None:
        """A reader will probably go on here."""
        with self._lock:
            self._expected[(name, position // self.block_size)] = None
            if len(self._expected) > _EXPECTED_MAX:
                self._expected.popitem(last=False)

    def _load_ahead(self, name: str, size: int, number: int) -> None:
        key = (name, number)
        with self._lock:
            full = len(self._queued) >= 16 * self._ahead_count
            if self._executor is None or full or key in self._queued or self._shelf.has(key):
                return
            self._queued.add(key)
        try:
            self._executor.submit(self._run_ahead, name, size, number)
        except RuntimeError:  # The executor is shut down: whoever wants the block loads it.
            with self._lock:
                self._queued.discard(key)

    def _run_ahead(self, name: str, size: int, number: int) -> None:
        with self._lock:
            self._queued.discard((name, number))
        start = number * self.block_size
        end = min(size, start + self.block_size)
        with contextlib.suppress(Unavailable, Rejected, Damaged):  # Whoever wants the block meets the failure itself.
            self._shelf.take_ahead((name, number), end - start, lambda: read_whole(self._objects, name, start, end))


class Window:
    """Bytes of one segment, for one read: blocks are loaded when they are needed and held until the read is over."""

    def __init__(self, cache: BlockCache, name: str, size: int) -> None:
        self._cache = cache
        self._name = name
        self._size = size
        self.block_size = cache.block_size
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
            block, was_there = self._cache.block(self._name, self._size, number)
            self.cached &= was_there
            view = self._views[number] = memoryview(block)
        return view


def read_whole(objects: Objects, name: str, start: int, end: int) -> bytes:
    """The bytes `[start, end)` of an object that has them: all, or an error."""
    data = objects.get(name, start, end)
    while len(data) < end - start:
        more = objects.get(name, start + len(data), end)
        if not more:
            raise Damaged(name, f"it ends at byte {start + len(data)}, bytes up to {end} were written")
        data += more
    return data
