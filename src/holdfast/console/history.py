"""An hour of the few series that pages show, five seconds apart, in lists of fixed size."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

EVERY_S: Final = 5.0
KEPT: Final = 720  # Points: an hour.


class History:
    """Counters become what they grew by in a second; other figures stay as they are. `None`: not known."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._times = array("d")
        self._series: dict[str, array[float]] = {}
        self._before: dict[str, float] = {}

    def add(self, counters: Mapping[str, float], figures: Mapping[str, float]) -> None:
        """The next point."""
        now = self._now_ms()
        passed_s = (now - self._times[-1]) / 1000 if self._times else 0.0
        grown = {
            name: (value - self._before[name]) / passed_s if name in self._before and passed_s > 0 else float("nan")
            for name, value in counters.items()
        }
        self._before = dict(counters)
        self._times.append(now)
        for name, value in {**grown, **figures}.items():
            series = self._series.setdefault(name, array("d", [float("nan")] * (len(self._times) - 1)))
            series.append(value)
        for each in (self._times, *self._series.values()):
            del each[:-KEPT]

    def shown(self, *names: str) -> dict[str, list[float | None]]:
        """Points of some series, and when each was taken."""
        shown: dict[str, list[float | None]] = {"at_ms": list(self._times)}
        for name in names:
            shown[name] = [None if value != value else round(value, 6) for value in self._series.get(name, ())]
        return shown

    def last(self, name: str) -> float | None:
        """The newest point of a series, if it is known."""
        series = self._series.get(name)
        return None if not series or series[-1] != series[-1] else series[-1]

    async def follow(self, look: Callable[[], Awaitable[tuple[Mapping[str, float], Mapping[str, float]]]]) -> None:
        """Look, again and again."""
        while True:
            self.add(*await look())
            await asyncio.sleep(EVERY_S)
