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
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

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
