"""Trying again while the answer is "not now": with growing pauses, until patience ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from holdfast.client.errors import TransactionLost
from holdfast.errors import Unavailable
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock

T = TypeVar("T")

_PAUSE_S_FIRST = 0.02
_PAUSE_S_MAX = 1.0


class Patience:
    """How long to try, and how long to wait in between."""

    def __init__(self, seconds: float, clock: Clock | None = None, chance: Chance | None = None) -> None:
        self._seconds = seconds
        self._clock = clock or SystemClock()
        self._chance = chance or SystemChance()

    def trying(self, work: Callable[[], T], before_next: Callable[[], None]) -> T:
        """Do it until it is not Unavailable any more; a repeat must do no harm. The last failure is raised."""
        end = self._clock.monotonic() + self._seconds
        pause = _PAUSE_S_FIRST
        while True:
            try:
                return work()
            except TransactionLost:
                raise  # The same request again cannot help.
            except Unavailable:
                if self._clock.monotonic() + pause > end:
                    raise
            before_next()
            threading.Event().wait(pause * (0.5 + self._chance.fraction() / 2))
            pause = min(2 * pause, _PAUSE_S_MAX)
