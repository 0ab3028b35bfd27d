"""The background flusher: by size, by age, by memory and by the size of the write-ahead log; and its purge.

Nothing is looked for: a partition whose tail has changed is noted where it belongs (`backlog`), so that what is due is
known at once, however many partitions there are. The next flush starts when one ends.

A store that fails is tried again with growing pauses, per partition. Nothing is lost meanwhile: the tails stay.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import NamedTuple

from holdfast.errors import Corrupt, Fenced, HoldfastError, Unavailable
from holdfast.log.background.backlog import Largest, Oldest, Soonest
from holdfast.log.background.rest import BACKGROUND, rest
from holdfast.log.context import LogContext
from holdfast.log.errors import WrongEverywhere
from holdfast.log.ownership.store_watch import StoreWatch
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.tail import MemoryUse
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.pressure.held_back import HeldBack
from holdfast.log.pressure.purge import LogPurge
from holdfast.wal.errors import DamagedLog

log = logging.getLogger(__name__)

_LOOK_S_MAX = 1.0  # So often it is looked at least, while there is a tail.
_OWN_AGE_S_MIN = 1.0  # However little a topic asks for: a segment is an object in the store, and a commit.
_PRESSURE = 0.5  # Of a limit: from here on tails are flushed although they are small and young.


class Failed(NamedTuple):
    """Why a partition was not flushed, and when it is tried again."""

    delay_s: float
    until: float  # In the clock's seconds.
    why: Exception


class Flusher:
    """Knows which partitions are due, and flushes a few at a time."""

    def __init__(
        self,
        ground: LogContext,
        use: MemoryUse,
        purge: LogPurge,
        held_back: HeldBack,
        save_fenced: Callable[[PartitionLog], Coroutine[None, None, None]],
        flushed: Callable[[PartitionLog], None],
    ) -> None:
        """`save_fenced` takes the tail of a partition that cannot be flushed any more; `flushed` is told of others."""
        self._ground = ground
        self._use = use
        self._purge = purge
        self._held_back = held_back
        self._save_fenced = save_fenced
        self._flushed = flushed
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._store = StoreWatch(ground.objects.url)
        self._running: dict[PartitionLog, asyncio.Task[None]] = {}
        self._failed: dict[PartitionLog, Failed] = {}
        self._retries: list[tuple[float, int, PartitionLog]] = []  # When which of these is tried again.
        self._tries = 0
        self._oldest = Oldest(self._first_index)
        self._largest = Largest(self._free_memory_size)
        self._own = Soonest(self._own_due)  # Those whose topics ask for smaller or younger segments than we make.
        self._full: dict[PartitionLog, None] = {}  # As large as a segment.
        self._homeless: dict[PartitionLog, None] = {}  # Fenced or damaged, with a tail.

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def stop(self, *, now: bool = False) -> None:
        """Stop deciding; flushes under way end, or are given up now, as in a crash."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        running = list(self._running.values())
        if now:
            for task in running:
                task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    # What is noted

    def note(self, partition: PartitionLog) -> None:
        """A partition's tail has grown or shrunk, or it has failed."""
        if partition in self._running:
            return  # Noted again when that is over.
        if not partition.is_alive:
            self._failed.pop(partition, None)
            if len(partition.tail) and isinstance(partition.failure, Fenced | Corrupt):
                self._homeless[partition] = None
                self.wake()
            return
        is_first = not self._oldest
        self._oldest.add(partition)
        self._largest.note(partition)
        if partition.tail.size >= self._ground.settings.segment_size_max:
            self._full[partition] = None
        if self._own.note(partition) or is_first:
            self.wake()  # From here on there is an age to be waited for.

    def look(self) -> None:
        """Something has become durable: wake up if that makes anything due."""
        if self._free and self._next() is not None:
            self.wake()

    def wake(self) -> None:
        self._woken.set()

    def _is_busy(self, partition: PartitionLog) -> bool:
        """Whether it is being flushed, or waits for its next try."""
        failed = self._failed.get(partition)
        return partition in self._running or (failed is not None and failed.until > self._ground.clock.monotonic())

    def _first_index(self, partition: PartitionLog) -> int | None:
        first = partition.tail.first
        return None if first is None or not partition.is_alive or self._is_busy(partition) else first.index

    def _free_memory_size(self, partition: PartitionLog) -> int:
        return 0 if not partition.is_alive or self._is_busy(partition) else partition.tail.memory_size

    def state_of(self, partition: PartitionLog) -> str:
        """How the flush of a partition stands, in words."""
        failed = self._failed.get(partition)
        if failed is not None:
            return f"whose flush has failed and is tried again: {failed.why}"
        if not partition.is_alive:
            return f"which has stopped: {partition.failure}"
        return "which is being flushed" if partition in self._running else "which waits for its flush"

    # What is due

    @property
    def _free(self) -> int:
        return self._ground.pace.flushes_max - len(self._running)

    def _next(self) -> PartitionLog | None:
        """What is to be flushed now, the most pressing one."""
        oldest = self._oldest.first()
        first = None if oldest is None else oldest.tail.first
        if oldest is None or first is None or first.end > oldest.marks.durable:
            return None  # Entries become durable in order: if the oldest one is not, none is.
        if self._presses_log(first):
            return oldest
        if (pressing := self._next_by_memory() or self._next_by_size()) is not None:
            return pressing
        return oldest if self._age_left(first) <= 0 else self._next_by_own()

    def _presses_log(self, first: TailBatch) -> bool:
        """Whether the write-ahead log would become too large if this entry stayed the oldest one."""
        settings, journal = self._ground.settings, self._ground.journal
        limit = settings.wal_size_max * _PRESSURE
        return journal.size > limit and journal.size_from(first.index) > limit

    def _next_by_memory(self) -> PartitionLog | None:
        held = self._use.size - sum(each.tail.memory_size for each in self._running)  # These let go of it anyway.
        if held <= self._ground.settings.tail_size_max * _PRESSURE:
            return None
        largest = self._largest.first()
        return largest if largest is not None and _is_durable(largest) else None

    def _next_by_size(self) -> PartitionLog | None:
        for partition in list(self._full):
            if partition.tail.size < self._ground.settings.segment_size_max or self._is_busy(partition):
                del self._full[partition]  # Noted again when it is not busy any more.
            elif _is_durable(partition):
                return partition
        return None

    def _age_left(self, first: TailBatch) -> float:
        """Seconds until a tail is flushed because of its age."""
        return first.appended_at + self._ground.settings.flush_age_ms_max / 1000 - self._ground.clock.monotonic()

    def _next_by_own(self) -> PartitionLog | None:
        found = self._own.first()
        if found is None or found[0] > self._ground.clock.monotonic():
            return None
        return found[1] if _is_durable(found[1]) else None

    def _own_due(self, partition: PartitionLog) -> float | None:
        """When a tail is due by its topic's own settings; None if that is not before it is due anyway."""
        settings = partition.settings
        age_s = settings.flush_age_ms / 1000
        if 0 <= settings.segment_size_max <= partition.tail.size:
            age_s = 0
        if not 0 <= age_s < self._ground.settings.flush_age_ms_max / 1000:
            return None
        first = partition.tail.first
        if first is None or not partition.is_alive or self._is_busy(partition):
            return None
        return first.appended_at + max(age_s, _OWN_AGE_S_MIN)

    # What is done

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                self.tick()
            except Exception:  # Whatever it is, the next tick must come: nobody else flushes.
                log.exception("the flusher has failed, and is tried again")
            await self._rest()

    async def _rest(self) -> None:
        """Wait until somebody wakes us, or something may have become due."""
        may_be_due = bool(self._oldest or self._retries or self._held_back.is_told)
        await rest(self._woken, self._ground.calls, self._pause_s() if may_be_due else None)

    def _pause_s(self) -> float:
        times = [_LOOK_S_MAX]
        oldest = self._oldest.first() if self._free else None
        if oldest is not None and oldest.tail.first is not None:
            times.append(self._age_left(oldest.tail.first))
        own = self._own.first() if self._free else None
        if own is not None:
            times.append(own[0] - self._ground.clock.monotonic())
        if self._retries:
            times.append(self._retries[0][0] - self._ground.clock.monotonic())
        return min((each for each in times if each > 0), default=_LOOK_S_MAX)

    def tick(self) -> None:
        """Start what is due."""
        self._purge.purge(chunks_only=True)
        self._held_back.look()
        self._save_homeless()
        self._take_retries()
        while self._free > 0 and (partition := self._next()) is not None:
            self._run_for(partition, self._flush(partition))

    def _save_homeless(self) -> None:
        while self._homeless:
            partition, _ = self._homeless.popitem()
            self._run_for(partition, self._save_fenced(partition), again=False)

    def _take_retries(self) -> None:
        now = self._ground.clock.monotonic()
        while self._retries and self._retries[0][0] <= now:
            self.note(heapq.heappop(self._retries)[2])

    def _run_for(self, partition: PartitionLog, work: Coroutine[None, None, None], *, again: bool = True) -> None:
        task = asyncio.create_task(work, name=BACKGROUND)
        self._running[partition] = task
        task.add_done_callback(lambda _: self._ended(partition, again=again))

    def _ended(self, partition: PartitionLog, *, again: bool) -> None:
        self._running.pop(partition, None)
        if again:
            self.note(partition)
        self.wake()  # The next one starts now, not at some later look.

    async def _flush(self, partition: PartitionLog) -> None:
        try:
            await partition.flush()
        except HoldfastError as failure:
            if isinstance(failure, Corrupt):
                self._note_damage(partition, failure)
            if partition.is_alive:
                self._delay(partition, failure)
            else:  # Deleted or fenced: the partition itself says so to who asks.
                log.error("%s: not flushed: %s", partition.home.path, failure)
        except Exception as failure:
            log.exception("%s: not flushed, will be tried again", partition.home.path)
            self._delay(partition, failure)
        else:
            if self._failed.pop(partition, None):
                log.debug("%s: flushed again", partition.home.path)
            if not self._failed:
                self._store.note_success()
            self._purge.purge(chunks_only=True)
            self._flushed(partition)

    def _note_damage(self, partition: PartitionLog, failure: Corrupt) -> None:
        """A tail that cannot be read goes to quarantine, so that it pins the write-ahead log no longer. An object of
        the store may be sound again at the next try: of it the same is said when the pauses do not grow any more."""
        self._ground.damage.note(partition.home.path, failure)
        before = self._failed.get(partition)
        tried_for_long = before is not None and before.delay_s >= self._ground.settings.flush_retry_ms_max / 1000
        if isinstance(failure, DamagedLog | WrongEverywhere) or tried_for_long:
            partition.fail(failure)

    def _delay(self, partition: PartitionLog, failure: Exception) -> None:
        settings = self._ground.settings
        before = self._failed.get(partition)
        delay = settings.flush_retry_ms / 1000 if before is None else before.delay_s * 2
        if before is None:  # One line for the store; those of its partitions, which may be thousands, only on wish.
            log.debug("%s: not flushed, will be tried again: %s", partition.home.path, failure)
        self._store.note_failure(failure)
        delay = min(delay, settings.flush_retry_ms_max / 1000)
        until = self._ground.clock.monotonic() + delay
        self._failed[partition] = Failed(delay, until, failure)
        self._tries += 1
        heapq.heappush(self._retries, (until, self._tries, partition))

    async def flush_all(self, partitions: Iterable[PartitionLog]) -> None:
        """Flush all durable batches of these; a store that fails is tried again until it works."""
        gate = asyncio.Semaphore(self._ground.pace.flushes_max)
        await asyncio.gather(*(self._flush_out(each, gate) for each in partitions if len(each.tail)))

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


def _is_durable(partition: PartitionLog) -> bool:
    """Whether there is anything that may be flushed."""
    first = partition.tail.first
    return first is not None and first.end <= partition.marks.durable
