"""Settings of share groups: those of all of them together, and what holds for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.coordinator.share.partition import ShareLimits
from holdfast.coordinator.share.reset import Reset


@dataclass(frozen=True, slots=True)
class ShareTimes:
    """How often members are heard of, and how many there may be."""

    session_ms: int = 45_000
    interval_ms: int = 5_000
    members_max: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareConfigs:
    """What holds for one group."""

    times: ShareTimes = field(default_factory=ShareTimes)
    limits: ShareLimits = field(default_factory=ShareLimits)
    reset: Reset = field(default_factory=Reset)
    is_committed: bool = False  # Nothing of open or aborted transactions is seen.
    renews: bool = True  # Members may stay at a record for another lock duration.


_DEFAULTS = ShareConfigs()


def _as_all(group_id: str) -> ShareConfigs:
    del group_id
    return _DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSettings:
    """How share groups behave, and how much they may ask for."""

    configs_of: Callable[[str], ShareConfigs] = _as_all  # Those of a group, as they are now.
    groups_max: int = 10_000
    partitions_max: int = 50_000  # Of all groups together.

    def __post_init__(self) -> None:
        if min(self.groups_max, self.partitions_max) < 1:
            raise ValueError("limits of share groups must be at least 1")
