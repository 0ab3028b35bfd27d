"""An event loop whose turns are short, however many sockets have something to say.

asyncio's own takes all events that there are into one turn. When thousands of connections end at the same moment, as
when a client's machine goes away, each costs some 50 µs, and everybody else waits for all of them. Here a turn takes a
few, and the system hands out the others next, in order: nobody is passed over.
"""

from __future__ import annotations

import asyncio
import math
import select
import selectors
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TypeVar

SLICE_S = 0.002  # With one, neighbours of large requests wait three times as long (p99 84 to 115 ms, not 30).
AT_ONCE = 32  # Events of one turn: with what follows from them about two milliseconds.

T = TypeVar("T")


def short_turns_loop() -> asyncio.AbstractEventLoop:
    """For `asyncio.Runner`. Where there is no epoll it is asyncio's own."""
    if not hasattr(selectors, "EpollSelector"):
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop(_FewAtOnce())


class _FewAtOnce(selectors.EpollSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As its base does it, but for how many are taken."""
        wait = -1.0 if timeout is None else max(0.0, math.ceil(timeout * 1e3) * 1e-3)
        try:
            found = self._selector.poll(wait, AT_ONCE)  # type: ignore[attr-defined]
        except InterruptedError:
            return []
        keys = self._fd_to_key  # type: ignore[attr-defined]
        return [(key, _kinds(event) & key.events) for number, event in found if (key := keys.get(number)) is not None]


def _kinds(event: int) -> int:
    """Errors and hang-ups wake readers and writers."""
    kinds = 0
    if event & ~select.EPOLLIN:
        kinds |= selectors.EVENT_WRITE
    if event & ~select.EPOLLOUT:
        kinds |= selectors.EVENT_READ
    return kinds


async def a_few_a_turn(items: Sequence[T]) -> AsyncIterator[T]:
    """The items, with the next turn of the loop after every few of them."""
    for number, item in enumerate(items):
        if number and number % AT_ONCE == 0:
            await asyncio.sleep(0)
        yield item


class Pace:
    """How long the event loop has been held by somebody who goes through many items."""

    __slots__ = ("_began", "_now")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._began = now()

    async def through(self, items: Iterable[T]) -> AsyncIterator[T]:
        """The items, one by one, with pauses for others in between. What they come from must not change meanwhile."""
        for item in items:
            if self._now() - self._began > SLICE_S:
                await self.rest()
            yield item

    async def rest(self) -> None:
        """Let everybody else go on now."""
        await asyncio.sleep(0)
        self._began = self._now()
