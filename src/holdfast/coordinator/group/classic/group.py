"""One classic group: its rules, and nothing else. No I/O, no clock; the time comes with each call.

Each call returns the answers that have become due by it, also to requests that were parked before. A request is known
by its ticket, and gets exactly one answer, whatever happens to its member or to the group. Where `revision` has grown
after a call, `image` has to be durable before any of the answers is sent.

What holds, call by call and across a restart from any image:
- a generation that was told to a member is never told to another set of members, and later ones are higher;
- all assignments of a generation come from one call of its leader, each member's as it was sent;
- an id that was removed or fenced is never a member's again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from holdfast.coordinator.group.answers import GroupDescription, GroupListing, GroupState, MemberDescription
from holdfast.coordinator.group.classic.image import GroupImage
from holdfast.coordinator.group.classic.joining import Joining
from holdfast.coordinator.group.classic.member import Answer, Member, Ticket
from holdfast.coordinator.group.classic.rebalance import RebalanceState
from holdfast.coordinator.group.classic.subscription import CONSUMER
from holdfast.coordinator.group.errors import (
    AssignmentTooLarge,
    GroupNotEmpty,
    ProtocolMismatch,
    RebalanceInProgress,
    UnknownMember,
    WrongGeneration,
)
from holdfast.coordinator.group.moves import Moves, left
from holdfast.coordinator.group.records import encode_group, group_key
from holdfast.coordinator.group.requests import Caller, JoinRequest, Leaving, SyncRequest
from holdfast.coordinator.group.settings import GroupSettings
from holdfast.coordinator.runtime.errors import CoordinatorStopped
from holdfast.errors import HoldfastError, Rejected
from holdfast.io.chance import Chance

RECORD_SIZE_MAX = 1_000_000  # Bytes of the group's record, unless told otherwise.


class ClassicGroup:
    """One group. Times are milliseconds of a clock that never goes back."""

    def __init__(
        self, group_id: str, settings: GroupSettings, chance: Chance, record_size_max: int = RECORD_SIZE_MAX
    ) -> None:
        self.id = group_id
        # One half of the record for what members say, one for what they are assigned.
        self._size_max = (record_size_max - len(group_id.encode())) // 2
        self._cycle = RebalanceState(group_id, settings)
        self._roster = self._cycle.roster
        self._joining = Joining(self._cycle, chance, self._size_max)

    def restore(self, image: GroupImage, now: int) -> Self:
        """Become the group of an image. Members have a whole session to be heard of again."""
        self._cycle.restore(image, now)
        return self

    def remember_epoch(self, member_id: str, epoch: int) -> None:
        """The group comes from the new protocol: until it joins again, the member goes by the epoch it knows."""
        self._roster[member_id].told_epoch = epoch

    # What members ask

    def join(self, request: JoinRequest, ticket: Ticket, now: int) -> list[Answer]:
        """Be in the next generation."""
        return self._run(ticket, now, lambda: self._joining.join(request, ticket, now))

    def sync(self, request: SyncRequest, ticket: Ticket, now: int) -> list[Answer]:
        """Get one's assignment, or, as the leader, give everybody's."""
        return self._run(ticket, now, lambda: self._sync(request, ticket, now))

    def heartbeat(self, caller: Caller, ticket: Ticket, now: int) -> list[Answer]:
        """Stay a member."""

        def beat() -> None:
            self._cycle.touch(self._check(caller), now)
            if self.state is GroupState.PREPARING:
                raise RebalanceInProgress(self.id)
            self._cycle.answer(ticket, None)

        return self._run(ticket, now, beat)

    def leave(self, members: Sequence[Leaving], ticket: Ticket, now: int) -> list[Answer]:
        """Remove members. One answer: a result for each, in order."""

        def go() -> None:
            found: dict[str, Member] = {}
            self._cycle.answer(ticket, [self._find_leaving(each, found) for each in members])
            self._cycle.remove(found.values(), now, left(members))
            self._cycle.complete_if_all_joined(now)  # Who left may have been one that was only about to come.

        return self._run(ticket, now, go)

    def check_commit(self, caller: Caller, now: int, *, in_transaction: bool = False) -> None:
        """Raise if these offsets must not be committed. A commit is a sign of life.

        In a transaction a member of this generation commits what it has read before, also while the next assignment is
        being made: producers know of no answer that would let them try again.
        """
        self._check_alive()
        if caller.generation < 0 and self.state is GroupState.EMPTY:
            return  # Somebody who keeps offsets here, and assigns partitions without us.
        if caller == Caller():
            raise UnknownMember(self.id, "")
        member = self._check(caller)
        if self.state is GroupState.COMPLETING and not in_transaction:
            raise RebalanceInProgress(self.id)
        self._cycle.touch(member, now)

    def tick(self, now: int) -> list[Answer]:
        """Do what is due by now."""
        self._cycle.tick(now)
        return self._take_answers()

    def end(self, failure: HoldfastError) -> list[Answer]:
        """The group is no more; whoever waits is told."""
        self._cycle.end(failure)
        return self._take_answers()

    def _run(self, ticket: Ticket, now: int, step: Callable[[], None]) -> list[Answer]:
        try:
            self._check_alive()
            step()
        except HoldfastError as refusal:
            self._cycle.answer(ticket, refusal)
        self._cycle.tick(now)
        return self._take_answers()

    def _take_answers(self) -> list[Answer]:
        answers, self._cycle.answers = self._cycle.answers, []
        return answers

    # Rules

    def _check_alive(self) -> None:
        if self.state is GroupState.DEAD:
            raise CoordinatorStopped

    def _check(self, caller: Caller) -> Member:
        member = self._roster.check(caller.member_id, caller.instance_id)
        if caller.generation not in (self._cycle.generation, member.told_epoch):
            raise WrongGeneration(self.id, caller.generation, self._cycle.generation)
        if member.is_new:
            raise RebalanceInProgress(self.id)  # It guesses: nobody has told it a generation yet.
        return member

    def _sync(self, request: SyncRequest, ticket: Ticket, now: int) -> None:
        member = self._check(request.caller)
        found = (request.protocol_type, request.protocol_name)
        expected = (self._roster.protocol_type, self._cycle.protocol_name)
        if any(each is not None and each != right for each, right in zip(found, expected, strict=True)):
            raise ProtocolMismatch(self.id, found, expected)
        if self.state is GroupState.PREPARING:
            raise RebalanceInProgress(self.id)
        if self.state is GroupState.STABLE:
            member.must_sync = False
            self._cycle.touch(member, now)
            self._cycle.answer(ticket, self._cycle.synced(member))
            return
        leads = member.id == self._roster.leader_id
        if leads:
            self._check_assignments(request)
        member.must_sync = False
        self._cycle.park_sync(member, ticket)
        if leads:
            self._cycle.settle(request.assignments, now)

    def _check_assignments(self, request: SyncRequest) -> None:
        size = sum(len(data) for member_id, data in request.assignments.items() if member_id in self._roster)
        if size > self._size_max:
            raise AssignmentTooLarge(self.id, size, self._size_max)

    def _find_leaving(self, leaving: Leaving, found: dict[str, Member]) -> Rejected | None:
        """Who leaves, or why nobody does."""
        holder = self._roster.instance(leaving.instance_id)
        if leaving.member_id in self._roster.pending and leaving.instance_id is None:
            del self._roster.pending[leaving.member_id]
            return None
        try:
            member_id = leaving.member_id or (holder.id if holder is not None else "")
            member = self._roster.check(member_id, leaving.instance_id)
            if member.id in found:
                raise UnknownMember(self.id, member.id)
        except Rejected as refusal:
            return refusal
        found[member.id] = member
        return None

    # What others see

    @property
    def state(self) -> GroupState:
        return self._cycle.state

    @property
    def moves(self) -> Moves:
        return self._cycle.moves

    @property
    def generation(self) -> int:
        return self._cycle.generation

    @property
    def revision(self) -> int:
        """How many changes there have been that have to survive."""
        return self._cycle.revision

    @property
    def deadline(self) -> int | None:
        """When `tick` is to be called, at the latest."""
        return self._cycle.deadline

    @property
    def is_unused(self) -> bool:
        """Nobody is here, nobody is about to come."""
        return self.state is GroupState.EMPTY and not self._roster.pending

    @property
    def protocol_type(self) -> str:
        return self._roster.protocol_type or ""

    @property
    def is_vacant(self) -> bool:
        """Nobody is here; somebody may be about to come."""
        return self.state is GroupState.EMPTY

    @property
    def members(self) -> list[Member]:
        return list(self._roster)

    def check_delete(self) -> None:
        """Raise if the group must not be deleted."""
        if self.state is not GroupState.EMPTY:
            raise GroupNotEmpty(self.id)

    def topics(self) -> frozenset[str] | None:
        """The topics that members read, or None where it cannot be told."""
        if self.state is GroupState.EMPTY:
            return frozenset()
        return self._roster.topics() if self.protocol_type == CONSUMER else None

    def image(self, since_ms: int) -> GroupImage:
        """What has to survive. `since_ms` is when the group came into its state, for people to read."""
        cycle = self._cycle
        is_stable = cycle.state is GroupState.STABLE
        told = [member for member in self._roster if not member.is_new]
        return GroupImage(
            self.protocol_type,
            cycle.generation,
            cycle.protocol_name if told else None,
            self._roster.leader_id if is_stable else None,
            since_ms,
            tuple(member.image(cycle.protocol_name, assigned=is_stable) for member in told),
        )

    def changes(self, since_ms: int) -> dict[bytes, bytes | None]:
        """Key and value of the group's record."""
        return {group_key(self.id): encode_group(self.image(since_ms))}

    def describe(self) -> GroupDescription:
        is_stable = self.state is GroupState.STABLE
        name = self._cycle.protocol_name if is_stable else None
        members = tuple(
            MemberDescription(
                each.id,
                each.instance_id,
                each.client_id,
                each.client_host,
                each.metadata(name),
                each.assignment if is_stable else b"",
            )
            for each in self._roster
        )
        return GroupDescription(self.id, self.state, self.protocol_type, name or "", self.generation, members)

    def listing(self) -> GroupListing:
        return GroupListing(self.id, self.protocol_type, self.state, member_count=len(self._roster))
