"""The background flusher: by size, by age, by memory and by the size of the write-ahead log; and its purge.

A store that fails is tried again with growing pauses, per partition. Nothing is lost meanwhile: the tails stay.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING

from holdfast.errors import Fenced, HoldfastError, Unavailable
from holdfast.log.ground import Ground
from holdfast.log.partition import PartitionLog
from holdfast.log.store_watch import StoreWatch

if TYPE_CHECKING:
    from holdfast.log.logs import Logs

log = logging.getLogger(__name__)

_TICK_MS = 100
_PRESSURE = 0.5  # Of a limit: from here on tails are flushed although they are small and young.


class Flusher:
    """Decides which partitions are due, and flushes a few at a time."""

    def __init__(self, logs: Logs, ground: Ground) -> None:
        self._logs = logs
        self._ground = ground
        self._task: asyncio.Task[None] | None = None
        self._running: dict[PartitionLog, asyncio.Task[None]] = {}
        self._delays: dict[PartitionLog, tuple[float, float]] = {}  # After a failure: (not before, delay).
        self._woken = asyncio.Event()
        self._store = StoreWatch(ground.objects.url)

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    def wake(self) -> None:
        self._woken.set()

    async def stop(self) -> None:
        """Stop deciding; flushes under way end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                self.tick()
            except Exception:  # Whatever it is, the next tick must come: nobody else flushes.
                log.exception("the flusher has failed, and is tried again")
            if any(len(tail) for tail in self._logs.tails()):
                await self._ground.calls.pause(_TICK_MS / 1000)
            else:
                self._woken.clear()
                await self._woken.wait()

    def tick(self) -> None:
        """Start what is due."""
        self._logs.purge(chunks_only=True)
        self._save_fenced()
        free = self._ground.settings.flushes_max - len(self._running)
        for partition in self.due()[: max(free, 0)]:
            self._start(partition)

    def _save_fenced(self) -> None:
        for each in self._logs.partitions:
            if len(each.tail) and isinstance(each.failure, Fenced) and each not in self._running:
                self._run_for(each, self._logs.save_fenced(each))

    def due(self) -> list[PartitionLog]:
        """The partitions to be flushed now, the most pressing first."""
        now = self._ground.clock.monotonic()
        ready = [
            each
            for each in self._logs.partitions
            if len(each.tail)
            and each.is_alive
            and each.tail.first.end <= each.marks.durable  # type: ignore[union-attr]  # It has a first one.
            and each not in self._running
            and self._delays.get(each, (0.0, 0.0))[0] <= now
        ]
        pressing = self._under_pressure(ready)
        return pressing + [each for each in ready if each not in pressing and self._is_ripe(each)]

    def _is_ripe(self, partition: PartitionLog) -> bool:
        settings = self._ground.settings
        first = partition.tail.first
        assert first is not None
        age_ms = self._ground.clock.now_ms() - first.appended_ms
        return partition.tail.size >= settings.segment_size_max or age_ms >= settings.flush_age_ms_max

    def _under_pressure(self, ready: list[PartitionLog]) -> list[PartitionLog]:
        """Who must flush so that memory and write-ahead log stay small: the largest, and who has the oldest entry."""
        settings = self._ground.settings
        pressing: list[PartitionLog] = []
        if ready and self._ground.journal.size > settings.wal_size_max * _PRESSURE:
            pressing.append(min(ready, key=lambda each: each.tail.first.index))  # type: ignore[union-attr]
        if sum(each.tail.memory_size for each in ready) > settings.tail_size_max * _PRESSURE:
            largest = max(ready, key=lambda each: each.tail.memory_size)
            pressing += [] if largest in pressing else [largest]
        return pressing

    def _start(self, partition: PartitionLog) -> None:
        self._run_for(partition, self._flush(partition))

    def _run_for(self, partition: PartitionLog, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._running[partition] = task
        task.add_done_callback(lambda _: self._running.pop(partition, None))

    async def _flush(self, partition: PartitionLog) -> None:
        try:
            await partition.flush()
        except HoldfastError as failure:
            if partition.is_alive:
                self._delay(partition, failure)
            else:  # Deleted or fenced: the partition itself says so to who asks.
                log.error("%s: not flushed: %s", partition.home.path, failure)
        except Exception as failure:
            log.exception("%s: not flushed, will be tried again", partition.home.path)
            self._delay(partition, failure)
        else:
            if self._delays.pop(partition, None):
                log.debug("%s: flushed again", partition.home.path)
            self._delays = {each: delay for each, delay in self._delays.items() if each.is_alive}
            if not self._delays:
                self._store.note_success()
            self._logs.purge(chunks_only=True)

    def _delay(self, partition: PartitionLog, failure: Exception) -> None:
        settings = self._ground.settings
        before = self._delays.get(partition)
        delay = min(before[1] * 2, settings.flush_retry_ms_max / 1000) if before else settings.flush_retry_ms / 1000
        if before is None:  # One line for the store; those of its partitions, which may be thousands, only on wish.
            log.debug("%s: not flushed, will be tried again: %s", partition.home.path, failure)
        self._store.note_failure(failure)
        self._delays[partition] = (self._ground.clock.monotonic() + delay, delay)

    async def flush_all(self) -> None:
        """Flush all durable batches of all partitions; a store that fails is tried again until it works."""
        gate = asyncio.Semaphore(self._ground.settings.flushes_max)
        await asyncio.gather(*(self._flush_out(each, gate) for each in self._logs.partitions))

    async def _flush_out(self, partition: PartitionLog, gate: asyncio.Semaphore) -> None:
        delay = self._ground.settings.flush_retry_ms / 1000
        async with gate:
            while True:
                try:
                    if not await partition.flush():
                        return
                except Unavailable:
                    await self._ground.calls.pause(delay)
                    delay = min(delay * 2, self._ground.settings.flush_retry_ms_max / 1000)
                except HoldfastError:
                    return
