"""A bounded store of loaded values: the least recently used go first, and many who want one value load it once.

The bound holds at every moment and counts what is being loaded. A load that finds no room waits for another to end;
one that fails is passed to everybody who waits for it, and is not kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass
class ShelfCounters:
    """What happened so far, and what is held now."""

    hits: int = 0  # Was there.
    misses: int = 0  # Loaded for the one who asked.
    coalesced: int = 0  # Waited for a load that was under way.
    ahead: int = 0  # Loaded before anybody asked.
    failed: int = 0
    evicted: int = 0
    size: int = 0  # Bytes kept and being loaded.
    size_max_seen: int = 0


class SingleFlightLru(Generic[Key, Value]):
    """Values by key, each with a size, together never more than `size_max`. Any thread may call."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._changed = threading.Condition()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._loading: dict[Key, Future[Value]] = {}
        self._counters = ShelfCounters()

    def counters(self) -> ShelfCounters:
        with self._changed:
            return ShelfCounters(**vars(self._counters))

    def has(self, key: Key) -> bool:
        """Whether a value is there or on its way."""
        with self._changed:
            return key in self._kept or key in self._loading

    def peek(self, key: Key) -> Value | None:
        """The value if it is there: nothing is loaded, and nobody waited for."""
        with self._changed:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            self._counters.hits += 1
            return self._kept[key][0]

    def glance(self, key: Key) -> Value | None:
        """The same, for who only looks: nothing is counted, and it is kept no longer for it."""
        with self._changed:
            found = self._kept.get(key)
            return None if found is None else found[0]

    def drop(self, key: Key) -> None:
        """Let a value go that has turned out to be wrong. One that is on its way is not touched."""
        with self._changed:
            if key in self._kept:
                self._counters.size -= self._kept.pop(key)[1]
                self._changed.notify_all()

    def take(self, key: Key, size: int, load: Callable[[], Value]) -> tuple[Value, bool]:
        """The value, and whether it was there already. One larger than the whole shelf is loaded and not kept."""
        if size > self._size_max:
            return load(), False
        with self._changed:
            while True:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    self._counters.hits += 1
                    return self._kept[key][0], True
                if key in self._loading:
                    self._counters.coalesced += 1
                    pending = self._loading[key]
                    break
                if self._reserve(key, size):
                    self._counters.misses += 1
                    return self._load(key, size, load), False
                self._changed.wait()  # Everything is being loaded: some of it will be there soon, or fail.
        return pending.result(), False

    def take_ahead(self, key: Key, size: int, load: Callable[[], Value]) -> None:
        """Load a value nobody waits for yet, unless it is there or on its way or there is no room at once."""
        with self._changed:
            if size > self._size_max or key in self._kept or key in self._loading or not self._reserve(key, size):
                return
            self._counters.ahead += 1
            self._load(key, size, load)

    def _reserve(self, key: Key, size: int) -> bool:
        """Make room by letting old values go. With the lock held."""
        counters = self._counters
        while counters.size + size > self._size_max and self._kept:
            _, (_, freed) = self._kept.popitem(last=False)
            counters.size -= freed
            counters.evicted += 1
        if counters.size + size > self._size_max:
            return False
        counters.size += size
        counters.size_max_seen = max(counters.size_max_seen, counters.size)
        self._loading[key] = Future()
        return True

    def _load(self, key: Key, size: int, load: Callable[[], Value]) -> Value:
        """Load what room was made for. With the lock held, which it lets go meanwhile."""
        self._changed.release()
        try:
            value = load()
        except BaseException as failure:
            self._changed.acquire()
            self._counters.size -= size
            self._counters.failed += 1
            self._loading.pop(key).set_exception(failure)
            self._changed.notify_all()
            raise
        self._changed.acquire()
        self._kept[key] = (value, size)
        self._loading.pop(key).set_result(value)
        self._changed.notify_all()
        return value
