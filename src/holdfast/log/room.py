"""Room for producers: memory is kept bounded by spilling, and the write-ahead log by holding producers back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from holdfast.log.ground import Ground
from holdfast.log.tail import MemoryUse

if TYPE_CHECKING:
    from holdfast.log.logs import Logs

_QUEUE_SIZE_MAX = 64 << 20  # Bytes on their way to the disk.


class Room:
    """Whether producers may go on."""

    def __init__(self, logs: Logs, ground: Ground, use: MemoryUse) -> None:
        self._logs = logs
        self._use = use
        self._ground = ground
        self._open = asyncio.Event()
        self._open.set()
        self._failure: Exception | None = None

    async def wait(self) -> None:
        while not self._open.is_set():  # Who woke before us may have taken the room there was.
            await self._open.wait()
        if self._failure is not None:
            raise self._failure

    def fail(self, failure: Exception) -> None:
        self._failure = failure
        self._open.set()

    def update(self) -> None:
        self._spill()
        journal, settings = self._ground.journal, self._ground.settings
        if self._failure is not None or (
            journal.size < settings.wal_size_max and journal.queued_size < _QUEUE_SIZE_MAX
        ):
            self._open.set()
        else:
            self._open.clear()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def _spill(self) -> None:
        """Past the limit, the largest tails' oldest durable bytes leave memory: the write-ahead log has them."""
        limit = self._ground.settings.tail_size_max
        excess = self._use.size - limit
        if excess <= 0:
            return
        excess += limit // 8  # Some more, so that not every append has to.
        for partition in sorted(self._logs.partitions, key=lambda each: each.tail.memory_size, reverse=True):
            excess -= partition.tail.spill(excess, partition.marks.durable)
            if excess <= 0:
                return
