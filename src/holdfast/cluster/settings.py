"""The settings of brokers that share a store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How brokers that share a store know that one of them is gone."""

    member: bool = False  # Whether this broker shares its store with others: one leads, the rest can take over.
    leaders: str = "one"  # Or many: under way, each partition has a leader of its own.
    lease_renew_ms: int = 1_000  # How often a broker says that it lives, and looks whether others do.
    lease_ms: int = 3_000  # So long after it last could say so it answers clients.
    takeover_ms: int = 4_500  # A broker that said nothing for so long is taken over.

    drain_ms: int = 30_000  # So long one of many hands over what it leads when it is stopped; 0: others settle it.

    def __post_init__(self) -> None:
        if self.leaders not in ("one", "many"):
            raise ValueError("leaders must be one or many")
        if self.drain_ms < 0:
            raise ValueError("drain_ms must be at least 0")
        if self.lease_renew_ms < 10:
            raise ValueError("lease_renew_ms must be at least 10")
        if not self.lease_renew_ms < self.lease_ms < self.takeover_ms:
            raise ValueError("lease_renew_ms must be less than lease_ms, and that less than takeover_ms")
