"""How a request to join is received: by a group, from a new member, a known one, or an instance that comes back.

Everything is checked before anything changes.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from holdfast.coordinator.group.answers import GroupState
from holdfast.coordinator.group.classic.member import Member, Ticket
from holdfast.coordinator.group.classic.rebalance import RebalanceState
from holdfast.coordinator.group.errors import (
    GroupFull,
    MemberIdRequired,
    ProtocolMismatch,
    SessionTimeoutOutOfRange,
    UnknownMember,
)
from holdfast.coordinator.group.requests import JoinRequest
from holdfast.coordinator.group.settings import GroupSettings
from holdfast.coordinator.runtime.fields import check_text
from holdfast.io.chance import Chance

_ID_PREFIX_COUNT_MAX = 256  # Characters of a member id that come from the client.


class Joining:
    """Receives those who join one group."""

    def __init__(self, cycle: RebalanceState, chance: Chance, size_max: int) -> None:
        self._cycle = cycle
        self._roster = cycle.roster
        self._chance = chance
        self._size_max = size_max  # Bytes that all members may need in the group's record.

    def join(self, request: JoinRequest, ticket: Ticket, now: int) -> None:
        """Answer at once, or park the request until the next generation begins."""
        holder = self._roster.instance(request.instance_id)
        self._check(request, request.member_id or (holder.id if holder is not None else ""))
        if request.member_id:
            self._join_known(request, ticket, now)
        elif holder is not None:
            self._come_back(holder, request, ticket, now)
        elif request.instance_id is None and request.needs_known_id:
            self._hand_out_id(request, now)
        else:
            self._add(self._new_id(request), request, ticket, now)

    # Rules

    def _check(self, request: JoinRequest, member_id: str) -> None:
        group_id = self._cycle.group_id
        check_join(request, self._cycle.settings)
        if not self._roster.can_agree(member_id, request.protocol_type, request.protocols):
            found = (request.protocol_type, [each.name for each in request.protocols])
            raise ProtocolMismatch(group_id, found, (self._roster.protocol_type, self._cycle.protocol_name))

    def _check_room(self, member: Member) -> None:
        """Whether one more member has a place. Those who have one keep it."""
        count_max = self._cycle.settings.members_max
        if len(self._roster) >= count_max:
            raise GroupFull(self._cycle.group_id, f"no more than {count_max} members are allowed")
        self._check_size(member.size)

    def _check_size(self, more: int) -> None:
        if self._roster.size + more > self._size_max:
            raise GroupFull(self._cycle.group_id, f"its members have more than {self._size_max} bytes to say")

    # New members

    def _hand_out_id(self, request: JoinRequest, now: int) -> None:
        self._check_room(Member.of("", request))
        if len(self._roster.pending) >= self._cycle.settings.members_max:
            raise GroupFull(self._cycle.group_id, "too many new members have not come back with their id")
        member_id = self._new_id(request)
        self._roster.pending[member_id] = now + request.session_timeout_ms
        self._cycle.expect(now + request.session_timeout_ms)
        raise MemberIdRequired(self._cycle.group_id, member_id)

    def _new_id(self, request: JoinRequest) -> str:
        return new_member_id(request.instance_id or request.client_id, self._chance)

    def _add(self, member_id: str, request: JoinRequest, ticket: Ticket, now: int) -> None:
        member = Member.of(member_id, request)
        self._check_room(member)
        self._roster.pending.pop(member_id, None)
        self._roster.add(member, request.protocol_type)
        self._cycle.park_join(member, ticket, now, request.reason)

    # Known members

    def _join_known(self, request: JoinRequest, ticket: Ticket, now: int) -> None:
        if request.member_id in self._roster.pending:
            if request.instance_id is not None:
                raise UnknownMember(self._cycle.group_id, request.member_id)  # Instances get no id before they join.
            self._add(request.member_id, request, ticket, now)
            return
        member = self._roster.check(request.member_id, request.instance_id)
        if self._is_repeat(member, request):
            self._cycle.touch(member, now)
            self._cycle.answer(ticket, self._cycle.joined(member))
            return
        self._check_size(Member.of(member.id, request).size - member.size)
        self._roster.update(member, request)
        self._cycle.park_join(member, ticket, now, request.reason)

    def _is_repeat(self, member: Member, request: JoinRequest) -> bool:
        """Whether the current generation is the right answer: this join says nothing new, its answer may be lost."""
        if self._cycle.state is GroupState.STABLE and member.id == self._roster.leader_id:
            return False  # A leader that joins again wants a new assignment, such as for new partitions.
        return self._cycle.state is not GroupState.PREPARING and member.protocols == request.protocols

    # Instances that come back

    def _come_back(self, member: Member, request: JoinRequest, ticket: Ticket, now: int) -> None:
        """A restarted instance takes its place again; if it reads the same, no rebalance is needed."""
        cycle = self._cycle
        self._check_size(Member.of(member.id, request).size - member.size)
        leader_before = self._roster.leader_id
        reads_the_same = member.reads_the_same(request.protocols)
        cycle.rename(member, self._new_id(request))
        self._roster.update(member, request)
        cycle.touch(member, now)
        is_stable = cycle.state is GroupState.STABLE and self._roster.choose_protocol() == cycle.protocol_name
        if not is_stable or not reads_the_same:
            cycle.park_join(member, ticket, now, request.reason)
            return
        answer = cycle.joined(member)
        if leader_before != self._roster.leader_id:
            # It led before. It need not assign again; an old client cannot be told so, and must not know that it leads.
            if request.can_skip_assignment:
                answer = replace(answer, skip_assignment=True)
            else:
                answer = replace(answer, leader_id=leader_before or "", members=())
        cycle.answer(ticket, answer)


def new_member_id(prefix: str, chance: Chance) -> str:
    """An id that nobody else has; people know by its prefix whose it is."""
    return f"{prefix[:_ID_PREFIX_COUNT_MAX]}-{UUID(int=chance.bits(128), version=4)}"


def check_join(request: JoinRequest, settings: GroupSettings) -> None:
    """Raise for what every group would refuse."""
    low, high = settings.session_timeout_ms_min, settings.session_timeout_ms_max
    if not low <= request.session_timeout_ms <= high:
        raise SessionTimeoutOutOfRange(request.session_timeout_ms, low, high)
    texts = [
        ("member id", request.member_id),
        ("instance id", request.instance_id or ""),
        ("client id", request.client_id),
        ("client host", request.client_host),
        ("protocol type", request.protocol_type),
        *(("protocol name", each.name) for each in request.protocols),
    ]
    for what, text in texts:
        check_text(what, text)
