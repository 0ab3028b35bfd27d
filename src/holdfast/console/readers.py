"""Who reads which topic, and how far behind: one look through all committed offsets, kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from holdfast.console.survey import ShownTopic
from holdfast.coordinator.group.answers import CommittedOffset, GroupType
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.io.clock import Clock
from holdfast.io.turns import Pace
from holdfast.log.partition.partition import PartitionLog
from holdfast.types import TopicPartition

FindTopic = Callable[[str], ShownTopic | None]

_AGE_S_MIN: Final = 2.0
_AGE_S_MAX: Final = 5.0
_SHARE: Final = 0.01  # Of a core.


class ReaderSurvey:
    """Belongs to one event loop."""

    def __init__(self, groups: GroupCoordinator, find_topic: FindTopic, clock: Clock) -> None:
        self._groups = groups
        self._find_topic = find_topic
        self._now = clock.monotonic
        self._looking = asyncio.Lock()
        self._again_at = float("-inf")
        self._found: dict[str, dict[str, int]] = {}

    async def look(self) -> Mapping[str, Mapping[str, int]]:
        """By topic and group, records to be read, as of a moment ago. Share groups have no offsets to compare."""
        async with self._looking:
            began = self._now()
            if began >= self._again_at:
                self._found = await self._look()
                ended = self._now()
                self._again_at = ended + min(max(_AGE_S_MIN, (ended - began) / _SHARE), _AGE_S_MAX)
            return self._found

    async def _look(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        pace = Pace(self._now)
        listed = self._groups.list_groups(types=[GroupType.CLASSIC, GroupType.CONSUMER])
        async for group in pace.through(listed):
            committed = await self._groups.offsets.fetch(group.group_id)
            async for partition, each in pace.through(list(committed.items())):
                if (lag := lag_of(log_of(self._find_topic, partition), each)) is not None:
                    lags = found.setdefault(partition.topic, {})
                    lags[group.group_id] = lags.get(group.group_id, 0) + lag
        return found


def log_of(find_topic: FindTopic, partition: TopicPartition) -> PartitionLog | None:
    """What holds its records, if it is there and served."""
    topic = find_topic(partition.topic)
    found = topic.logs[partition.partition] if topic and partition.partition < len(topic.logs) else None
    return found if isinstance(found, PartitionLog) else None


def lag_of(log: PartitionLog | None, committed: Any) -> int | None:
    """Records between a committed offset and the end; None: one of them is not there."""
    if log is None or not isinstance(committed, CommittedOffset):
        return None
    return max(log.marks.high_watermark - committed.offset, 0)
