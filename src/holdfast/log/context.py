"""What all partitions of one broker stand on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.io.believed_time import BelievedTime
from holdfast.io.calls import BlockingCalls
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries
from holdfast.log.background.flush_size import FlushSize
from holdfast.log.damage import Damage
from holdfast.log.journal import Journal
from holdfast.log.settings import LogSettings
from holdfast.measure import FlushCounts, Histogram, UnreadableCounts
from holdfast.segment.cached.blocks import BlockCache
from holdfast.segment.cached.read import KeptReader, SegmentReader
from holdfast.segment.manifest.log import ManifestLog
from holdfast.types import Epoch, PartitionId


class Environment(NamedTuple):
    """What is handed in: the store, where blocking calls are made, the time, and randomness."""

    objects: Objects
    calls: BlockingCalls
    clock: Clock
    chance: Chance


@dataclass(slots=True)
class ProducerIdsGiven:
    """Which producer ids exist: only those below the end. Whoever hands them out says so."""

    end: Callable[[], int] = lambda: 0


@dataclass(frozen=True, slots=True)
class LogContext:
    """The parts that partitions share."""

    journal: Journal
    objects: Objects
    reader: SegmentReader  # Asks the store: only through `calls`.
    kept: KeptReader  # What of it is in memory.
    calls: BlockingCalls
    clock: Clock
    chance: Chance
    patience: VersionRetries
    time: BelievedTime
    settings: LogSettings
    pace: FlushSize
    on_change: Callable[..., None]  # A partition's tail has shrunk, or it has failed, or is another; or others let go.
    on_growth: Callable[..., None]  # Its tail has grown, by so many bytes.
    room: Callable[[], Awaitable[None]]  # Waits until producers may go on.
    reads: Counter[str] = field(default_factory=Counter)  # By place: buffer, in-flight, spilled, cache, store.
    read_times: defaultdict[str, Histogram] = field(default_factory=lambda: defaultdict(Histogram))  # The same.
    flushed: FlushCounts = field(default_factory=FlushCounts)
    unreadable: UnreadableCounts = field(default_factory=UnreadableCounts)
    producer_ids: ProducerIdsGiven = field(default_factory=ProducerIdsGiven)
    damage: Damage = field(kw_only=True)

    @classmethod
    def of(
        cls,
        journal: Journal,
        environment: Environment,
        settings: LogSettings,
        on_change: Callable[..., None],
        on_growth: Callable[..., None],
        room: Callable[[], Awaitable[None]],
    ) -> LogContext:
        """The ground over a journal, with the block cache and the patience that its settings and parts make."""
        objects, calls, clock, chance = environment
        reader = SegmentReader(BlockCache(objects, settings.cache_size_max, executor=calls.executor))
        patience = VersionRetries(clock, chance, calls.block)
        pace = FlushSize(settings, objects.url)
        time = BelievedTime(clock, settings.clock_trust_ms / 1000)
        return cls(
            journal,
            objects,
            reader,
            reader.kept,
            calls,
            clock,
            chance,
            patience,
            time,
            settings,
            pace,
            on_change,
            on_growth,
            room,
            damage=Damage(clock.monotonic),
        )

    async def open_manifests(self, home: PartitionId, *, create: bool, epoch: int | None = None) -> ManifestLog:
        """The partition's newest manifest; if there is none it is made, in this epoch, or NoManifest raised."""
        identity = self.journal.identity
        first_epoch = Epoch(identity.generation if epoch is None else epoch)
        return await self.calls.run(
            ManifestLog.open,
            self.objects,
            home,
            cluster_id=identity.cluster,
            writer=identity.broker,
            patience=self.patience,
            first_epoch=first_epoch if create else None,
            forgotten_below=self.producer_ids.end(),  # A topic made again: they may have written to the one before.
            incarnation=self.journal.incarnation,
        )
