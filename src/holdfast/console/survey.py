"""All topics and partitions in a few sums, kept for a while: every list and every series is made of the same look.

A look costs a few microseconds for each partition. It is made again after a second, or later where there are so many
that it would take more than a hundredth of a core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import UUID

from holdfast.console.pace import paced
from holdfast.errors import Corrupt
from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog

_AGE_S_MIN = 1.0
_SIZES_MAX = 200_000  # Partitions.
_INTERNAL = "__"  # What names of internal topics begin with.
_SHARE: Final = 0.01  # Of a core.


class ShownTopic(NamedTuple):
    """A topic, and its partitions; one that could not be opened is there as the reason why."""

    name: str
    topic_id: UUID
    configs: Mapping[str, str]  # Those that are set.
    logs: Sequence[PartitionLog | Corrupt]


@dataclass(slots=True)
class TopicRow:
    """One topic. Offsets, not records, are counted: compaction and transactions leave holes."""

    name: str
    partitions: int
    durability: str = ""
    compacted: bool = False
    configs: dict[str, str] = field(default_factory=dict)  # Those that are set.
    records: int = 0
    size: int = 0  # Bytes, stored and not.
    unflushed_size: int = 0
    unflushed: int = 0  # Partitions with records that are in no segment.
    oldest_unflushed_s: float = 0.0
    newest_ms: int = -1
    log_end: int = 0
    rate: float | None = None  # Records a second, since the look before.
    failed: int = 0
    damaged: int = 0
    open_transactions: int = 0
    held_back: int = 0  # Offsets that read-committed consumers do not see yet.

    @property
    def is_internal(self) -> bool:
        return self.name.startswith(_INTERNAL)

    def shown(self) -> dict[str, Any]:
        names = [each for each in self.__slots__ if each != "log_end"]
        shown = {name: getattr(self, name) for name in names}
        return shown | {
            "internal": self.is_internal,
            "oldest_unflushed_s": round(self.oldest_unflushed_s, 1),
            "rate": None if self.rate is None else round(self.rate, 1),
        }

    def add(self, log: PartitionLog | Corrupt, size: int, now: float) -> None:
        """One of its partitions, whose segments have so many bytes."""
        if isinstance(log, Corrupt) or not log.is_alive:
            self.failed += 1
            return
        marks = log.marks
        self.durability, self.compacted = log.settings.durability, "compact" in log.settings.cleanup
        self.records += marks.high_watermark - marks.log_start
        self.log_end += marks.log_end
        self.size += size + log.tail.size
        self.unflushed_size += log.tail.size
        self.damaged += log.damaged
        self.open_transactions += log.transactions.open_count
        if log.transactions.open_count:
            self.held_back += marks.high_watermark - log.last_stable
        first = log.tail.first
        if first is not None:
            self.unflushed += 1
            self.oldest_unflushed_s = max(self.oldest_unflushed_s, now - first.appended_at)
        self.newest_ms = max(self.newest_ms, newest_ms(log))


def newest_ms(log: PartitionLog) -> int:
    """The highest timestamp of its last batch, or of its last segment; -1 without any."""
    if log.tail.in_memory:
        return log.tail.in_memory[-1].max_timestamp
    segments = log.manifest.segments
    return segments[-1].max_timestamp if segments else -1


class TopicSurvey:
    """Belongs to one event loop."""

    def __init__(self, topics: Callable[[], Sequence[ShownTopic]], clock: Clock) -> None:
        self._topics = topics
        self._clock = clock
        self._looking = asyncio.Lock()
        self._at = float("-inf")
        self._good_for_s = 0.0
        self._sizes: dict[str, tuple[int, int]] = {}  # Of each partition's segments, by the manifest's version.
        self.rows: dict[str, TopicRow] = {}

    async def look(self) -> dict[str, TopicRow]:
        """All topics by name, as they were a moment ago."""
        async with self._looking:
            now = self._clock.monotonic()
            if now - self._at >= self._good_for_s:
                rows = {each.name: await self._row(each, now) async for each in paced(self._topics(), self._now)}
                passed_s = now - self._at
                for name, row in rows.items():
                    if name in self.rows:
                        row.rate = max(row.log_end - self.rows[name].log_end, 0) / passed_s
                self.rows, self._at = rows, now
                self._good_for_s = max(_AGE_S_MIN * 0.9, (self._now() - now) / _SHARE)
            return self.rows

    def _now(self) -> float:
        return self._clock.monotonic()

    async def _row(self, topic: ShownTopic, now: float) -> TopicRow:
        row = TopicRow(topic.name, len(topic.logs), configs=dict(topic.configs))
        async for log in paced(topic.logs, self._now):
            row.add(log, self.size_of(log) if isinstance(log, PartitionLog) else 0, now)
        return row

    def size_of(self, log: PartitionLog) -> int:
        """Bytes of a partition's segments."""
        path, version = log.home.path, log.manifest.version
        known = self._sizes.get(path)
        if known is None or known[0] != version:
            if len(self._sizes) > _SIZES_MAX:
                self._sizes.clear()
            known = self._sizes[path] = version, sum(each.size for each in log.manifest.segments)
        return known[1]
