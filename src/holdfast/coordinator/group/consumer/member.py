"""One member of a consumer group: what it wants, what it holds, and how far it has come."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TypeAlias

from holdfast.coordinator.group.requests import Protocol
from holdfast.types import PartitionId

Partitions: TypeAlias = frozenset[PartitionId]
NONE: Partitions = frozenset()

JOINS = 0  # Epochs that a member says instead of its own: it comes, …
LEAVES = -1  # … it goes, …
PAUSES = -2  # … it goes and its instance will be back.


class MemberState(enum.IntEnum):
    """What a member waits for; numbered as in its record."""

    STABLE = 0
    UNREVOKED = 1  # It has yet to say that it has let go of `revoking`.
    UNRELEASED = 2  # Others hold a part of its target.


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """What a member has said that speaks the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[Protocol, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """A member. `assigned` and `revoking` are all that it may hold; nobody else is given any of it."""

    id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str = ""  # Empty: none.
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicSide | None = None  # None: it speaks the new protocol.

    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Partitions = NONE
    revoking: Partitions = NONE

    @property
    def held(self) -> Partitions:
        return self.assigned | self.revoking if self.revoking else self.assigned

    @property
    def is_away(self) -> bool:
        """An instance that has said that it will be back."""
        return self.epoch == PAUSES

    def is_settled(self, target_epoch: int) -> bool:
        """It has all of the target, and nothing else."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def says_the_same(self, other: ConsumerMember) -> bool:
        """Whether what the two have told of themselves is equal; what they hold may differ."""
        return self.wishes == other.wishes

    @property
    def wishes(self) -> tuple[object, ...]:
        return (
            self.instance_id,
            self.rack_id,
            self.client_id,
            self.client_host,
            self.topics,
            self.regex,
            self.rebalance_timeout_ms,
            self.assignor,
            self.classic,
        )

    @property
    def progress(self) -> tuple[object, ...]:
        return (self.epoch, self.previous_epoch, self.state, self.assigned, self.revoking)

    def advanced(self, epoch: int, state: MemberState, assigned: Partitions, revoking: Partitions) -> ConsumerMember:
        """The member at an epoch, which may be the one it is at."""
        previous = self.epoch if epoch != self.epoch else self.previous_epoch
        return replace(self, epoch=epoch, previous_epoch=previous, state=state, assigned=assigned, revoking=revoking)
