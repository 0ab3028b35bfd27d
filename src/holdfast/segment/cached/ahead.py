"""Blocks loaded before anybody asks for them, for readers that go on where they stopped."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor

AHEAD_COUNT = 4
_EXPECTED_MAX = 4096  # Places where sequential readers may go on.


class ReadAhead:
    """Hands loads to an executor and never makes one itself, so that an event loop may ask for them.

    The executor may be the one that readers run in, since nobody ever waits for a load that has not begun.
    """

    def __init__(
        self,
        load: Callable[[str, int, int], None],
        has: Callable[[str, int], bool],
        executor: Executor | None,
        block_size: int,
        count: int = AHEAD_COUNT,
    ) -> None:
        """`load` loads a block of a segment of some size; `has` says that it is there or on its way."""
        self._load = load
        self._has = has
        self._executor = executor
        self._block_size = block_size
        self._count = count
        self._lock = threading.Lock()
        self._queued: set[tuple[str, int]] = set()  # Blocks whose load is asked for but has not begun.
        self._expected: OrderedDict[tuple[str, int], None] = OrderedDict()

    def ask(self, name: str, size: int, start: int, wanted: int, *, sequential: bool = False) -> None:
        """Someone reads about `wanted` bytes from `start` on: load them together, and more for a sequential reader,
        one that says so, or that goes on where a read ended."""
        first = start // self._block_size
        last = min(size - 1, start + max(0, wanted)) // self._block_size
        with self._lock:
            expected = (name, first) in self._expected
        if sequential or expected:
            last = min((size - 1) // self._block_size, last + self._count)
        for number in range(first + 1, min(last, first + 2 * self._count) + 1):
            self._submit(name, size, number)

    def expect(self, name: str, position: int) -> None:
        """A reader will probably go on here."""
        with self._lock:
            self._expected[(name, position // self._block_size)] = None
            if len(self._expected) > _EXPECTED_MAX:
                self._expected.popitem(last=False)

    def _submit(self, name: str, size: int, number: int) -> None:
        key = (name, number)
        with self._lock:
            full = len(self._queued) >= 16 * self._count
            if self._executor is None or full or key in self._queued or self._has(name, number):
                return
            self._queued.add(key)
        try:
            self._executor.submit(self._run, name, size, number)
        except RuntimeError:  # The executor is shut down: whoever wants the block loads it.
            with self._lock:
                self._queued.discard(key)

    def _run(self, name: str, size: int, number: int) -> None:
        with self._lock:
            self._queued.discard((name, number))
        self._load(name, size, number)
