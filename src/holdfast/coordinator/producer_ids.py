"""Producer ids: taken in blocks, handed out one by one, never repeated.

A block is durable before its first id is handed out. What is left of a block at a stop is never used.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

BLOCK_SIZE = 1000


class Blocks(Protocol):
    """Where blocks of ids come from."""

    async def take(self, count: int) -> int:
        """The first of `count` ids in a row that nobody ever got or will get. Durable on return."""


class ProducerIds:
    """Belongs to one event loop."""

    def __init__(self, blocks: Blocks, block_size: int = BLOCK_SIZE, *, given_end: int = 0) -> None:
        """Ids below `given_end` may have been handed out already."""
        self._blocks = blocks
        self._block_size = block_size
        self._next = self._end = given_end
        self._taking = asyncio.Lock()

    @property
    def given_end(self) -> int:
        """Ids below this may have been handed out; no other was."""
        return self._next

    async def next(self) -> int:
        """An id that no producer ever had."""
        while self._next == self._end:
            async with self._taking:
                if self._next == self._end:  # Somebody else may have taken a block while we waited.
                    start = await self._blocks.take(self._block_size)
                    self._next, self._end = start, start + self._block_size
        self._next += 1
        return self._next - 1
