"""Many deadlines, one alarm. Nothing polls: the alarm is set for the earliest deadline, and for no other."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from typing import Protocol

from holdfast.io.clock import Clock

_CLEAN_ABOVE = 64

Due = Callable[[int], None]  # Called with the time, once it is reached.


class Alarm(Protocol):
    """Rings once."""

    def set(self, seconds: float, ring: Callable[[], None]) -> None:
        """Ring after so long, and not when it was to ring before."""

    def stop(self) -> None:
        """Do not ring."""


class LoopAlarm:
    """An alarm of the running event loop."""

    def __init__(self) -> None:
        self._handle: asyncio.TimerHandle | None = None

    def set(self, seconds: float, ring: Callable[[], None]) -> None:
        self.stop()
        self._handle = asyncio.get_running_loop().call_later(seconds, ring)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Timers:
    """What is to be called when. Each callee has one deadline at a time. Times are milliseconds that never go back."""

    def __init__(self, clock: Clock, alarm: Alarm) -> None:
        self._clock = clock
        self._alarm = alarm
        self._heap: list[tuple[int, int, Due]] = []
        self._deadlines: dict[Due, int] = {}
        self._order = count()
        self._set_for: int | None = None
        self._stopped = False

    def now(self) -> int:
        return int(self._clock.monotonic() * 1000)

    def call_at(self, deadline: int | None, due: Due) -> None:
        """Call not later than this; what was said before for the same callee holds if it is earlier."""
        if deadline is None or self._stopped:
            return
        before = self._deadlines.get(due)
        if before is None or deadline < before:
            self._deadlines[due] = deadline
            heapq.heappush(self._heap, (deadline, next(self._order), due))
            self._clean()
            self._set_alarm()

    def forget(self, due: Due) -> None:
        """Do not call any more."""
        self._deadlines.pop(due, None)

    def run_due(self) -> None:
        """Call all whose time has come. The alarm does this; who owns the clock may do it, too."""
        self._set_for = None
        now = self.now()
        try:
            while self._heap and self._heap[0][0] <= now and not self._stopped:
                deadline, _, due = heapq.heappop(self._heap)
                if self._deadlines.get(due) == deadline:  # Else it was forgotten, or said anew.
                    del self._deadlines[due]
                    due(now)
        finally:
            self._set_alarm()

    def stop(self) -> None:
        """Call nobody any more."""
        self._stopped = True
        self._heap.clear()
        self._deadlines.clear()
        self._alarm.stop()

    def _clean(self) -> None:
        """What was forgotten must not pile up."""
        if len(self._heap) > 2 * len(self._deadlines) + _CLEAN_ABOVE:
            self._heap = [each for each in self._heap if self._deadlines.get(each[2]) == each[0]]
            heapq.heapify(self._heap)

    def _set_alarm(self) -> None:
        if self._stopped or not self._heap:
            return
        first = self._heap[0][0]
        if self._set_for is None or first < self._set_for:
            self._set_for = first
            self._alarm.set(max(first - self.now(), 0) / 1000, self.run_due)
