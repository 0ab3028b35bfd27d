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
from collections.abc import Callable, Collection
from typing import Self
from uuid import UUID

from holdfast.errors import Fenced, HoldfastError
from holdfast.io.calls import BlockingCalls, ThreadCalls
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.io.disk import Directory
from holdfast.io.objects import Objects
from holdfast.io.objects.off_loop import OffLoopObjects
from holdfast.log.background.deletions import Deletions, Strike, no_list
from holdfast.log.background.flusher import Flusher
from holdfast.log.background.maintenance import Maintenance
from holdfast.log.context import Environment, LogContext, ProducerIdsGiven
from holdfast.log.errors import LedElsewhere, LogsStopped, PartitionDeleted
from holdfast.log.metadata import Identity, check_marks
from holdfast.log.ownership.life_seat import LifeSeat
from holdfast.log.ownership.owner import Here
from holdfast.log.ownership.owner_watch import OwnerWatch
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.stored import StoredPartition
from holdfast.log.pressure.backpressure import Backpressure
from holdfast.log.pressure.purge import LogPurge
from holdfast.log.recovery.begin import LocalLog, OpenedLogs, begin, open_local, tell_recovered
from holdfast.log.recovery.begin_life import begin_life
from holdfast.log.recovery.begin_rounds import begin_rounds, limited
from holdfast.log.recovery.opening import Openings
from holdfast.log.recovery.quarantine import Quarantine
from holdfast.log.settings import JournalSettings, LogSettings, PartitionSettings
from holdfast.log.stat import LogsStat
from holdfast.types import PartitionId
from holdfast.wal import WalSettings

log = logging.getLogger(__name__)

_CALLS_S = 1.0  # For calls that are under way at the end, and whose callers have gone.


