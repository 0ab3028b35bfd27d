"""Room for producers: memory is kept bounded by spilling, and the write-ahead log by holding producers back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.log.background.backlog import Largest
from holdfast.log.context import LogContext
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.tail import MemoryUse
from holdfast.log.pressure.held_back import HeldBack, Reason
from holdfast.log.pressure.purge import LogPurge

_QUEUE_SIZE_MAX = 64 << 20  # Bytes on their way to the disk.
_ENTRY_SIZE = 128  # Bytes that an entry has besides its batch, in the log and in the index of it, rounded up.
_LISTED_SIZE_MIN = 16 << 20  # Bytes of memory that lists of spilled batches may take, whatever the limit is.


class Backpressure:
    """Whether producers may go on."""

    def __init__(
        self, ground: LogContext, use: MemoryUse, purge: LogPurge, state_of: Callable[[PartitionLog], str]
    ) -> None:
        """`state_of` says in words how the flush of a partition stands."""
        self._ground = ground
        self._use = use
        self._purge = purge
        self._state_of = state_of
        self._largest = Largest[PartitionLog](lambda each: each.tail.memory_size)
        self._open = asyncio.Event()
        self._open.set()
        self._failure: Exception | None = None
        self._closing = False
        self._spare_size = 0  # Bytes that may be appended before anything has to be looked at again.
        self.held_back = HeldBack(ground.clock, self._why)

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

    def grew(self, size: int) -> None:
        """A batch of so many bytes was appended."""
        self._spare_size -= size + _ENTRY_SIZE
        if self._spare_size < 0:
            self.update()

    def update(self) -> None:
        reason = self._missing() if self._failure is None else None
        self._spare_size = 0 if reason is not None else self._spare()
        if reason is not None:
            self._open.clear()
        elif not self._closing:
            self._open.set()
        self.held_back.note(reason)

    def _spare(self) -> int:
        """How many bytes at least can be appended before something is missing."""
        journal, limit, listed = self._ground.journal, self._lists_size_max, self._use.listed_size
        lists = limit // 2 - listed if listed * 2 < limit else limit - listed - journal.index_size
        return min(self._needed_max - journal.size, _QUEUE_SIZE_MAX - journal.queued_size, lists)

    @property
    def _needed_max(self) -> int:
        limit = self._ground.settings.wal_size_max
        return max(limit - 2 * self._ground.journal.chunk_size_max, limit // 2)

    @property
    def _lists_size_max(self) -> int:
        return max(self._ground.settings.tail_size_max, _LISTED_SIZE_MIN)

    def _missing(self) -> Reason | None:
        """What the write-ahead log has no room for, if it has none.

        Its files are given back a chunk at a time. Were producers held back by that alone, they would stand still and
        run by turns; what is still needed shrinks with every flush, and so its limit lies that much lower.
        """
        journal, limit = self._ground.journal, self._ground.settings.wal_size_max
        size = journal.size
        if journal.queued_size >= _QUEUE_SIZE_MAX:
            return "queue"
        if not self._lists_fit():
            return "memory"
        needed_max = self._needed_max
        if size < needed_max or (size < limit and journal.size_from(self._purge.needed()) < needed_max):
            return None
        return "wal"

    def _why(self, reason: Reason) -> str:
        journal = self._ground.journal
        if reason == "queue":
            return f"{journal.queued_size} bytes wait to be written; the disk is slower than producers are"
        if reason == "memory":
            size = self._use.listed_size + journal.index_size
            return f"{size} bytes of memory list batches that wait to be flushed; {self._who_needs_most()}"
        limit = self._ground.settings.wal_size_max
        return f"the write-ahead log has {journal.size} of {limit} bytes; {self._who_needs_most()}"

    def _who_needs_most(self) -> str:
        what, owner = self._purge.who_needs_most()
        return what if owner is None else f"{what}, {self._state_of(owner)}"

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def _lists_fit(self) -> bool:
        """Whether there is memory to list still more of what was spilled."""
        limit, listed = self._lists_size_max, self._use.listed_size
        return listed * 2 < limit or listed + self._ground.journal.index_size < limit

    def spill(self) -> None:
        """Past the limit, the largest tails' oldest durable bytes leave memory: the write-ahead log has them."""
        limit = self._ground.settings.tail_size_max
        listed = self._use.listed_size
        excess = self._use.size - listed - max(limit - listed, limit // 8)
        if excess <= 0:
            return
        excess += limit // 8  # Some more, so that not every append has to.
        for partition in self._largest:
            excess -= partition.tail.spill(excess, partition.marks.durable)
            self._largest.note(partition)
            if excess <= 0:
                return
