"""Settings of share groups: those of the broker, and what a group may have of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.coordinator.share.errors import ShareConfigInvalid
from holdfast.coordinator.share.group import ShareTimes
from holdfast.coordinator.share.partition import Limits

RESET, LOCK_MS, ISOLATION = "share.auto.offset.reset", "share.record.lock.duration.ms", "share.isolation.level"
_LOCK_MS_MIN = 1_000  # As Kafka's group.share.min.record.lock.duration.ms may be set, at the lowest, …
_LOCK_MS_MAX = 3_600_000  # … and its group.share.max.record.lock.duration.ms at the highest.
_CHOICES = {RESET: ("latest", "earliest"), ISOLATION: ("read_uncommitted", "read_committed")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSettings:
    """How share groups behave, and how much they may ask for."""

    times: ShareTimes = field(default_factory=ShareTimes)
    limits: Limits = field(default_factory=Limits)
    groups_max: int = 10_000
    partitions_max: int = 50_000  # Of all groups together.

    def __post_init__(self) -> None:
        if not 0 < self.times.interval_ms < self.times.session_ms:
            raise ValueError("a share group's heartbeat interval must be above 0 and below its session timeout")
        limits = (self.times.members_max, self.limits.deliveries_max, self.limits.records_max, self.limits.lock_ms)
        if min(*limits, self.groups_max, self.partitions_max) < 1:
            raise ValueError("limits of share groups must be at least 1")


@dataclass(frozen=True, slots=True)
class ShareConfigs:
    """What one group has of its own; what it has not is the broker's."""

    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def from_earliest(self) -> bool:
        return self.given.get(RESET) == "earliest"

    @property
    def is_committed(self) -> bool:
        return self.given.get(ISOLATION) == "read_committed"

    def limits(self, of_broker: Limits) -> Limits:
        lock_ms = self.given.get(LOCK_MS)
        if lock_ms is None:
            return of_broker
        return Limits(of_broker.deliveries_max, of_broker.records_max, int(lock_ms))


def share_configs(settings: ShareSettings) -> dict[str, str]:
    """The configs that a group may have of its own, and what it has otherwise."""
    return {RESET: "latest", LOCK_MS: str(settings.limits.lock_ms), ISOLATION: "read_uncommitted"}


def check_config(name: str, value: str) -> None:
    """Raise if a group cannot have this."""
    if name == LOCK_MS:
        if not (value.isascii() and value.isdigit() and _LOCK_MS_MIN <= int(value) <= _LOCK_MS_MAX):
            raise ShareConfigInvalid(name, f"{_LOCK_MS_MIN} to {_LOCK_MS_MAX} milliseconds are allowed, not {value!r}")
    elif name not in _CHOICES:
        raise ShareConfigInvalid(name, "there is no such config of a share group")
    elif value not in _CHOICES[name]:
        raise ShareConfigInvalid(name, f"it may be {' or '.join(_CHOICES[name])}, not {value!r}")
