"""What waits to be flushed, in the orders in which it may become due. Nothing here walks over all partitions.

Both orders are kept loosely and put right where they are looked at, so that an append costs next to nothing:
the first entry of a tail only moves on, so a place that is too early is corrected when it comes to the front; and sizes
are sorted by their powers of two.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Oldest(Generic[T]):
    """Items by a number that only grows, such as the first entry that a tail needs; None takes an item out."""

    def __init__(self, number_of: Callable[[T], int | None]) -> None:
        self._number_of = number_of
        self._heap: list[tuple[int, int, T]] = []
        self._listed: set[T] = set()
        self._added = 0  # Tells equal numbers apart, so that items are never compared.

    def __len__(self) -> int:
        """How many are listed; some of them may have left without a word."""
        return len(self._listed)

    def add(self, item: T) -> None:
        """List an item, unless it is listed already or has no number."""
        if item in self._listed or (number := self._number_of(item)) is None:
            return
        self._listed.add(item)
        self._added += 1
        heapq.heappush(self._heap, (number, self._added, item))

    def first(self) -> T | None:
        """The item with the lowest number."""
        heap = self._heap
        while heap:
            noted, added, item = heap[0]
            number = self._number_of(item)
            if number is None:
                heapq.heappop(heap)
                self._listed.discard(item)
            elif number > noted:
                heapq.heapreplace(heap, (number, added, item))
            else:
                return item
        return None

    def lowest(self) -> int | None:
        """The lowest number."""
        item = self.first()
        return None if item is None else self._number_of(item)


class Largest(Generic[T]):
    """Items by size, to within a factor of two; of those that are alike, the one that came first."""

    def __init__(self, size_of: Callable[[T], int]) -> None:
        self._size_of = size_of
        self._rank_of: dict[T, int] = {}
        self._ranks: list[dict[T, None]] = [{}]

    def note(self, item: T) -> None:
        """An item's size may have changed."""
        rank, before = self._size_of(item).bit_length(), self._rank_of.get(item, 0)
        if rank == before:
            return
        if before:
            del self._ranks[before][item], self._rank_of[item]
        if rank:
            while len(self._ranks) <= rank:
                self._ranks.append({})
            self._rank_of[item] = rank
            self._ranks[rank][item] = None

    def __iter__(self) -> Iterator[T]:
        """The largest first. Items may be noted meanwhile: each is given once at most in a rank."""
        for rank in range(len(self._ranks) - 1, 0, -1):
            for item in list(self._ranks[rank]):
                self.note(item)  # It may have shrunk without a word.
                if self._rank_of.get(item) == rank:
                    yield item

    def first(self) -> T | None:
        """The largest one."""
        for rank in range(len(self._ranks) - 1, 0, -1):
            while self._ranks[rank]:
                item = next(iter(self._ranks[rank]))
                self.note(item)
                if self._rank_of.get(item) == rank:
                    return item
        return None


class Soonest(Generic[T]):
    """Items by a time at which each is due, which may come nearer and go away; None takes an item out."""

    def __init__(self, due_of: Callable[[T], float | None]) -> None:
        self._due_of = due_of
        self._heap: list[tuple[float, int, T]] = []
        self._noted: dict[T, float] = {}
        self._added = 0  # Tells equal times apart, so that items are never compared.

    def __len__(self) -> int:
        return len(self._noted)

    def note(self, item: T) -> bool:
        """An item's time may have come nearer; whether it is the first one now."""
        due = self._due_of(item)
        if due is None or due >= self._noted.get(item, float("inf")):
            return False
        self._push(item, due)
        return self._heap[0][2] is item

    def first(self) -> tuple[float, T] | None:
        """The item that is due first, and when."""
        heap = self._heap
        while heap:
            noted, _, item = heap[0]
            if self._noted.get(item) != noted:  # It came nearer, and is listed again.
                heapq.heappop(heap)
                continue
            due = self._due_of(item)
            if due is not None and due <= noted:
                return due, item
            heapq.heappop(heap)
            del self._noted[item]
            if due is not None:
                self._push(item, due)
        return None

    def _push(self, item: T, due: float) -> None:
        self._added += 1
        self._noted[item] = due
        heapq.heappush(self._heap, (due, self._added, item))
