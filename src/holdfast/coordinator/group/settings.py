"""Settings of the group coordinator: values only, units in the names."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


class Migration(enum.Enum):
    """Whether groups with members may move between the protocols; the values are the words of Kafka's setting."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        return self in (Migration.BIDIRECTIONAL, Migration.UPGRADE)

    @property
    def downgrades(self) -> bool:
        return self in (Migration.BIDIRECTIONAL, Migration.DOWNGRADE)


class ConsumerTimes(NamedTuple):
    """How long a member of a consumer group may be silent, and how often it is told to say that it lives."""

    session_timeout_ms: int
    heartbeat_interval_ms: int


def _as_all(group_id: str) -> ConsumerTimes | None:
    del group_id
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """How groups behave, and how much they may ask for."""

    session_timeout_ms_min: int = 6_000
    session_timeout_ms_max: int = 30 * MINUTE_MS
    initial_rebalance_delay_ms: int = 3_000  # An empty group waits so long for more members than the first.
    new_member_timeout_ms: int = 5 * MINUTE_MS  # A parked join of an unknown member is given up after this.
    members_max: int = 10_000  # Of one classic group.
    consumer_session_timeout_ms: int = 45_000  # A member of a consumer group is gone after so long without a sign.
    consumer_heartbeat_interval_ms: int = 5_000  # What members are told.
    consumer_members_max: int = 10_000  # Of one consumer group.
    consumer_times_of: Callable[[str], ConsumerTimes | None] = _as_all  # Those of a group that has its own.
    consumer_assignors: tuple[str, ...] = ("uniform", "range")  # Members may ask for; the first is for all others.
    migration: Migration = Migration.BIDIRECTIONAL
    groups_max: int = 100_000
    silence_ms: int = MINUTE_MS  # When all are taken, groups without offsets that were silent for so long make room.
    offsets_size_max: int = 512 << 20  # Bytes of memory of the committed offsets of all groups.
    offset_metadata_size_max: int = 4096  # Bytes of text beside an offset.
    offsets_retention_ms: int = 7 * DAY_MS  # Offsets of a group without members are kept so long.
    offsets_check_ms: int = 10 * MINUTE_MS  # How often that is looked at.

    def __post_init__(self) -> None:
        if not 0 < self.session_timeout_ms_min <= self.session_timeout_ms_max:
            raise ValueError("session_timeout_ms_min must be above 0 and not above session_timeout_ms_max")
        if self.initial_rebalance_delay_ms < 0:
            raise ValueError("initial_rebalance_delay_ms must not be negative")
        least = min(self.members_max, self.groups_max, self.new_member_timeout_ms, self.offsets_check_ms)
        if min(least, self.offsets_size_max) < 1:
            raise ValueError("limits and periods must be at least 1")
        if not 0 < self.consumer_heartbeat_interval_ms < self.consumer_session_timeout_ms:
            raise ValueError("consumer_heartbeat_interval_ms must be above 0 and below consumer_session_timeout_ms")
        if not self.consumer_assignors:
            raise ValueError("consumer_assignors must name one at least")
        if self.consumer_members_max < 1:
            raise ValueError("consumer_members_max must be at least 1")

    def consumer_times(self, group_id: str) -> ConsumerTimes:
        """The times of a consumer group."""
        own = self.consumer_times_of(group_id)
        return own or ConsumerTimes(self.consumer_session_timeout_ms, self.consumer_heartbeat_interval_ms)
