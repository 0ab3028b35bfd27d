"""How all logs of a broker are now: for metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.log.damage import Damage
from holdfast.measure import FlushCounts, Histogram, UnreadableCounts
from holdfast.segment.cached.lru import ShelfCounters
from holdfast.wal import Stat


@dataclass(frozen=True, slots=True)
class DeletionsStat:
    """Topics that are deleted, and of which something is left."""

    count: int
    age_s: float  # Of the oldest, since it was deleted or the broker has started.


@dataclass(frozen=True, slots=True)
class LogsStat:
    """Figures of one moment."""

    wal: Stat
    cache: ShelfCounters
    reads: Mapping[str, Histogram]  # By place; still counting.
    tail_memory_size: int  # Bytes of tails in memory.
    has_room: bool  # Producers are not held back.
    flushed: FlushCounts  # Still counting.
    segment_size_max: int  # Bytes of a segment at most, as of now: less when the store is slow.
    deletions: DeletionsStat
    damage: Damage  # Still counting.
    unreadable: UnreadableCounts  # Still counting.
    clock_apart_ms: int  # How far the clock is ahead of the time that is believed.
    held_back: str | None  # Why, while they are.
    held_back_seconds: Mapping[str, float]  # How long so far, by reason.
    disk_free_size: int | None  # Of the disk with the write-ahead log; None: it has none, or cannot be asked.
    disk_reserve_size: int  # With less free, producers are refused.
