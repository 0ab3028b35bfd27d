"""Partitions on their way from what the write-ahead log brought back to being open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from uuid import UUID

from holdfast.errors import Corrupt
from holdfast.log.context import LogContext
from holdfast.log.errors import SetBack, StoreBehind
from holdfast.log.metadata import Identity
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.tail import Tail
from holdfast.log.recovery.quarantine import Quarantine
from holdfast.log.recovery.quarantine_mover import QuarantineMover
from holdfast.log.recovery.replay import ReplayedTails, continue_at
from holdfast.log.settings import PartitionSettings
from holdfast.segment.errors import HigherEpoch, NoManifest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import Epoch, PartitionId

log = logging.getLogger(__name__)


class Openings:
    """Belongs to one event loop. A partition is opened once, however many ask for it meanwhile."""

    def __init__(
        self,
        ground: LogContext,
        replayed: ReplayedTails,
        quarantine: Quarantine | None,
        welcome: Callable[[PartitionLog], None],
        check_owner: Callable[[], Awaitable[None]],
        on_set_back: Callable[[], None],
    ) -> None:
        """`welcome` takes a partition that is open, or raises if it came too late.

        `check_owner` raises if another has taken the store over.
        `on_set_back` is called when one shows that the data directory was set back to an earlier day.
        """
        self._ground = ground
        self._use = replayed.use
        self._tails = replayed.tails  # Of partitions nobody has opened yet.
        self._strays = replayed.strays
        self._mover = QuarantineMover(ground, quarantine)
        self._mover.forget_saved(self._tails, self._strays)
        self._welcome = welcome
        self._check_owner = check_owner
        self._set_back_generation = 0
        self._on_set_back = on_set_back
        self._under_way: dict[PartitionId, asyncio.Future[PartitionLog]] = {}

    @property
    def homes(self) -> list[PartitionId]:
        """Partitions that the write-ahead log has batches of, and nobody has opened."""
        return list(self._tails)

    def tail(self, home: PartitionId) -> Tail | None:
        """What the write-ahead log has of a partition nobody has opened."""
        return self._tails.get(home)

    @property
    def tails(self) -> list[Tail]:
        """The tails of partitions nobody has opened."""
        return [*self._tails.values(), *self._strays.values()]

    def under_way(self, topic_id: UUID) -> list[asyncio.Future[PartitionLog]]:
        """The partitions of a topic that are being opened."""
        return [task for home, task in self._under_way.items() if home.topic_id == topic_id]

    def forget(self, topic_id: UUID) -> None:
        """A topic is deleted: nobody needs its tails."""
        for tails in (self._tails, self._strays):
            for home in [home for home in tails if home.topic_id == topic_id]:
                tails.pop(home).clear()

    async def open(self, home: PartitionId, settings: PartitionSettings, epoch: int | None = None) -> PartitionLog:
        """Open a partition, or make it. A tail that cannot go on where the store ends goes to quarantine.

        With an `epoch`, that of the partition's row, it is led in that one, and not in the log's generation.
        """
        if home not in self._under_way:
            self._under_way[home] = asyncio.ensure_future(self._open(home, settings, epoch))
            self._under_way[home].add_done_callback(lambda task: self._opened(home, task))
        return await asyncio.shield(self._under_way[home])

    def _opened(self, home: PartitionId, task: asyncio.Future[PartitionLog]) -> None:
        self._under_way.pop(home, None)
        if not task.cancelled():
            task.exception()  # Whoever waited may have been stopped: then nobody is left to tell.

    async def _open(self, home: PartitionId, settings: PartitionSettings, epoch: int | None) -> PartitionLog:
        await self._mover.leave(home)
        try:
            self._mover.check(home)
            if epoch is None:
                partition = await self._open_sound(home, settings)
            else:
                partition = await self._open_led(home, settings, epoch)
        except Corrupt as failure:
            tails = [each[home] for each in (self._strays, self._tails) if home in each]
            quarantined = await self._mover.save(home, tails, failure)
            if quarantined is None:
                raise
            raise quarantined from failure
        self._welcome(partition)
        self._tails.pop(home, None)
        return partition

    async def _open_sound(self, home: PartitionId, settings: PartitionSettings) -> PartitionLog:
        journal = self._ground.journal
        tail, mark = self._tails.get(home) or Tail(self._use), journal.kept.flushed.get(home, 0)
        start = tail.first.base if tail.first is not None else 0
        try:
            manifests = await self._ground.open_manifests(home, create=mark == start == 0)
        except NoManifest as missing:
            raise StoreBehind(home.path, 0, start or mark) from missing
        manifest = manifests.manifest
        taken_over = manifest.stamp.writer != journal.identity.broker
        known = max(tail.end or 0, mark)
        continue_at(tail, manifest, self._strays.get(home), mark)
        if home in self._strays:
            self._strays.pop(home).clear()
        is_set_back = not taken_over and manifest.flushed > known and not _is_only_taken(manifest, journal.identity)
        if is_set_back:
            log.warning("%s", SetBack(home.path, known, manifest.flushed))
        if taken_over or is_set_back or manifest.epoch > journal.identity.generation:
            # Written by somebody else: before our time, or by whom we have not seen take our place yet. Behind the
            # read, since whoever has has claimed the store before. If one does from here on, it has to raise the epoch
            # just as we do, and only one of the two gets the next version.
            await self._check_owner()
        await self._raise_generation(manifest, taken_over=taken_over or is_set_back)
        partition = PartitionLog(self._ground, home, settings, manifests, tail)
        await partition.note_replayed()
        partition.epochs.note(journal.identity.generation, partition.marks.log_end)
        if taken_over or is_set_back:
            await partition.take_over()
        if is_set_back:
            self._set_back_generation = max(self._set_back_generation, journal.identity.generation)
            self._on_set_back()
        return partition

    async def _open_led(self, home: PartitionId, settings: PartitionSettings, epoch: int) -> PartitionLog:
        """One whose row names us, or whose tail we settle. Its epoch is in the manifest before it is served."""
        tail = self._tails.get(home) or Tail(self._use)
        try:
            manifests = await self._ground.open_manifests(home, create=tail.first is None, epoch=epoch)
        except NoManifest as missing:
            raise StoreBehind(home.path, 0, tail.end or 0) from missing
        if manifests.manifest.epoch > epoch:
            raise HigherEpoch(home.manifests, Epoch(epoch), manifests.manifest.epoch)
        continue_at(tail, manifests.manifest)
        partition = PartitionLog(self._ground, home, settings, manifests, tail)
        await partition.note_replayed()
        partition.epochs.note(epoch, partition.marks.log_end)
        await partition.take_over()
        return partition

    def note_set_back(self, partitions: Iterable[PartitionLog]) -> None:
        """One partition proves that the whole directory was set back: no other may go on in an epoch it had then."""
        for each in partitions:
            each.epochs.note(self._set_back_generation, each.marks.log_end)

    async def _raise_generation(self, manifest: Manifest, *, taken_over: bool) -> None:
        """No leader epoch may be ours that another broker may have used."""
        journal = self._ground.journal
        generation = journal.identity.generation
        if manifest.epoch > generation or (taken_over and manifest.epoch == generation):
            await self._ground.calls.local(journal.raise_generation, manifest.epoch + 1)

    async def save_fenced(self, partition: PartitionLog) -> None:
        """What another leader's writing has made homeless goes to quarantine."""
        quarantined = await self._mover.save(partition.home, [partition.tail], partition.failure or Corrupt("fenced"))
        if quarantined is not None:
            log.error("%s", quarantined)

    async def save_all_fenced(self, partitions: Iterable[PartitionLog]) -> None:
        """Another has the store: what was acknowledged here and is not stored goes to quarantine, with a line each."""
        left = [each for each in partitions if len(each.tail)]
        records = sum(each.marks.log_end - each.marks.flushed for each in left)
        facts = {"event": "fenced", "partitions": len(left), "records": records}
        told = "fenced: %d records of %d partitions are not in the store, and go to quarantine now"
        log.error(told, records, len(left), extra={"facts": facts})
        for partition in left:
            await self.save_fenced(partition)

    async def close(self) -> None:
        """Nothing goes to quarantine any more."""
        await self._mover.close()


def _is_only_taken(manifest: Manifest, identity: Identity) -> bool:
    """Nothing was stored since the newest epoch was raised: what is there was found, and need not be in our log.

    An epoch that our log does not know is no such proof: it was raised in a time that the log has lost.
    """
    return manifest.flushed == manifest.epochs[-1].start and manifest.epoch <= identity.generation
