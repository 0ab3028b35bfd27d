"""One consumer group, whose coordinator assigns. Its rules, and nothing else: no I/O, no clock.

Members speak the new protocol (`beat`) or, while a group moves, the classic one (`join`, `sync`, `heartbeat`, `leave`).
Every request is answered at once. Where `revision` has grown after a call, `changes` have to be durable before any of
its answers is sent.

What holds, call by call and across a restart from what was written:
- a partition has one holder: from the answer that gives it to a member until that member has said that it owns it no
  more, has left, or was given up for its silence or its slowness;
- epochs of the group and of its members never go back, and a member that speaks of another epoch than its own is told;
- when all members are settled, every partition that anybody wants has a holder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from holdfast.coordinator.group.answers import GroupListing, GroupState, GroupType
from holdfast.coordinator.group.classic.member import Answer, Result, Ticket
from holdfast.coordinator.group.classic.subscription import CONSUMER
from holdfast.coordinator.group.consumer.classic_members import ClassicProtocol
from holdfast.coordinator.group.consumer.core import ConsumerCore
from holdfast.coordinator.group.consumer.deadlines import Wait
from holdfast.coordinator.group.consumer.errors import StaleMemberEpoch, UnsupportedAssignor
from holdfast.coordinator.group.consumer.image import ConsumerImage
from holdfast.coordinator.group.consumer.member import ConsumerMember, MemberState
from holdfast.coordinator.group.consumer.patterns import compiled
from holdfast.coordinator.group.consumer.protocol import ConsumerProtocol
from holdfast.coordinator.group.consumer.requests import (
    ConsumerGroupDescription,
    ConsumerMemberDescription,
    HeartbeatRequest,
)
from holdfast.coordinator.group.errors import GroupNotEmpty, UnknownMember, WrongGeneration
from holdfast.coordinator.group.moves import Moves
from holdfast.coordinator.group.requests import Caller, JoinRequest, Leaving, SyncRequest
from holdfast.coordinator.runtime.errors import CoordinatorStopped
from holdfast.errors import HoldfastError
from holdfast.io.chance import Chance


def check_request(request: HeartbeatRequest, assignors: tuple[str, ...]) -> None:
    """Raise for what would be refused by every group."""
    request.check()
    if request.assignor is not None and request.assignor not in assignors:
        raise UnsupportedAssignor(request.assignor, assignors)
    if request.regex:
        compiled(request.regex)


_LATE = {
    Wait.SIGN_OF_LIFE: "was not heard of in the time of its session",
    Wait.REVOCATION: "did not let go of partitions in time",
    Wait.JOIN: "did not join again in time",
    Wait.SYNC: "did not ask for its assignment",
}


class ConsumerGroup:
    """One group. Times are milliseconds of a clock that never goes back."""

    def __init__(self, core: ConsumerCore, chance: Chance) -> None:
        self.id = core.group_id
        self.core = core
        self._roster = core.roster
        self._new = ConsumerProtocol(core)
        self._classic = ClassicProtocol(core, chance)
        self._is_dead = False
        self._known_state: tuple[int, GroupState] | None = None

    def restore(self, image: ConsumerImage, now: int) -> Self:
        """Become the group of an image. Members have a whole session to be heard of again."""
        self._roster.restore(image)
        self.expect_all(now)
        return self

    def expect_all(self, now: int) -> None:
        """Give every member its time from now on."""
        for member in self._roster:
            self.core.touch(member, now)
            if member.state is MemberState.UNREVOKED:
                self.core.deadlines.set(member.id, Wait.REVOCATION, now + max(member.rebalance_timeout_ms, 0))

    # What members ask

    def beat(self, request: HeartbeatRequest, ticket: Ticket, now: int) -> list[Answer]:
        """A member of the new protocol comes, stays or goes. The request has been checked."""
        return self._run(
            ticket, now, lambda: self._new.leave(request, now) if request.leaves else self._new.beat(request, now)
        )

    def join(self, request: JoinRequest, ticket: Ticket, now: int) -> list[Answer]:
        """A member of the classic protocol comes, or goes on."""
        return self._run(ticket, now, lambda: self._classic.join(request, now))

    def sync(self, request: SyncRequest, ticket: Ticket, now: int) -> list[Answer]:
        """A member of the classic protocol asks for its assignment."""
        return self._run(ticket, now, lambda: self._classic.sync(request, now))

    def heartbeat(self, caller: Caller, ticket: Ticket, now: int) -> list[Answer]:
        """A member of the classic protocol stays."""
        return self._run(ticket, now, lambda: self._classic.heartbeat(caller, now))

    def leave(self, members: Sequence[Leaving], ticket: Ticket, now: int) -> list[Answer]:
        """Remove members, whatever they speak. One answer: a result for each, in order."""
        return self._run(ticket, now, lambda: self._classic.leave(members, now))

    def tick(self, now: int) -> list[Answer]:
        """Give up those whose time is over."""
        if self.deadline is None or self.deadline > now:
            return []  # Nothing is due; heartbeats should not cost more in larger groups.
        late = self.core.deadlines.due(now)
        members = [self._roster.get(member_id) for member_id, _ in late]
        self.core.fence([member for member in members if member is not None], now, _LATE[late[0][1]] if late else "")
        self._classic.tick(now)
        self.core.deadlines.refresh()
        return []

    def end(self, failure: HoldfastError) -> list[Answer]:
        """The group is no more. Nobody waits."""
        del failure
        self._is_dead = True
        return []

    def _run(self, ticket: Ticket, now: int, step: Callable[[], Result]) -> list[Answer]:
        result: Result
        try:
            if self._is_dead:
                raise CoordinatorStopped
            result = step()
        except HoldfastError as refusal:
            result = refusal
        self.tick(now)
        return [Answer(ticket, result)]

    # Offsets

    def check_commit(self, caller: Caller, now: int, *, in_transaction: bool = False) -> None:
        """Raise if these offsets must not be committed."""
        del now, in_transaction
        if self._is_dead:
            raise CoordinatorStopped
        if caller.generation < 0 and not len(self._roster):
            return  # Somebody who keeps offsets here, and assigns partitions without us.
        self.check_member(caller.member_id, caller.generation, caller.instance_id)

    def check_member(self, member_id: str, epoch: int, instance_id: str | None = None) -> None:
        """Raise unless this is a member, at its epoch."""
        if instance_id is not None:
            self._new.check_instance(self._roster.instance(instance_id), member_id, instance_id)
        member = self._roster.get(member_id)
        if member is None:
            raise UnknownMember(self.id, member_id)
        if epoch == member.epoch:
            return
        if member.classic is not None:
            raise WrongGeneration(self.id, epoch, member.epoch)
        raise StaleMemberEpoch(self.id, member_id, epoch, member.epoch)

    # What others see

    @property
    def moves(self) -> Moves:
        return self.core.moves

    @property
    def state(self) -> GroupState:
        if self._is_dead:
            return GroupState.DEAD
        if self._known_state is None or self._known_state[0] != self.revision:
            self._known_state = (self.revision, self._find_state())
        return self._known_state[1]

    def _find_state(self) -> GroupState:
        roster = self._roster
        if not len(roster):
            return GroupState.EMPTY
        if roster.epoch.epoch > roster.target_epoch:
            return GroupState.ASSIGNING
        return GroupState.RECONCILING if roster.count_unsettled() else GroupState.STABLE

    @property
    def epoch(self) -> int:
        return self._roster.epoch.epoch

    @property
    def revision(self) -> int:
        """How many changes there have been that have to survive."""
        return self._roster.revision

    @property
    def deadline(self) -> int | None:
        """When `tick` is to be called, at the latest."""
        ends = [end for end in (self.core.deadlines.earliest, self._classic.deadline) if end is not None]
        return None if self._is_dead else min(ends, default=None)

    @property
    def is_unused(self) -> bool:
        return not len(self._roster) and not self._classic.pending

    @property
    def protocol_type(self) -> str:
        return CONSUMER

    @property
    def members(self) -> list[ConsumerMember]:
        return list(self._roster)

    @property
    def has_only_classic_members(self) -> bool:
        """Asked after every request: the first member of the new protocol answers it."""
        return bool(len(self._roster)) and all(member.classic is not None for member in self._roster)

    def common_protocols(self) -> set[str] | None:
        """What all members of the classic protocol know; None if there are none."""
        return self._classic.common_protocols()

    def check_delete(self) -> None:
        """Raise if the group must not be deleted."""
        if len(self._roster):
            raise GroupNotEmpty(self.id)

    def topics(self) -> frozenset[str]:
        """The topics that members read."""
        return self.core.topic_names()

    def changes(self, since_ms: int) -> dict[bytes, bytes | None]:
        """Keys and values of the records of all that has changed since this was last asked."""
        del since_ms
        return self._roster.take_changes()

    def describe(self) -> ConsumerGroupDescription:
        roster = self._roster
        return ConsumerGroupDescription(
            self.id,
            self.state,
            roster.epoch.epoch,
            roster.target_epoch,
            self.core.assignor,
            tuple(ConsumerMemberDescription(member, roster.target(member.id)) for member in roster),
        )

    def listing(self) -> GroupListing:
        return GroupListing(self.id, CONSUMER, self.state, GroupType.CONSUMER, len(self.core.roster))
