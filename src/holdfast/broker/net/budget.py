"""A budget of bytes that all connections share: what is there is counted, what is only announced is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Budget:
    """Counts bytes. Whoever would add to a full one waits, or is not read; who pays back tells them."""

    def __init__(self, size_max: int) -> None:
        self.size_max = size_max
        self.size = 0
        self.on_room: Callable[[], None] = lambda: None
        self._waiting: dict[asyncio.Future[None], None] = {}

    @property
    def has_room(self) -> bool:
        return self.size < self.size_max

    @property
    def left(self) -> int:
        return max(self.size_max - self.size, 0)

    def hold(self, size: int) -> None:
        self.size += size

    def release(self, size: int) -> None:
        had_room = self.size < self.size_max
        self.size -= size
        if not had_room and self.size < self.size_max:
            self._tell()

    async def room(self) -> None:
        """Wait until there is some. Nothing is taken: hold it before the next wait."""
        while not self.has_room:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[waiter] = None
            try:
                await waiter
            finally:
                self._waiting.pop(waiter, None)

    def _tell(self) -> None:
        for each in self._waiting:
            if not each.done():
                each.set_result(None)
        self.on_room()
