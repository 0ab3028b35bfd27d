"""Which partitions of a fetch have moved since they were last read: the work of a wake-up is that of what moved.

A partition tells each listener once, at its next movement; whoever reads it again listens again. So a session whose
client is gone costs a produce request nothing after the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from holdfast.log.partition.partition import PartitionLog

TopicKey: TypeAlias = str | bytes  # A name or, from version 13 on, an id.
PartitionKey: TypeAlias = tuple[TopicKey, int]


class FetchWatch:
    """The partitions of one fetch, or of one session, and those of them that are to be read."""

    __slots__ = ("_followed", "_waiter", "moved")

    def __init__(self) -> None:
        self.moved: dict[PartitionKey, None] = {}  # In the order in which they are to be read.
        self._followed: dict[PartitionKey, tuple[PartitionLog, Callable[[], None]]] = {}
        self._waiter: asyncio.Future[None] | None = None

    def follow(self, key: PartitionKey, partition: PartitionLog) -> None:
        """Hear of the partition's next movement. To be called before it is read, so that nothing happens unnoticed."""
        followed = self._followed.get(key)
        if followed is None or followed[0] is not partition:
            if followed is not None:
                self.leave(key)
            followed = self._followed[key] = (partition, partial(self.note, key))
        partition.listeners.add(followed[1])

    def note(self, key: PartitionKey) -> None:
        """A partition is to be read."""
        self.moved[key] = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def leave(self, key: PartitionKey) -> None:
        """A partition is of no interest any more."""
        self.moved.pop(key, None)
        followed = self._followed.pop(key, None)
        if followed is not None:
            followed[0].listeners.discard(followed[1])

    def close(self) -> None:
        for partition, listener in self._followed.values():
            partition.listeners.discard(listener)
        self._followed.clear()
        self.moved.clear()

    async def wait(self, timeout: float) -> None:
        """Wait until something has moved, or until the time is over."""
        if self.moved:
            return
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        timer = loop.call_later(timeout, _end, waiter)  # `wait_for` takes as long as all the rest.
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None


def _end(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
