"""One primitive for every wait: a number that only grows.

Acks, long polls, subscriptions and flush waiters all wait for a number to be reached. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

_IDLE_NUMBERS_MAX = 16

Reached: TypeAlias = Callable[[Exception | None], None]  # Called with None, or with why it never will be.


class Watermark:
    """A number that only grows, and those who wait for it."""

    __slots__ = ("_called", "_calls", "_failure", "_numbers", "_waiters", "value")

    def __init__(self, value: int = 0) -> None:
        self.value = value
        self._failure: Exception | None = None
        self._waiters: dict[int, set[asyncio.Future[None]]] = {}
        self._numbers: list[int] = []  # A heap of the numbers waited for, and of some nobody waits for any more.
        self._calls: list[tuple[int, int, Reached]] = []  # A heap: the number, which of its equals, whom to call.
        self._called = 0

    def advance(self, value: int) -> None:
        """Move to `value`, and wake everybody whose number is reached; a lower value changes nothing."""
        if value <= self.value:
            return
        self.value = value
        while self._numbers and self._numbers[0] <= value:
            for waiter in self._waiters.pop(heapq.heappop(self._numbers), ()):
                if not waiter.done():
                    waiter.set_result(None)
        while self._calls and self._calls[0][0] <= value:
            _call(heapq.heappop(self._calls)[2], None)

    def fail(self, failure: Exception) -> None:
        """It will never move again: everybody who waits is told, and everybody who comes later."""
        self._failure = failure
        waiters, self._waiters, self._numbers = self._waiters, {}, []
        for group in waiters.values():
            for waiter in group:
                if not waiter.done():
                    waiter.set_exception(failure)
        calls, self._calls = sorted(self._calls, key=lambda each: each[:2]), []
        for _, _, call in calls:
            _call(call, failure)

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

    def when(self, number: int, call: Reached) -> bool:
        """Be called once the value is at least `number`; False, with no call, if it is already.

        For whoever waits so often that a future for each would cost too much: the call comes from `advance` itself, so
        it must be short, and change nothing of what moves the number.
        """
        if self.value >= number:
            return False
        if self._failure is not None:
            _call(call, self._failure)
        else:
            self._called += 1
            heapq.heappush(self._calls, (number, self._called, call))
        return True

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


def _call(call: Reached, failure: Exception | None) -> None:
    try:
        call(failure)
    except Exception as mistake:  # One caller's mistake must not keep the news from the others.
        told = {"message": "who waited for a number has failed", "exception": mistake}
        asyncio.get_running_loop().call_exception_handler(told)
