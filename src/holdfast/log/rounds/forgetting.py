"""The end of series that were taken over: forgotten when all of them is flushed, deleted long after."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.log.rounds.series import Series


class Forgotten(NamedTuple):
    """A series, and since when."""

    at: float
    series: Series


class Forgetting:
    """Series are added by one thread, and forgotten by another."""

    def __init__(self) -> None:
        self._due: deque[Series] = deque()
        self._forgotten: deque[Forgotten] = deque()

    def add(self, series: Iterable[Series]) -> None:
        """Nothing of these is needed any more."""
        self._due.extend(series)

    def add_forgotten(self, now: float, series: Series) -> None:
        """This one is forgotten already."""
        self._forgotten.append(Forgotten(now, series))

    def go_on(self, now: float) -> None:
        """Forget those that are due, and delete those that nobody may be reading any more. Blocks."""
        while self._due:
            self._due[0].forget()
            self._forgotten.append(Forgotten(now, self._due.popleft()))
        while self._forgotten and self._forgotten[0].at + 2 * self._forgotten[0].series.grace_s <= now:
            self._forgotten[0].series.sweep()
            self._forgotten.popleft()
