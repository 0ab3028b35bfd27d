"""Trying again while the answer is "not now": with growing pauses, until patience ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from holdfast.client.errors import TransactionLost
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock

T = TypeVar("T")
OnWait: TypeAlias = Callable[[HoldfastError, float], None]  # Why, and for how many seconds at most.

_PAUSE_S_FIRST = 0.02
_PAUSE_S_MAX = 1.0


class RetryPolicy:
    """How long to try, and how long to wait in between."""

    def __init__(
        self,
        seconds: float,
        clock: Clock | None = None,
        chance: Chance | None = None,
        on_wait: OnWait | None = None,
    ) -> None:
        self._seconds = seconds
        self._on_wait = on_wait
        self._clock = clock or SystemClock()
        self._chance = chance or SystemChance()

    def trying(
        self,
        work: Callable[[], T],
        before_next: Callable[[], None],
        on: tuple[type[HoldfastError], ...] = (Unavailable,),
        is_told: Callable[[HoldfastError], bool] = lambda failure: True,  # noqa: ARG005
    ) -> T:
        """Do it until it is not Unavailable any more, or not one of `on`; a repeat must do no harm. The last failure
        is raised. Of those that `is_told` lets through the first is told."""
        end = self._clock.monotonic() + self._seconds
        pause, has_told = _PAUSE_S_FIRST, False
        while True:
            try:
                return work()
            except TransactionLost:
                raise  # The same request again cannot help.
            except on as failure:
                if self._clock.monotonic() + pause > end:
                    raise
                if self._on_wait is not None and not has_told and is_told(failure):
                    has_told = True
                    self._on_wait(failure, self._seconds)
            before_next()
            threading.Event().wait(pause * (0.5 + self._chance.fraction() / 2))
            pause = min(2 * pause, _PAUSE_S_MAX)