class Logs:
    """Use `Logs.open`. Belongs to one event loop."""

    def __init__(
        self,
        begun: OpenedLogs,
        settings: LogSettings,
        quarantine: Quarantine | None,
        look_calls: BlockingCalls | None = None,
    ) -> None:
        journal, replayed = begun.journal, begun.local.replayed
        self._ground = LogContext.of(journal, begun.environment, settings, self._changed, self._grew, self.room)
        self._use = replayed.use
        self._space = begun.local.space
        self.recovered = 0, 0.0  # Bytes of the write-ahead log that the start has read, and in how many seconds.
        self._partitions: dict[PartitionId, PartitionLog] = {}
        self._openings = Openings(
            self._ground, replayed, quarantine, self._welcome, lambda: self.owner.check(), self._note_set_back
        )
        self._deletions = Deletions(self._ground, replayed.deleted, self._openings.under_way)
        self._purge = LogPurge(self._ground, self._partitions, self._openings, self._deletions)
        self._room = Backpressure(self._ground, self._use, self._purge, lambda each: self._flusher.state_of(each))
        self._upkeep = Maintenance(self._ground, self._partitions)
        self._flusher = Flusher(
            self._ground,
            self._use,
            self._purge,
            self._room.held_back,
            self._openings.save_fenced,
            self._upkeep.compact_soon,
        )
        self._grown: dict[PartitionLog, None] = {}  # In this turn of the loop.
        self._loop = asyncio.get_running_loop()
        self._failure: Exception | None = None
        self._failed = asyncio.Event()
        journal.on_durable = self._became_durable
        journal.on_failure = self._fail
        self._look_calls = look_calls
        self.owner = OwnerWatch(
            begun.owner,
            look_calls or begun.environment.calls,
            begun.environment.clock,
            settings.owner_check_ms / 1000,
            self._stop_fenced,
            lambda: self.is_disk_low,
        )
        journal.hold = self.owner.hold

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
        calls: BlockingCalls | None = None,
        threaded: bool = True,
        background: bool = True,
        resume_deletes: bool = True,
        quarantine: Callable[[], Directory] | None = None,
        reserve_size: int = 0,
        take_over: bool = True,
        here: Here | None = None,
        local: LocalLog | None = None,
        rounds: Objects | None = None,
        node_id: int = 0,
        seat: LifeSeat | None = None,
    ) -> Self:
        """Open the write-ahead log, bring the tails back, and begin flushing in the background.

        Tails of partitions that cannot be opened go to `quarantine`; without one they stay in the write-ahead log.
        With a `reserve_size` so many bytes of the disk are kept for the way back when it is full; without one a full
        disk stops the logs. Without `take_over` a new log is refused on a store that holds partitions already, and one
        that is not the last that was used with the store; `here` tells a data directory from its copies.

        Without `resume_deletes`, objects of deleted topics stay until `begin_deleting` is called: whoever keeps a list
        of topics elsewhere has them struck there first.

        Who has read the write-ahead log already hands it in as `local`. It stays the caller's until it `is_taken`.

        With `wal.place=store` the directory is not used: the log is in `rounds`, or in the same store as all else.
        With a `seat` this is one of several lives, with a series of its own, and nothing is taken over.
        """
        settings, wal_settings = settings or LogSettings(), wal_settings or WalSettings()
        environment = Environment(
            OffLoopObjects(objects), calls or ThreadCalls(), clock or SystemClock(), chance or SystemChance()
        )
        is_in_store = False
        if isinstance(wal_settings, JournalSettings) and wal_settings.place == "store":
            is_in_store = True
            settings, quarantine = limited(settings), None  # What no partition can hold stays in its rounds.
            place = OffLoopObjects(rounds) if rounds else environment.objects
            if seat is not None:
                begun = await begin_life(place, environment, settings, wal_settings, seat, threaded=threaded)
            else:
                begun = await begin_rounds(
                    place,
                    environment,
                    settings,
                    wal_settings,
                    node_id=node_id,
                    take_over=take_over,
                    here=here or Here(),
                    threaded=threaded,
                )
            local = begun.local
        found = local or await open_local(
            wal_directory, environment, settings, wal_settings, threaded=threaded, reserve_size=reserve_size
        )
        try:
            if not is_in_store:
                begun = await begin(found, environment, settings, take_over=take_over, here=here or Here())
            # A thread of their own, so that no store that is slow with segments keeps looks at the owner waiting.
            look_calls = ThreadCalls(1) if threaded else None
            shelf = Quarantine(quarantine, environment.chance) if quarantine else None
            logs = cls(begun, settings, shelf, look_calls)
            tell_recovered(found, len(logs._openings.homes))
            logs.recovered = found.wal.on_disk_size(), found.seconds
        except BaseException:
            if local is None or local.is_taken:
                found.close()
            raise
        if resume_deletes:
            logs.begin_deleting()
        if background:
            logs._flusher.start()
            logs._upkeep.start()
        if background and threaded:
            logs.owner.start()
        return logs

    # Partitions

    async def partition(
        self, home: PartitionId, settings: PartitionSettings | None = None, epoch: int | None = None
    ) -> PartitionLog:
        """A partition's log; opened, and made, when it is not open yet. One of several leads it in its row's epoch."""
        self._check_alive()
        if home.topic_id in self._deletions:
            raise PartitionDeleted(home.path)
        if home in self._partitions:
            return self._partitions[home]
        return await self._openings.open(home, settings or PartitionSettings(), epoch)

    def stored(self, home: PartitionId) -> StoredPartition:
        """What the store has of a partition that is led elsewhere, to be read."""
        return StoredPartition(self._ground, home)

    async def give_up(self, partition: PartitionLog) -> None:
        """Flush all of a partition, and close it in the turn in which nothing is left: then another may lead it.

        Nobody may find it any more who is not under way with it already.
        """
        while partition.is_storing or partition.marks.log_end > partition.marks.flushed:
            await self._ground.calls.local(self._ground.journal.sync)
            await asyncio.sleep(0)  # Word of durability is on its way to us.
            await partition.flush()
            await partition.settled()
        self.drop(partition)

    def drop(self, partition: PartitionLog) -> None:
        """Another leads it: who waits is told, and what is left of it here is nobody's business any more."""
        if self._partitions.get(partition.home) is partition:
            del self._partitions[partition.home]
        partition.tail.clear()
        partition.fail(LedElsewhere(partition.home.path))

    def _welcome(self, partition: PartitionLog) -> None:
        """A partition is open, unless the logs have stopped or its topic was deleted meanwhile."""
        self._check_alive()
        if partition.home.topic_id in self._deletions:
            raise PartitionDeleted(partition.home.path)
        self._partitions[partition.home] = partition
        self._openings.note_set_back([partition])
        self._changed(partition)

    def _note_set_back(self) -> None:
        self._openings.note_set_back(self._partitions.values())

    @property
    def producer_ids(self) -> ProducerIdsGiven:
        """Whoever hands out producer ids says here which exist."""
        return self._ground.producer_ids

    @property
    def identity(self) -> Identity:
        """Whose logs these are."""
        return self._ground.journal.identity

    @property
    def objects(self) -> Objects:
        """The store. Where it is full and on our disk, small puts may use the disk's reserve."""
        return self._ground.objects

    @property
    def incarnation(self) -> str:
        """Which process this is, in what it writes into the store."""
        return self._ground.journal.incarnation

    def collect_versions(self, prefix: str, newest: Callable[[], int]) -> None:
        """Old versions under this prefix are to be deleted, too, from time to time; `newest` tells the number."""
        self._upkeep.collect_versions(prefix, newest)

    @property
    def partitions(self) -> list[PartitionLog]:
        """The partitions that are open."""
        return list(self._partitions.values())

    async def room(self) -> None:
        """Wait until producers may go on. Held back, never lost."""
        await self._room.wait()

    async def delete_topic(self, topic_id: UUID) -> None:
        """Delete a topic for ever. Durable on return; what is left of it goes in the background, also after a crash."""
        self._check_alive()
        leaving = [each for home, each in self._partitions.items() if home.topic_id == topic_id]
        self._deletions.mark(topic_id, leaving)
        for partition in leaving:
            del self._partitions[partition.home]
            partition.delete()
        self._openings.forget(topic_id)
        await self._deletions.marked(topic_id)

    def begin_deleting(self, strike: Strike = no_list) -> None:
        """Delete what is left of topics that are deleted, once `strike` has struck them off a list kept elsewhere."""
        self._deletions.begin(strike)

    async def struck(self, topic_id: UUID) -> None:
        """Wait until a topic that is deleted is struck off, or that has failed once: it goes on in the background."""
        await self._deletions.tried(topic_id)

    @property
    def deleted(self) -> set[UUID]:
        """Topics that are known to be deleted."""
        return set(self._deletions)

    @property
    def unopened(self) -> set[UUID]:
        """Topics that the write-ahead log has or had batches of, and of which some partition is not open."""
        known = [*self._openings.homes, *self._ground.journal.kept.flushed]
        return {home.topic_id for home in known if home not in self._partitions} - self.deleted

    def check_partitions(self, more: int) -> None:
        """Raise if there cannot be so many partitions more."""
        there = max(len(self._partitions) + len(self._openings.homes), len(self._ground.journal.kept.flushed))
        check_marks(there + more, self._ground.settings.wal_size_max)

    # Space

    def check_disk(self) -> None:
        """Raise DiskFull when the disk has no room for what producers send."""
        if self._space is not None:
            self._space.check()

    @property
    def is_disk_low(self) -> bool:
        return self._space is not None and self._space.is_low

    def _changed(self, partition: PartitionLog | None = None) -> None:
        """A partition's tail has grown or shrunk, or it has failed; without one, others let go of their entries."""
        if partition is None:
            self._flusher.wake()
        else:
            self._purge.note(partition)
            self._room.note(partition)
            self._flusher.note(partition)
        self._room.update()

    def _grew(self, partition: PartitionLog, size: int) -> None:
        """The same of a tail that has grown. A purge must know at once; when to flush it is looked at once a turn."""
        self._purge.note(partition)
        if not self._grown:
            self._loop.call_soon(self._look_at_grown)
        self._grown[partition] = None
        self._room.grew(size)

    def _look_at_grown(self) -> None:
        grown, self._grown = self._grown, {}
        for partition in grown:
            self._changed(partition)

    def _became_durable(self) -> None:
        self._room.spill()
        self._room.update()
        self._flusher.look()

    def purge(self, *, chunks_only: bool = False) -> None:
        """Let the log go below the oldest entry that anything still needs; or only if that frees a chunk."""
        self._purge.purge(chunks_only=chunks_only)

    # The end

    async def flush_all(self) -> None:
        """Flush everything that is durable."""
        await self._flusher.flush_all(self._partitions.values())

    @property
    def is_flushed(self) -> bool:
        """Whether nothing is in the write-ahead log alone."""
        return not self._openings.homes and not any(len(each.tail) for each in self._partitions.values())

    async def close(self, timeout_ms: int | None = None, *, is_cut_off: bool = False) -> None:
        """Make everything durable, flush within the time limit (of the settings, if no other), let the directory go.

        Who is cut off from the store does not wait for it behind that.
        """
        limit_ms = self._ground.settings.close_timeout_ms if timeout_ms is None else timeout_ms
        self._room.close()
        await self._upkeep.stop()
        await self.owner.stop()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._finish(), limit_ms / 1000)
        is_sound = self._failure is None
        if is_sound:
            self.purge()
        await self._deletions.close()
        await self._openings.close()
        for partition in self._partitions.values():
            partition.fail(LogsStopped("closed"))
        self._failure = self._failure or LogsStopped("closed")
        self._tell_waiters(self._failure)
        if self._space is not None:
            self._space.close()
        if is_sound and not is_cut_off:
            await self._ground.calls.ended(_CALLS_S)  # Nobody writes into the store behind the lock, if it answers.
        for calls in (self._look_calls, self._ground.calls):  # A partition that is being opened may still look.
            if calls is not None:
                calls.close()
        self._ground.journal.close(is_cut_off=is_cut_off)

    async def _finish(self) -> None:
        """Make everything durable and flush it, as far as the store lets us. A log that has failed waits for no store:
        the next start flushes what is durable."""
        await self._flusher.stop(now=isinstance(self._failure, LogsStopped))
        if self._failure is None:
            with contextlib.suppress(HoldfastError):
                await self._ground.calls.local(self._ground.journal.sync)
                await asyncio.sleep(0)  # Word of durability is on its way to us.
            await self.flush_all()
            with contextlib.suppress(HoldfastError):
                await self._upkeep.save_time()
        elif isinstance(self._failure, Fenced):
            await self._openings.save_all_fenced(self._partitions.values())

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _stop_fenced(self, failure: Fenced) -> None:
        """Another process owns the store: nothing is acknowledged or read here any more."""
        self._ground.journal.stop(failure)
        self._fail(failure)

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
        ground, held = self._ground, self._room.held_back
        return LogsStat(
            ground.journal.stat(),
            ground.reader.blocks.counters(),
            ground.read_times,
            self._use.size,
            self.has_room,
            ground.flushed,
            ground.pace.segment_size_max,
            self._deletions.stat(),
            ground.damage,
            ground.unreadable,
            ground.time.apart_ms,
            held.reason,
            held.seconds(),
            self._space.free_size() if self._space is not None else None,
            self._space.reserve_size if self._space is not None else 0,
        )

    def kept_entries(self) -> tuple[int, str]:
        """Bytes of the write-ahead log that a start would read again, and what keeps the oldest of them, in words."""
        return self._ground.journal.size_from(self._purge.needed()), self._purge.who_needs_most()[0]

    def size_from(self, index: int) -> int:
        """Bytes of the write-ahead log from an entry on."""
        return self._ground.journal.size_from(index)

    @property
    def told(self) -> Collection[int]:
        """How many entries became durable together, of the last times."""
        return self._ground.journal.told

    @property
    def garbage(self) -> int:
        """Objects that no manifest needs any more, and that wait until they are old enough to be deleted."""
        return self._upkeep.garbage

    def before_flush(self, gather: Callable[[], None]) -> None:
        """Call once before anything more of the write-ahead log is flushed: it may append."""
        self._ground.journal.before_flush(gather)

    @property
    def has_room(self) -> bool:
        """Whether producers may go on without waiting."""
        return self._room.is_open

    @property
    def own_failure(self) -> Exception | None:
        """What stopped the logs by themselves, also while they were closed."""
        return self._failure if self._failed.is_set() else None

    @property
    def failure(self) -> Exception | None:
        """What stopped the logs, if anything did."""
        return self._failure
