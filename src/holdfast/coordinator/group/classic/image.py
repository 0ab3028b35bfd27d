"""What survives of a group: the value behind the group's record."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemberImage:
    """One member that has been told its generation."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes  # What it said for the group's protocol.
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupImage:
    """One group. With members but without a leader: the generation has begun, its assignment has not come."""

    protocol_type: str
    generation: int
    protocol_name: str | None
    leader_id: str | None
    since_ms: int  # When the group came into its state; -1: not known.
    members: tuple[MemberImage, ...]

    @property
    def is_settled(self) -> bool:
        return self.leader_id is not None
