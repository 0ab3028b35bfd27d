"""Where entries are: in which round of our own series, or in a series of a life before that is not forgotten yet.

Entries have indexes, which go on from life to life of one process: those of series that were taken over come first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import NamedTuple

from holdfast.log.rounds.series import Series


class Inherited(NamedTuple):
    """A series of a life before."""

    series: Series
    end: int  # Behind the index of its last entry.


class RoundPlaces:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._inherited: deque[Inherited] = deque()
        self._ends: list[int] = []  # Behind the last index of each round of our own, from `_first` on.
        self._first = 0

    def inherit(self, series: Series, end: int) -> None:
        """Entries below this index, and not of a series before, are in this one."""
        self._inherited.append(Inherited(series, end))

    def add(self, end: int) -> None:
        """Entries below this index, and not of a round before, are in the next round of ours."""
        self._ends.append(end)

    def round_of(self, index: int) -> int:
        """The round of ours that has this entry; the first that we know, or the next, if none has."""
        return self._first + bisect_right(self._ends, index)

    def release(self, index: int) -> list[Series]:
        """Nothing below this entry is needed. The series that may be forgotten for it."""
        gone = self.round_of(index) - self._first
        del self._ends[:gone]
        self._first += gone
        forgotten = []
        while self._inherited and self._inherited[0].end <= index:
            forgotten.append(self._inherited.popleft().series)
        return forgotten
