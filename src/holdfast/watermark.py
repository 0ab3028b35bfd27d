"""One primitive for every wait: a number that only grows.

Acks, long polls, subscriptions and flush waiters all wait for a number to be reached. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import heapq
from functools import partial

_IDLE_NUMBERS_MAX = 16


class Watermark:
    """A number that only grows, and those who wait for it."""

    __slots__ = ("_failure", "_numbers", "_waiters", "value")

    def __init__(self, value: int = 0) -> None:
        self.value = value
        self._failure: Exception | None = None
        self._waiters: dict[int, set[asyncio.Future[None]]] = {}
        self._numbers: list[int] = []  # A heap of the numbers waited for, and of some nobody waits for any more.

    def advance(self, value: int) -> None:
        """Move to `value`, and wake everybody whose number is reached; a lower value changes nothing."""
        if value <= self.value:
            return
        self.value = value
        while self._numbers and self._numbers[0] <= value:
            for waiter in self._waiters.pop(heapq.heappop(self._numbers), ()):
                if not waiter.done():
                    waiter.set_result(None)

    def fail(self, failure: Exception) -> None:
        """It will never move again: everybody who waits is told, and everybody who comes later."""
        self._failure = failure
        waiters, self._waiters, self._numbers = self._waiters, {}, []
        for group in waiters.values():
            for waiter in group:
                if not waiter.done():
                    waiter.set_exception(failure)

    def reached(self, number: int) -> asyncio.Future[None]:
        """Done once the value is at least `number`. Cancel it to stop waiting."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.value >= number:
            waiter.set_result(None)
        elif self._failure is not None:
            waiter.set_exception(self._failure)
        else:
            self._register(number, waiter)
        return waiter

    def _register(self, number: int, waiter: asyncio.Future[None]) -> None:
        group = self._waiters.get(number)
        if group is None:
            group = self._waiters[number] = set()
            heapq.heappush(self._numbers, number)
        group.add(waiter)
        waiter.add_done_callback(partial(self._leave, number))

    def _leave(self, number: int, waiter: asyncio.Future[None]) -> None:
        """Whoever gives up leaves nothing behind, but for a few numbers in the heap."""
        group = self._waiters.get(number)
        if group is None:
            return
        group.discard(waiter)
        if not group:
            del self._waiters[number]
            if len(self._numbers) > 2 * len(self._waiters) + _IDLE_NUMBERS_MAX:
                self._numbers = sorted(self._waiters)
