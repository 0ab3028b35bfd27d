"""All topics and partitions in a few sums, kept for a while: every list and every series is made of the same look.

A look costs a few microseconds for each partition whose marks have moved, and next to nothing for the others. It is
made again after a second, or later, up to five, where it would take more than a hundredth of a core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Final, NamedTuple
from uuid import UUID

from holdfast.errors import Corrupt
from holdfast.io.clock import Clock
from holdfast.io.turns import Pace
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.partition.marks import Marks
from holdfast.log.partition.partition import PartitionLog

_AGE_S_MIN = 0.9
_AGE_S_MAX = 5.0  # The first look costs much more than those that follow.
_ANEW_S = 10.0  # Then a row is made again, whatever its marks say: damage moves none.
_SIZES_MAX = 200_000  # Partitions.
_CONFIG_SIZE = 100  # Letters of a config's value that a list shows.
_INTERNAL = "__"  # What names of internal topics begin with.
_SHARE: Final = 0.01  # Of a core.


class ShownTopic(NamedTuple):
    """A topic, and its partitions; one that could not be opened is there as the reason why."""

    name: str
    topic_id: UUID
    configs: Mapping[str, str]  # Those that are set.
    logs: Sequence[PartitionLog | NotOpen]


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
    oldest_at: float = float("inf")  # When the oldest of these was appended, in the clock's seconds.
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
        names = [each for each in self.__slots__ if each not in ("log_end", "oldest_at")]
        shown = {name: getattr(self, name) for name in names}
        return shown | {
            "internal": self.is_internal,
            "configs": {name: value[:_CONFIG_SIZE] for name, value in self.configs.items()},
            "oldest_unflushed_s": round(self.oldest_unflushed_s, 1),
            "rate": None if self.rate is None else round(self.rate, 1),
        }

    def add(self, log: PartitionLog | NotOpen, size: int) -> None:
        """One of its partitions, whose segments have so many bytes."""
        if isinstance(log, LedElsewhere):
            return
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
            self.oldest_at = min(self.oldest_at, first.appended_at)
        self.newest_ms = max(self.newest_ms, newest_ms(log))


def newest_ms(log: PartitionLog) -> int:
    """The highest timestamp of its last batch, or of its last segment; -1 without any."""
    if log.tail.in_memory:
        return log.tail.in_memory[-1].max_timestamp
    segments = log.manifest.segments
    return segments[-1].max_timestamp if segments else -1


class _LookedAt(NamedTuple):
    """A topic, as it was when its row was made. Marks are replaced whole: the same ones mean that nothing has moved."""

    topic: ShownTopic
    marks: list[Marks | None]
    row: TopicRow
    at: float


class TopicSurvey:
    """Belongs to one event loop."""

    def __init__(self, topics: Callable[[], Sequence[ShownTopic]], clock: Clock) -> None:
        self._topics = topics
        self._clock = clock
        self._looking = asyncio.Lock()
        self._at = float("-inf")
        self._cost_s = float("inf")
        self._looked_at: dict[str, _LookedAt] = {}
        self._sizes: dict[str, tuple[int, int]] = {}  # Of each partition's segments, by the manifest's version.
        self.rows: dict[str, TopicRow] = {}

    async def look(self) -> dict[str, TopicRow]:
        """All topics by name, as they were a moment ago."""
        async with self._looking:
            now = self._clock.monotonic()
            cost_s = 0.0 if self._cost_s == float("inf") else self._cost_s
            if now - self._at >= min(max(_AGE_S_MIN, cost_s / _SHARE), _AGE_S_MAX):
                await self._look(now)
                self._cost_s = min(self._now() - now, 2 * self._cost_s)  # Others had their turn meanwhile, too.
            return self.rows

    async def _look(self, now: float) -> None:
        before = {name: row.log_end for name, row in self.rows.items()}
        looked_at = {each.name: await self._one(each, now) async for each in Pace(self._now).through(self._topics())}
        passed_s = now - self._at
        for name, looked in looked_at.items():
            row = looked.row
            row.rate = max(row.log_end - before[name], 0) / passed_s if name in before else None
            row.oldest_unflushed_s = max(now - row.oldest_at, 0.0)
        self._looked_at, self._at = looked_at, now
        self.rows = {name: each.row for name, each in looked_at.items()}

    async def _one(self, topic: ShownTopic, now: float) -> _LookedAt:
        known = self._looked_at.get(topic.name)
        marks = [each.marks if isinstance(each, PartitionLog) and each.is_alive else None for each in topic.logs]
        if (
            known is not None
            and now - known.at < _ANEW_S
            and known.topic == topic
            and all(map(is_, marks, known.marks))
        ):
            return known
        return _LookedAt(topic, marks, await self._row(topic), now)

    def _now(self) -> float:
        return self._clock.monotonic()

    async def _row(self, topic: ShownTopic) -> TopicRow:
        row = TopicRow(topic.name, len(topic.logs), configs=dict(topic.configs))
        async for log in Pace(self._now).through(topic.logs):
            row.add(log, self.size_of(log) if isinstance(log, PartitionLog) else 0)
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
