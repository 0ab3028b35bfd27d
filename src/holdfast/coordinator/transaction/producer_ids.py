"""Producer ids: taken in blocks, handed out one by one, never repeated.

A block is durable before its first id is handed out. What is left of a block at a stop is never used. The next block is
taken before it is needed, so that new producers do not wait for a store that is away.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from holdfast.errors import HoldfastError

log = logging.getLogger(__name__)

BLOCK_SIZE = 1000
_RETRY_S_MIN = 1.0
_RETRY_S_MAX = 30.0


class IdBlocks(Protocol):
    """Where blocks of ids come from."""

    async def take(self, count: int) -> int:
        """The first of `count` ids in a row that nobody ever got or will get. Durable on return."""


class ProducerIds:
    """Belongs to one event loop."""

    def __init__(self, blocks: IdBlocks, block_size: int = BLOCK_SIZE, *, given_end: int = 0) -> None:
        """Ids below `given_end` may have been handed out already."""
        self._blocks = blocks
        self._block_size = block_size
        self._next = self._end = given_end
        self._spare: int | None = None  # Where a block begins that nobody has had an id of.
        self._taking = asyncio.Lock()
        self._is_short = asyncio.Event()  # A spare block should be taken.
        self._is_short.set()

    @property
    def given_end(self) -> int:
        """Ids below this may have been handed out; no other was."""
        return self._next

    @property
    def left(self) -> int:
        """How many can be handed out without asking anybody."""
        return self._end - self._next + (0 if self._spare is None else self._block_size)

    async def next(self) -> int:
        """An id that no producer ever had."""
        while self._next == self._end:
            async with self._taking:
                if self._next == self._end:  # Somebody else may have taken a block while we waited.
                    start = self._spare if self._spare is not None else await self._take()
                    self._next, self._end, self._spare = start, start + self._block_size, None
        self._next += 1
        if self.left <= self._block_size // 2:
            self._is_short.set()
        return self._next - 1

    async def _take(self) -> int:
        return await self._blocks.take(self._block_size)

    async def keep_spare(self, pause: Callable[[float], Awaitable[None]]) -> None:
        """Take blocks before they are needed, from now on; for a task of its own, which the caller cancels."""
        retry_s = _RETRY_S_MIN
        while True:
            await self._is_short.wait()
            try:
                async with self._taking:
                    if self._spare is None:
                        self._spare = await self._take()
                self._is_short.clear()
                retry_s = _RETRY_S_MIN
            except HoldfastError as failure:
                level = logging.WARNING if retry_s == _RETRY_S_MIN else logging.DEBUG  # Once, until it works again.
                log.log(level, "no block of producer ids can be taken, %d are left: %s", self.left, failure)
                await pause(retry_s)
                retry_s = min(2 * retry_s, _RETRY_S_MAX)
