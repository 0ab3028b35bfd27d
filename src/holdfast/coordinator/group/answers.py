"""What a group answers, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class GroupState(Enum):
    """Where a group is in its cycle; the values are the names that clients know."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"  # Members are to join.
    COMPLETING = "CompletingRebalance"  # Members have joined; the leader's assignment is awaited.
    ASSIGNING = "Assigning"  # Of a consumer group: a new target is to be found.
    RECONCILING = "Reconciling"  # Of a consumer group: members have yet to reach the target.
    STABLE = "Stable"
    DEAD = "Dead"


class GroupType(Enum):
    """Which protocol a group follows; the values are the names that clients know."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


class JoinedMember(NamedTuple):
    """One member, as the leader needs to know it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Joined:
    """A member is in a generation."""

    generation: int
    protocol_type: str
    protocol_name: str
    leader_id: str
    member_id: str
    members: tuple[JoinedMember, ...] = ()  # Only for the leader.
    skip_assignment: bool = False  # The leader need not assign: what it assigned before still holds.


@dataclass(frozen=True, slots=True)
class Synced:
    """A member has its assignment, as the leader sent it."""

    protocol_type: str
    protocol_name: str
    assignment: bytes


class CommittedOffset(NamedTuple):
    """How far a group has read one partition."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    committed_at_ms: int = 0
    expires_at_ms: int = -1


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """One member, as an operator sees it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes  # Empty unless the group is stable.
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """One group, as an operator sees it."""

    group_id: str
    state: GroupState
    protocol_type: str
    protocol_name: str  # Empty unless the group is stable.
    generation: int
    members: tuple[MemberDescription, ...]


@dataclass(frozen=True, slots=True)
class GroupListing:
    """One line of the list of groups."""

    group_id: str
    protocol_type: str
    state: GroupState
    type: GroupType = GroupType.CLASSIC
    member_count: int = 0
