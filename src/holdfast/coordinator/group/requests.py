"""What is asked of a group, as values. Metadata and assignments are opaque bytes: members made them for each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

REASON_MAX = 200  # Characters of what a client gives as its reason.


class Protocol(NamedTuple):
    """One way to assign partitions that a member knows, and what it has to say for it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """A member wants to be in the next generation."""

    protocol_type: str
    protocols: tuple[Protocol, ...]  # In the member's order of preference.
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str = ""  # Empty: a new member.
    instance_id: str | None = None  # Of a static member.
    client_id: str = ""
    client_host: str = ""
    needs_known_id: bool = True  # JoinGroup v4 and later: a new member first gets an id, and joins again with it.
    can_skip_assignment: bool = True  # JoinGroup v9 and later.
    reason: str = ""  # In the client's words: JoinGroup v8 and later.


class Caller(NamedTuple):
    """Who a request says it comes from. Without any of it: someone who is in no group."""

    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """A member asks for its assignment; the leader brings everybody's."""

    caller: Caller
    protocol_type: str | None = None  # SyncGroup v5 and later.
    protocol_name: str | None = None
    assignments: Mapping[str, bytes] = field(default_factory=dict)  # By member id; only from the leader.


class Leaving(NamedTuple):
    """A member to be removed: by its id, or by its instance id alone."""

    member_id: str = ""
    instance_id: str | None = None
    reason: str = ""  # In the client's words: LeaveGroup v5 and later.


class OffsetToCommit(NamedTuple):
    """How far a group has read one partition."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    expires_at_ms: int = -1  # Only old clients say so; -1: the retention of the settings.
