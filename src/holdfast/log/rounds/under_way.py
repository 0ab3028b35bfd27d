"""The rounds of a life that is writing: which exist, which may be acknowledged, and which may go.

No clock, no store: whoever puts rounds tells what became of them. Belongs to one event loop.
"""

from __future__ import annotations

from collections import deque


class RoundsUnderWay:
    """Numbers from 0 on. Several rounds are under way together, and are counted off in order."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self.next_number = 0
        self.end = 0  # All rounds below it exist: these are acknowledged.
        self._answered: set[int] = set()
        self._needed = 0
        self._told: deque[tuple[int, int]] = deque()  # A round's number, and what it says is needed.
        self._due: deque[tuple[float, int]] = deque()  # When rounds below which number may go.
        self.first = 0  # Those below are deleted.

    @property
    def count(self) -> int:
        """How many are under way."""
        return self.next_number - self.end

    @property
    def unknown(self) -> range:
        """The numbers of which it is not known that they are our rounds, and the next one."""
        return range(self.end, self.next_number + 1)

    @property
    def needed_from(self) -> int:
        """The lowest number that is needed. Every one below exists, or existed."""
        return min(self._needed, self.end)

    def begin(self) -> tuple[int, int]:
        """The next round's number, and what it says is needed."""
        number, needed_from = self.next_number, self.needed_from
        self.next_number += 1
        if needed_from > (self._told[-1][1] if self._told else self._due[-1][1] if self._due else self.first):
            self._told.append((number, needed_from))
        return number, needed_from

    def need_from(self, number: int) -> None:
        """Nothing below this round is needed: it is flushed, or deleted."""
        self._needed = max(self._needed, number)

    def exists(self, number: int, now: float) -> int:
        """A round is there. All below which number are acknowledged."""
        self._answered.add(number)
        while self.end in self._answered:
            self._answered.remove(self.end)
            self.end += 1
        while self._told and self._told[0][0] < self.end:
            self._due.append((now + 2 * self._grace_s, self._told.popleft()[1]))
        return self.end

    def to_delete(self, now: float) -> range:
        """The rounds that may go now."""
        end = self.first
        for due, below in self._due:
            if due > now:
                break
            end = below
        return range(self.first, end)

    def deleted(self, end: int) -> None:
        """Those below are gone."""
        self.first = max(self.first, end)
        while self._due and self._due[0][1] <= self.first:
            self._due.popleft()
