"""Members of a consumer group that speak the new protocol: who they are, at which epoch, and their next step."""

from __future__ import annotations

from dataclasses import replace

from holdfast.coordinator.group.consumer.core import ConsumerCore
from holdfast.coordinator.group.consumer.deadlines import Wait
from holdfast.coordinator.group.consumer.errors import FencedMemberEpoch, UnreleasedInstance
from holdfast.coordinator.group.consumer.member import JOINS, LEAVES, NONE, PAUSES, ConsumerMember, MemberState
from holdfast.coordinator.group.consumer.requests import HeartbeatRequest, HeartbeatResult
from holdfast.coordinator.group.errors import InstanceFenced, UnknownMember


class ConsumerProtocol:
    """Serves members of the new protocol in one consumer group. Everything is checked before anything changes."""

    def __init__(self, core: ConsumerCore) -> None:
        self._core = core
        self._roster = core.roster

    def beat(self, request: HeartbeatRequest, now: int) -> HeartbeatResult:
        """A member comes or stays, and takes its next step. The request has been checked."""
        member = self._find(request)
        before = member or ConsumerMember(id=request.member_id)
        after = request.update(before)
        if member is None:
            self._core.check_room()
        if member is None or not after.says_the_same(before):
            self._core.check_size(after)
            self._roster.put(after)
        self._core.touch(after, now)
        self._core.look(after, request.sight)
        self._core.refresh(now, self._core.came(member, after))
        self._core.retarget()
        after = self._core.reconcile(after, request.owned, now)
        tell = request.is_full or request.epoch != before.epoch or after.assigned != before.assigned
        interval_ms = self._core.settings.consumer_times(self._core.group_id).heartbeat_interval_ms
        return HeartbeatResult(after.id, after.epoch, interval_ms, after.assigned if tell else None)

    def _find(self, request: HeartbeatRequest) -> ConsumerMember | None:
        """The member that a request comes from; None if it is new."""
        if request.instance_id is not None:
            return self._find_instance(request, request.instance_id)
        return self._find_id(request)

    def _find_id(self, request: HeartbeatRequest) -> ConsumerMember | None:
        member = self._roster.get(request.member_id)
        if member is not None:
            self._check_epoch(member, request)
        elif request.epoch != JOINS:
            raise UnknownMember(self._core.group_id, request.member_id)
        return member

    def _find_instance(self, request: HeartbeatRequest, instance_id: str) -> ConsumerMember | None:
        holder = self._roster.instance(instance_id)
        if request.epoch != JOINS:
            self.check_instance(holder, request.member_id, instance_id)
        elif holder is None:
            return self._find_id(request)  # Whose id it is keeps what it holds.
        elif holder.is_away:
            return self._come_back(holder, request)
        elif holder.id != request.member_id:
            raise UnreleasedInstance(self._core.group_id, instance_id, holder.id)
        assert holder is not None
        self._check_epoch(holder, request)
        return holder

    def check_instance(self, holder: ConsumerMember | None, member_id: str, instance_id: str) -> None:
        """Raise unless an instance is this member."""
        if holder is None:
            raise UnknownMember(self._core.group_id, member_id)
        if holder.id != member_id:
            raise InstanceFenced(self._core.group_id, instance_id, member_id)

    def _come_back(self, member: ConsumerMember, request: HeartbeatRequest) -> ConsumerMember:
        """An instance that was away takes its place again, under a new id, with what was kept for it."""
        if member.id != request.member_id:
            other = self._roster.get(request.member_id)
            if other is not None:
                raise FencedMemberEpoch(self._core.group_id, other.id, request.epoch, other.epoch)
            self._core.forget(member.id)
            member = self._roster.rename(member, request.member_id)
        back = replace(member, epoch=JOINS, previous_epoch=-1)
        self._roster.put(back)
        return back

    def _check_epoch(self, member: ConsumerMember, request: HeartbeatRequest) -> None:
        if request.epoch == member.epoch:
            self._core.used[member.id] = member.epoch
            return
        # The answer that told its epoch may have been lost: then it owns nothing that it was never told of. But who has
        # used its epoch has had that answer, and what speaks of the epoch before is an old request.
        lost = request.owned is not None and request.owned <= member.assigned
        has_used = self._core.used.get(member.id) == member.epoch
        if request.epoch != member.previous_epoch or member.is_away or has_used or not lost:
            raise FencedMemberEpoch(self._core.group_id, member.id, request.epoch, member.epoch)

    def leave(self, request: HeartbeatRequest, now: int) -> HeartbeatResult:
        """A member goes, for ever or, with its instance, for a while."""
        if request.instance_id is None:
            member = self._roster.get(request.member_id)
        else:
            member = self._roster.instance(request.instance_id)
            self.check_instance(member, request.member_id, request.instance_id)
        if member is None:
            raise UnknownMember(self._core.group_id, request.member_id)
        if request.epoch == LEAVES:
            self._core.fence([member], now, "has left")
        else:
            self._core.deadlines.drop(member.id, Wait.REVOCATION)
            self._roster.put(replace(member, epoch=PAUSES, state=MemberState.STABLE, revoking=NONE))
        return HeartbeatResult(request.member_id, request.epoch, 0)
