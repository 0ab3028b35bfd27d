"""All partitions of one broker, over one write-ahead log and one object store.

logs = await Logs.open(wal_directory, objects)
partition = await logs.partition(PartitionId(topic_id, 0))
place = await partition.append(batch)
found = await partition.read(place.base_offset)
await logs.close()
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Self
from uuid import UUID

from holdfast.errors import Corrupt, HoldfastError
from holdfast.io.calls import Calls, ThreadCalls
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.io.disk import Directory
from holdfast.io.objects import Objects
from holdfast.io.versions import Patience
from holdfast.log.aside import Asides
from holdfast.log.deletions import Deletions
from holdfast.log.errors import LogsStopped, PartitionDeleted, StoreBehind
from holdfast.log.flusher import Flusher
from holdfast.log.ground import Ground
from holdfast.log.identify import identify
from holdfast.log.journal import Journal
from holdfast.log.kept import Identity
from holdfast.log.partition import PartitionLog
from holdfast.log.quarantine import Quarantine
from holdfast.log.replay import Replayed, continue_at, replay
from holdfast.log.room import Room
from holdfast.log.settings import LogSettings, PartitionSettings
from holdfast.log.space import Space
from holdfast.log.stat import LogsStat
from holdfast.log.tail import Tail
from holdfast.log.upkeep import Upkeep
from holdfast.segment.blocks import BlockCache
from holdfast.segment.errors import NoManifest
from holdfast.segment.names import PartitionId
from holdfast.segment.read import SegmentReader
from holdfast.wal import Wal, WalSettings
from holdfast.wal.writer import give_up_when_full

log = logging.getLogger(__name__)


class Parts(NamedTuple):
    """What is handed in: the store, where blocking calls are made, the time, and randomness."""

    objects: Objects
    calls: Calls
    clock: Clock
    chance: Chance


class Logs:
    """Use `Logs.open`. Belongs to one event loop."""

    def __init__(
        self,
        journal: Journal,
        parts: Parts,
        settings: LogSettings,
        replayed: Replayed,
        quarantine: Quarantine | None = None,
    ) -> None:
        objects, calls, clock, chance = parts
        blocks = BlockCache(objects, settings.cache_size_max, executor=calls.executor)
        patience = Patience(clock, chance, calls.block)
        reader = SegmentReader(blocks)
        self._ground = Ground(
            journal, objects, reader, calls, clock, chance, patience, settings, self._changed, self.room
        )
        self._use = replayed.use
        self._replayed = replayed.tails  # Of partitions nobody has opened yet.
        self._strays = replayed.strays
        self._asides = Asides(self._ground, quarantine)
        self._asides.forget_saved(self._replayed, self._strays)
        self._partitions: dict[PartitionId, PartitionLog] = {}
        self._opening: dict[PartitionId, asyncio.Future[PartitionLog]] = {}
        self._deletions = Deletions(self._ground, replayed.deleted, self._opening_of)
        self._room = Room(self, self._ground, self._use)
        self._flusher = Flusher(self, self._ground)
        self._upkeep = Upkeep(self, self._ground)
        self._purged_below = 0
        self._space: Space | None = None
        self._failure: Exception | None = None
        self._failed = asyncio.Event()
        journal.on_durable = self._room.update
        journal.on_failure = self._fail

    @classmethod
    async def open(
        cls,
        wal_directory: Directory,
        objects: Objects,
        settings: LogSettings | None = None,
        *,
        wal_settings: WalSettings | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
        calls: Calls | None = None,
        threaded: bool = True,
        background: bool = True,
        resume_deletes: bool = True,
        quarantine: Callable[[], Directory] | None = None,
        reserve_size: int = 0,
    ) -> Self:
        """Open the write-ahead log, bring the tails back, and begin flushing in the background.

        Tails of partitions that cannot be opened go to `quarantine`; without one they stay in the write-ahead log.
        With a `reserve_size` so many bytes of the disk are kept for the way back when it is full; without one a full
        disk stops the logs.

        Without `resume_deletes`, objects of deleted topics stay until `collect_deleted` is called: whoever keeps a list
        of topics elsewhere strikes them there first.
        """
        settings, wal_settings = settings or LogSettings(), wal_settings or WalSettings()
        if settings.wal_size_max < 2 * wal_settings.chunk_size_max:  # The open chunk stays: there would never be room.
            raise ValueError(f"wal_size_max must be at least {2 * wal_settings.chunk_size_max} bytes: two chunks")
        parts = Parts(objects, calls or ThreadCalls(), clock or SystemClock(), chance or SystemChance())
        # The tails are in memory here: a second copy in the write-ahead log's own cache would serve nobody.
        wal_settings = replace(wal_settings, cache_size_max=0, cache_entries_max=0, cache_open_chunk=False)
        run, began = parts.calls.run, parts.clock.monotonic()
        space = Space(wal_directory, reserve_size, parts.calls, parts.clock) if reserve_size else None
        wal = await run(
            Wal.open,
            wal_directory,
            wal_settings,
            clock=parts.clock,
            chance=parts.chance,
            threaded=threaded,
            on_full=space.make_room if space else give_up_when_full,
        )
        try:
            if space is not None:
                await space.begin(waits=threaded)
            journal = Journal(wal, await run(identify, wal, objects, parts.chance))
            replayed = await run(replay, wal, settings.tail_size_max // 2, parts.clock.now_ms())
            kept_aside = Quarantine(quarantine, parts.chance) if quarantine else None
            logs = cls(journal, parts, settings, replayed, kept_aside)
            logs._space = space
            logs._tell_recovered(wal, parts.clock.monotonic() - began)
        except BaseException:
            if space is not None:
                space.close()
            wal.close()
            raise
        if resume_deletes:
            logs.collect_deleted()
        if background:
            logs._flusher.start()
            logs._upkeep.start()
        return logs

    def _tell_recovered(self, wal: Wal, seconds: float) -> None:
        facts = {
            "event": "recovered",
            "clean": wal.opened.clean,
            "entries": wal.state.next_index - wal.state.first_index,
            "wal_size": wal.on_disk_size(),
            "partitions": len(self._replayed),
            "seconds": round(seconds, 3),
        }
        log.info(
            "recovered: %d entries of %d partitions are in the write-ahead log, %d bytes in %.3f s, after %s stop",
            facts["entries"],
            facts["partitions"],
            facts["wal_size"],
            seconds,
            "a clean" if wal.opened.clean else "an unclean",
            extra={"facts": facts},
        )

    # Partitions

    async def partition(self, home: PartitionId, settings: PartitionSettings | None = None) -> PartitionLog:
        """A partition's log; opened, and made, when it is not open yet."""
        self._check_alive()
        if home.topic_id in self._deletions:
            raise PartitionDeleted(home.path)
        if home in self._partitions:
            return self._partitions[home]
        if home not in self._opening:
            self._opening[home] = asyncio.ensure_future(self._open_partition(home, settings or PartitionSettings()))
            self._opening[home].add_done_callback(lambda _: self._opening.pop(home, None))
        return await asyncio.shield(self._opening[home])

    async def _open_partition(self, home: PartitionId, settings: PartitionSettings) -> PartitionLog:
        try:
            self._asides.check(home)
            partition = await self._open_sound(home, settings)
        except Corrupt as failure:
            tails = [each[home] for each in (self._strays, self._replayed) if home in each]
            aside = await self._asides.save(home, tails, failure)
            if aside is None:
                raise
            raise aside from failure
        self._check_alive()
        if home.topic_id in self._deletions:
            raise PartitionDeleted(home.path)
        self._replayed.pop(home, None)
        self._partitions[home] = partition
        return partition

    async def _open_sound(self, home: PartitionId, settings: PartitionSettings) -> PartitionLog:
        journal = self._ground.journal
        tail, mark = self._replayed.get(home) or Tail(self._use), journal.kept.flushed.get(home, 0)
        start = tail.first.base if tail.first is not None else 0
        try:
            manifests = await self._ground.open_manifests(home, create=mark == start == 0)
        except NoManifest as missing:
            raise StoreBehind(home.path, 0, start or mark) from missing
        manifest = manifests.manifest
        taken_over = manifest.stamp.writer != journal.identity.broker
        continue_at(tail, manifest, self._strays.get(home), mark)
        if home in self._strays:
            self._strays.pop(home).clear()
        if manifest.epoch > journal.identity.generation or (
            taken_over and manifest.epoch == journal.identity.generation
        ):
            await self._ground.calls.run(journal.raise_generation, manifest.epoch + 1)
        partition = PartitionLog(self._ground, home, settings, manifests, tail)
        await partition.note_replayed()
        partition.epochs.note(journal.identity.generation, partition.marks.log_end)
        if taken_over:
            await partition.take_over()
        return partition

    async def save_fenced(self, partition: PartitionLog) -> None:
        """What another leader's writing has made homeless goes to quarantine."""
        aside = await self._asides.save(partition.home, [partition.tail], partition.failure or Corrupt("fenced"))
        if aside is not None:
            log.error("%s", aside)

    @property
    def identity(self) -> Identity:
        """Whose logs these are."""
        return self._ground.journal.identity

    @property
    def partitions(self) -> list[PartitionLog]:
        """The partitions that are open."""
        return list(self._partitions.values())

    async def room(self) -> None:
        """Wait until producers may go on. Held back, never lost."""
        await self._room.wait()

    async def delete_topic(self, topic_id: UUID) -> None:
        """Delete a topic for ever. Durable on return; its objects go in the background, also after a crash."""
        await self.mark_deleted(topic_id)
        self.collect_deleted(topic_id)

    @property
    def deleted(self) -> set[UUID]:
        """Topics that are known to be deleted."""
        return set(self._deletions)

    @property
    def unopened(self) -> set[UUID]:
        """Topics that the write-ahead log has or had batches of, and of which some partition is not open."""
        known = [*self._replayed, *self._ground.journal.kept.flushed]
        return {home.topic_id for home in known if home not in self._partitions} - self.deleted

    async def mark_deleted(self, topic_id: UUID) -> None:
        """From here on the topic is deleted, durably; its objects stay until `collect_deleted`."""
        self._check_alive()
        self._deletions.mark(topic_id)
        leaving = [self._partitions.pop(each) for each in list(self._partitions) if each.topic_id == topic_id]
        self._deletions.leave(topic_id, leaving)
        for partition in leaving:
            partition.delete()
        for tails in (self._replayed, self._strays):
            for each in [each for each in tails if each.topic_id == topic_id]:
                tails.pop(each).clear()
        await self._deletions.marked(topic_id)

    def collect_deleted(self, topic_id: UUID | None = None) -> None:
        """Delete the objects of one topic that is deleted, or of all of them, in the background."""
        self._deletions.collect(topic_id)

    def _opening_of(self, topic_id: UUID) -> list[asyncio.Future[PartitionLog]]:
        return [task for home, task in self._opening.items() if home.topic_id == topic_id]

    # Space

    def check_disk(self) -> None:
        """Raise DiskFull when the disk has no room for what producers send."""
        if self._space is not None:
            self._space.check()

    @property
    def is_disk_low(self) -> bool:
        return self._space is not None and self._space.is_low

    def _changed(self) -> None:
        """A tail has grown or shrunk: keep memory bounded, let the write-ahead log go where nothing needs it."""
        self._room.update()
        self._flusher.wake()

    def purge(self, *, chunks_only: bool = False) -> None:
        """Let the write-ahead log go below the oldest entry that anything still needs.

        With `chunks_only` only if that frees a chunk: each purge saves the marks of all partitions.
        """
        journal = self._ground.journal
        needed = journal.next_index
        for tail in self.tails():
            if tail.first is not None:
                needed = min(needed, tail.first.index)
        needed = min([needed, *self._deletions.needed()])
        if needed <= self._purged_below or self._failure is not None:
            return
        if chunks_only and not journal.frees_a_chunk(needed):
            return
        if journal.purge_below(needed, self._flushed(), self._deletions):
            self._purged_below = needed

    def _flushed(self) -> dict[PartitionId, int]:
        """How far the store has come, of every partition that is not deleted."""
        before = self._ground.journal.kept.flushed
        flushed = {home: mark for home, mark in before.items() if home.topic_id not in self._deletions}
        for home, partition in self._partitions.items():
            if partition.marks.flushed:
                flushed[home] = partition.marks.flushed
        return flushed

    def tails(self) -> list[Tail]:
        """All tails, also of partitions nobody has opened."""
        return [*(each.tail for each in self._partitions.values()), *self._replayed.values(), *self._strays.values()]

    # The end

    async def flush_all(self) -> None:
        """Flush everything that is durable."""
        await self._flusher.flush_all()

    async def close(self) -> None:
        """Make everything durable, flush within the time limit, and let the directory go."""
        await self._upkeep.stop()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._finish(), self._ground.settings.close_timeout_ms / 1000)
        if self._failure is None:
            self.purge()
        await self._deletions.close()
        for partition in self._partitions.values():
            partition.fail(LogsStopped("closed"))
        self._failure = self._failure or LogsStopped("closed")
        self._tell_waiters(self._failure)
        if self._space is not None:
            self._space.close()
        self._ground.calls.close()
        self._ground.journal.close()

    async def _finish(self) -> None:
        """Make everything durable and flush it, as far as the store lets us."""
        await self._flusher.stop()
        if self._failure is None:
            with contextlib.suppress(HoldfastError):
                await self._ground.calls.run(self._ground.journal.sync)
                await asyncio.sleep(0)  # Word of durability is on its way to us.
            await self.flush_all()

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _fail(self, failure: Exception) -> None:
        log.critical("%s", failure)
        self._failure = failure
        self._failed.set()
        for partition in self._partitions.values():
            partition.fail(failure)
        self._tell_waiters(failure)

    def _tell_waiters(self, failure: Exception) -> None:
        self._room.fail(failure)
        self._deletions.fail(failure)

    async def failed(self) -> Exception:
        """Wait until the logs have stopped by themselves; why they did."""
        await self._failed.wait()
        assert self._failure is not None
        return self._failure

    def stat(self) -> LogsStat:
        """Figures about the write-ahead log, the cache, reads and memory."""
        ground = self._ground
        cache = ground.reader.blocks.counters()
        return LogsStat(ground.journal.stat(), cache, ground.read_times, self._use.size, self.has_room)

    @property
    def has_room(self) -> bool:
        """Whether producers may go on without waiting."""
        return self._room.is_open

    @property
    def failure(self) -> Exception | None:
        """What stopped the logs, if anything did."""
        return self._failure
