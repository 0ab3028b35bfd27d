"""The newest payloads in memory: one unbroken run of indexes, bounded by bytes and by count.

Pinned entries stay whatever the bounds say: those not durable yet, and (by a setting) those of the open chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from holdfast.types import Buffer

Payload: TypeAlias = Buffer | tuple[Buffer, ...]

_COMPACT_AT = 4096  # Evicted slots are removed from the list in runs, so that eviction costs no move of the rest.


class PayloadCache:
    """Payloads of the entries `[first, end)`."""

    def __init__(self, size_max: int, entries_max: int) -> None:
        self._size_max = size_max
        self._entries_max = entries_max
        self._payloads: list[Payload | None] = []
        self._head = 0  # Slots before this are evicted.
        self.first = 0
        self.size = 0
        self.pinned_from = 0
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._payloads) - self._head

    @property
    def end(self) -> int:
        return self.first + len(self)

    def add(self, first: int, payloads: Sequence[Payload], size: int) -> None:
        count = len(self._payloads) - self._head
        if not count:
            self.first = first
        assert first == self.first + count, "the cache holds one unbroken run"
        self._payloads += payloads
        self.size += size
        if self.first < self.pinned_from:
            self.evict()

    def get(self, start: int, end: int) -> list[Payload]:
        """The payloads of `[start, end)` as far as they are cached from `start` on."""
        if not self.first <= start < self.end:
            return []
        slot = self._head + start - self.first
        found = self._payloads[slot : slot + end - start]
        self.hits += len(found)
        return found  # type: ignore[return-value]  # Live slots are never None.

    def end_of_miss(self, start: int, end: int) -> int:
        """Where in `[start, end)`, which begins with a miss, the cached entries begin, or `end`."""
        return min(end, self.first) if len(self) and start < self.first else end

    def evict(self) -> None:
        """Drop the oldest unpinned payloads until the bounds hold."""
        while (self.size > self._size_max or len(self) > self._entries_max) and self.first < self.pinned_from:
            if not len(self):
                return
            self._drop_first()

    def drain_evictable(self) -> int:
        """Drop every unpinned payload; the number dropped."""
        count = 0
        while len(self) and self.first < self.pinned_from:
            self._drop_first()
            count += 1
        return count

    def _drop_first(self) -> None:
        self.size -= payload_size(self._payloads[self._head])  # type: ignore[arg-type]  # Live slots are never None.
        self._payloads[self._head] = None
        self._head += 1
        self.first += 1
        if self._head >= _COMPACT_AT and self._head * 2 >= len(self._payloads):
            del self._payloads[: self._head]
            self._head = 0

    def truncate(self, index: int) -> None:
        """Drop the payloads from `index` on."""
        keep = max(index - self.first, 0)
        if keep < len(self):
            for payload in self._payloads[self._head + keep :]:
                self.size -= payload_size(payload)  # type: ignore[arg-type]  # Live slots are never None.
            del self._payloads[self._head + keep :]

    def forget_below(self, index: int) -> None:
        """Drop the payloads below `index`: they are purged."""
        while len(self) and self.first < index:
            self._drop_first()


def payload_size(payload: Payload) -> int:
    return sum(map(len, payload)) if isinstance(payload, tuple) else len(payload)
