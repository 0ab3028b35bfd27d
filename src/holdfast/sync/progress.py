"""What a run says of itself: counts that only grow, and a look at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.sync.carry.lane import CopyLane


@dataclass
class SyncCounts:
    """Of one lane, in this process."""

    records: int = 0
    bytes: int = 0
    echoes: int = 0  # Not sent back to where they came from.
    lost: int = 0  # Not applied, since a later write of the same key was there: last writer wins.
    again: int = 0  # Records of the target written once more, since they were later than what lay behind them.
    expired: int = 0  # Gone at the source before they could be copied.
    set_aside: int = 0  # Refused by the target, and written to a topic of their own.
    unreadable: int = 0  # Offsets of batches that nobody can read: they stay where they are.

    @classmethod
    def of_all(cls, some: Iterable[SyncCounts]) -> SyncCounts:
        total = cls()
        for each in some:
            for one in fields(cls):
                setattr(total, one.name, getattr(total, one.name) + getattr(each, one.name))
        return total


@dataclass
class Troubles:
    """What went wrong and was tried again."""

    count: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class TopicLook:
    """One topic of one direction at one moment."""

    topic: str
    partitions: int
    counts: SyncCounts
    lag_records: int
    lag_ms: int
    held: Mapping[str, str] = field(default_factory=dict)  # Partitions that wait, and why.


@dataclass(frozen=True, slots=True)
class SyncLook:
    """A direction at one moment."""

    direction: str
    state: str
    topics: list[TopicLook]
    errors: int
    last_error: str
    saves: int
    groups: int
    saved_at_ms: int = -1  # When checkpoints were saved last; -1: not yet.

    @property
    def counts(self) -> SyncCounts:
        return SyncCounts.of_all(each.counts for each in self.topics)

    @property
    def held(self) -> dict[str, str]:
        """Partitions that wait, and why."""
        return {where: why for each in self.topics for where, why in each.held.items()}

    @property
    def lag_records(self) -> int:
        return sum(each.lag_records for each in self.topics)

    @property
    def lag_ms(self) -> int:
        return max((each.lag_ms for each in self.topics), default=0)


def look_at(
    direction: str, state: str, lanes: Iterable[CopyLane], troubles: Troubles, saved: tuple[int, int, int], now_ms: int
) -> SyncLook:
    """The lanes of a direction, by topic."""
    by_topic: dict[str, list[CopyLane]] = {}
    for lane in lanes:
        by_topic.setdefault(lane.where.topic, []).append(lane)
    topics = [_topic(name, some, now_ms) for name, some in sorted(by_topic.items())]
    return SyncLook(direction, state, topics, troubles.count, troubles.last, *saved)


def _topic(name: str, lanes: list[CopyLane], now_ms: int) -> TopicLook:
    ages = [now_ms - each.last_timestamp for each in lanes if each.lag and each.last_timestamp >= 0]
    counts = SyncCounts.of_all(each.counts for each in lanes)
    held = {str(each.where): str(each.held) for each in lanes if each.held is not None}
    return TopicLook(name, len(lanes), counts, sum(each.lag for each in lanes), max(0, *ages, 0), held)
