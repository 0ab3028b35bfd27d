"""Room for producers: memory is kept bounded by spilling, and the write-ahead log by holding producers back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from holdfast.log.backlog import Largest
from holdfast.log.ground import Ground
from holdfast.log.partition import PartitionLog
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
        self._largest = Largest[PartitionLog](lambda each: each.tail.memory_size)
        self._open = asyncio.Event()
        self._open.set()
        self._failure: Exception | None = None
        self._closing = False

    async def wait(self) -> None:
        while not self._open.is_set():  # Who woke before us may have taken the room there was.
            await self._open.wait()
        if self._failure is not None:
            raise self._failure

    def fail(self, failure: Exception) -> None:
        self._failure = failure
        self._open.set()

    def close(self) -> None:
        """The logs are being closed: room that this makes is for nobody, who waits waits for the end."""
        self._closing = True

    def note(self, partition: PartitionLog) -> None:
        """A partition's tail has grown or shrunk."""
        self._largest.note(partition)

    def update(self) -> None:
        if self._failure is None and not self._has_room():
            self._open.clear()
        elif not self._closing:
            self._open.set()

    def _has_room(self) -> bool:
        """Whether the write-ahead log may grow.

        Its files are given back a chunk at a time. Were producers held back by that alone, they would stand still and
        run by turns; what is still needed shrinks with every flush, and so its limit lies that much lower.
        """
        journal, limit = self._ground.journal, self._ground.settings.wal_size_max
        size = journal.size
        if size >= limit or journal.queued_size >= _QUEUE_SIZE_MAX:
            return False
        needed_max = max(limit - 2 * journal.chunk_size_max, limit // 2)
        return size < needed_max or journal.size_from(self._logs.needed()) < needed_max

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def spill(self) -> None:
        """Past the limit, the largest tails' oldest durable bytes leave memory: the write-ahead log has them."""
        limit = self._ground.settings.tail_size_max
        excess = self._use.size - limit
        if excess <= 0:
            return
        excess += limit // 8  # Some more, so that not every append has to.
        for partition in self._largest:
            excess -= partition.tail.spill(excess, partition.marks.durable)
            self._largest.note(partition)
            if excess <= 0:
                return
