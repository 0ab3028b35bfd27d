"""Members that speak the classic protocol in a consumer group: it assigns for them, too, and none of them leads.

A join is answered at once with the member's epoch as its generation; a sync with what the member has been given so far.
A heartbeat says when to join again: the group has a new epoch, the member has to let go of something, or something that
it waits for has become free. What a member owns is in its join, so it lets go by joining without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.coordinator.group.answers import Joined, Synced
from holdfast.coordinator.group.classic.joining import check_join, new_member_id
from holdfast.coordinator.group.classic.subscription import CONSUMER
from holdfast.coordinator.group.consumer.core import ConsumerCore
from holdfast.coordinator.group.consumer.deadlines import Wait
from holdfast.coordinator.group.consumer.embedded import (
    EmbeddedSubscription,
    by_id,
    by_name,
    read_subscription,
    write_assignment,
)
from holdfast.coordinator.group.consumer.member import JOINS, ClassicSide, ConsumerMember, MemberState
from holdfast.coordinator.group.errors import (
    GroupFull,
    InstanceFenced,
    MemberIdRequired,
    ProtocolMismatch,
    RebalanceInProgress,
    UnknownMember,
    WrongGeneration,
)
from holdfast.coordinator.group.moves import left
from holdfast.coordinator.group.requests import Caller, JoinRequest, Leaving, SyncRequest
from holdfast.errors import Rejected
from holdfast.io.chance import Chance


class ClassicProtocol:
    """Serves members of the classic protocol in one consumer group."""

    def __init__(self, core: ConsumerCore, chance: Chance) -> None:
        self._core = core
        self._roster = core.roster
        self._chance = chance
        self.pending: dict[str, int] = {}  # Ids that were handed out, and until when they may be used.

    # Joining

    def join(self, request: JoinRequest, now: int) -> Joined:
        """A member comes, or goes on. Everything is checked before anything changes."""
        check_join(request, self._core.settings)
        subscription = self._check_protocols(request)
        before = self._find(request, now)
        after = self._updated(before or ConsumerMember(id=self._id_of(request)), request, subscription)
        self._core.check_size(after)
        if before is None:
            self._core.check_room()
        if before is not None and not request.member_id:
            after = self._rename(before, after, request)
        self._roster.put(after)
        self.pending.pop(after.id, None)
        self._core.touch(after, now)
        self._core.refresh(now, self._core.came(before, after))
        self._core.retarget()
        after = self._core.reconcile(after, by_id(subscription.owned, self._core.topics), now)
        self._core.deadlines.drop(after.id, Wait.JOIN)
        self._core.deadlines.set(after.id, Wait.SYNC, now + after.rebalance_timeout_ms)
        return Joined(after.epoch, CONSUMER, request.protocols[0].name, "", after.id)

    def _check_protocols(self, request: JoinRequest) -> EmbeddedSubscription:
        """What the member wants; raises ProtocolMismatch unless all classic members have a protocol in common."""
        names = {each.name for each in request.protocols}
        common = self.common_protocols(leave_out=request.member_id)
        subscription = read_subscription(request.protocols[0].metadata) if request.protocols else None
        agrees = bool(names) if common is None else bool(names & common)
        if request.protocol_type != CONSUMER or subscription is None or not agrees:
            raise ProtocolMismatch(self._core.group_id, (request.protocol_type, sorted(names)), (CONSUMER, common))
        return subscription

    def common_protocols(self, leave_out: str = "") -> set[str] | None:
        """What all classic members know; None if there are none."""
        common: set[str] | None = None
        for member in self._roster:
            if member.classic is not None and member.id != leave_out:
                names = {each.name for each in member.classic.protocols}
                common = names if common is None else common & names
        return common

    def _find(self, request: JoinRequest, now: int) -> ConsumerMember | None:
        """The member that a request comes from; None if it is new."""
        holder = self._roster.instance(request.instance_id) if request.instance_id is not None else None
        if request.member_id:
            if request.instance_id is None and request.member_id in self.pending:
                return None
            return self._check(request.member_id, request.instance_id)
        if holder is None and request.instance_id is None and request.needs_known_id:
            self._hand_out_id(request, now)
        return holder

    def _hand_out_id(self, request: JoinRequest, now: int) -> None:
        self._core.check_room()
        if len(self.pending) >= self._core.settings.consumer_members_max:
            raise GroupFull(self._core.group_id, "too many new members have not come back with their id")
        member_id = self._id_of(request)
        self.pending[member_id] = now + request.session_timeout_ms
        raise MemberIdRequired(self._core.group_id, member_id)

    def _id_of(self, request: JoinRequest) -> str:
        return request.member_id or new_member_id(request.instance_id or request.client_id, self._chance)

    def _updated(
        self, member: ConsumerMember, request: JoinRequest, subscription: EmbeddedSubscription
    ) -> ConsumerMember:
        timeout_ms = request.rebalance_timeout_ms if request.rebalance_timeout_ms > 0 else request.session_timeout_ms
        return replace(
            member,
            instance_id=request.instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            topics=subscription.topics,
            regex="",
            rebalance_timeout_ms=timeout_ms,
            assignor=None,
            classic=ClassicSide(request.session_timeout_ms, request.protocols),
        )

    def _rename(self, before: ConsumerMember, after: ConsumerMember, request: JoinRequest) -> ConsumerMember:
        """An instance that comes anew goes on under a new id; whoever uses the old one is fenced."""
        self._core.forget(before.id)
        renamed = self._roster.rename(before, self._id_of(request))
        return replace(after, id=renamed.id, epoch=max(after.epoch, JOINS))

    # Everything else

    def sync(self, request: SyncRequest, now: int) -> Synced:
        """What the member has been given."""
        member, classic = self._check_caller(request.caller)
        names = [each.name for each in classic.protocols]
        wrong_type = request.protocol_type not in (None, CONSUMER)
        if wrong_type or request.protocol_name not in (None, *names):
            found = (request.protocol_type, request.protocol_name)
            raise ProtocolMismatch(self._core.group_id, found, (CONSUMER, names))
        self._core.touch(member, now)
        if self._is_behind(member):
            self._send_back(member, now)
        self._core.deadlines.drop(member.id, Wait.SYNC)
        subscription = read_subscription(classic.protocols[0].metadata)
        version = subscription.version if subscription is not None else 0
        assignment = write_assignment(version, by_name(member.assigned, self._core.topics))
        return Synced(CONSUMER, request.protocol_name or names[0], assignment)

    def heartbeat(self, caller: Caller, now: int) -> None:
        """The member stays; RebalanceInProgress tells it to join again."""
        member, _ = self._check_caller(caller)
        self._core.touch(member, now)
        self._core.refresh(now)
        must_let_go = member.state is MemberState.UNREVOKED
        if must_let_go or self._is_behind(member) or self._roster.frees_something_for(member):
            self._send_back(member, now)

    def _is_behind(self, member: ConsumerMember) -> bool:
        """Whether the group has moved on. Who is about to let go of something has joined already."""
        return member.epoch < self._roster.epoch.epoch and member.state is not MemberState.UNREVOKED

    def _send_back(self, member: ConsumerMember, now: int) -> None:
        self._core.deadlines.set_once(member.id, Wait.JOIN, now + member.rebalance_timeout_ms)
        raise RebalanceInProgress(self._core.group_id)

    def leave(self, members: Sequence[Leaving], now: int) -> list[Rejected | None]:
        """Remove members; a result for each, in order."""
        found: dict[str, ConsumerMember] = {}
        results = [self._find_leaving(each, found) for each in members]
        self._core.fence(list(found.values()), now, left(members))
        return results

    def _find_leaving(self, leaving: Leaving, found: dict[str, ConsumerMember]) -> Rejected | None:
        """Who leaves, or why nobody does."""
        if leaving.instance_id is None and self.pending.pop(leaving.member_id, None) is not None:
            return None
        holder = self._roster.instance(leaving.instance_id) if leaving.instance_id is not None else None
        try:
            member = self._check(leaving.member_id or (holder.id if holder else ""), leaving.instance_id)
        except Rejected as refusal:
            return refusal
        if member.id in found:
            return UnknownMember(self._core.group_id, member.id)
        found[member.id] = member
        return None

    def _check(self, member_id: str, instance_id: str | None) -> ConsumerMember:
        if instance_id is not None:
            holder = self._roster.instance(instance_id)
            if holder is not None and holder.id != member_id:
                raise InstanceFenced(self._core.group_id, instance_id, member_id)
        member = self._roster.get(member_id)
        if member is None or (instance_id is not None and member.instance_id != instance_id):
            raise UnknownMember(self._core.group_id, member_id)
        return member

    def _check_caller(self, caller: Caller) -> tuple[ConsumerMember, ClassicSide]:
        member = self._check(caller.member_id, caller.instance_id)
        if member.classic is None:
            raise UnknownMember(self._core.group_id, caller.member_id)  # It speaks the other protocol.
        if caller.generation != member.epoch:
            raise WrongGeneration(self._core.group_id, caller.generation, member.epoch)
        return member, member.classic

    # Time

    def tick(self, now: int) -> None:
        """Forget ids that nobody came back with."""
        for member_id in [each for each, until in self.pending.items() if until <= now]:
            del self.pending[member_id]

    @property
    def deadline(self) -> int | None:
        return min(self.pending.values(), default=None)
