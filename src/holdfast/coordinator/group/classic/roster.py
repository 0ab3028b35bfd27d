"""Who is in a classic group, who is about to be, who leads, and what all of them know. Knows no time and no state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from holdfast.coordinator.group.classic.member import Member, Ticket
from holdfast.coordinator.group.errors import InstanceFenced, UnknownMember
from holdfast.coordinator.group.requests import JoinRequest, Protocol


class Roster:
    """The members of one group."""

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._members: dict[str, Member] = {}
        self._instances: dict[str, str] = {}  # Instance id → member id.
        self.pending: dict[str, int] = {}  # Ids that were handed out, and until when they may be used.
        self.leader_id: str | None = None
        self.protocol_type: str | None = None
        self.size = 0  # Bytes that the members need in the group's record.
        self._known: Counter[str] = Counter()  # How many members know a protocol.
        self._joined = 0  # How many members have a join parked.

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def __getitem__(self, member_id: str) -> Member:
        return self._members[member_id]

    def instance(self, instance_id: str | None) -> Member | None:
        """The member that has an instance id."""
        if instance_id is None or instance_id not in self._instances:
            return None
        return self._members[self._instances[instance_id]]

    def check(self, member_id: str, instance_id: str | None) -> Member:
        """The member that a request says it comes from."""
        if instance_id is not None:
            holder = self.instance(instance_id)
            if holder is None:
                raise UnknownMember(self._group_id, member_id)
            if holder.id != member_id:
                raise InstanceFenced(self._group_id, instance_id, member_id)
        if member_id not in self._members:
            raise UnknownMember(self._group_id, member_id)
        return self._members[member_id]

    # Coming and going

    def add(self, member: Member, protocol_type: str) -> None:
        if not self._members:
            self.protocol_type = protocol_type
        self._members[member.id] = member
        self._count(member, 1)
        if member.instance_id is not None:
            self._instances[member.instance_id] = member.id
        if self.leader_id is None:
            self.leader_id = member.id

    def remove(self, member: Member) -> None:
        del self._members[member.id]
        self._count(member, -1)
        if member.instance_id is not None and self._instances.get(member.instance_id) == member.id:
            del self._instances[member.instance_id]
        if self.leader_id == member.id:
            self.leader_id = next(iter(self._members), None)

    def rename(self, member: Member, member_id: str) -> None:
        """An instance comes back under a new id: it keeps its place and, if it had it, the lead."""
        was_leader = self.leader_id == member.id
        self.remove(member)
        member.id = member_id
        assert self.protocol_type is not None
        self.add(member, self.protocol_type)
        if was_leader:
            self.leader_id = member_id

    def update(self, member: Member, request: JoinRequest) -> None:
        """A member says anew what it knows."""
        self._count(member, -1)
        member.update(request)
        self._count(member, 1)

    def _count(self, member: Member, sign: int) -> None:
        self.size += sign * member.size
        self._joined += sign * (member.join is not None)
        for protocol in {each.name for each in member.protocols}:
            self._known[protocol] += sign
            if not self._known[protocol]:
                del self._known[protocol]

    def park_join(self, member: Member, ticket: Ticket) -> Ticket | None:
        """Let a join wait; the one that waited before, if any, is given back."""
        before, member.join = member.join, ticket
        self._joined += before is None
        return before

    def take_join(self, member: Member) -> Ticket | None:
        """The join that waits, which from now on does not."""
        ticket, member.join = member.join, None
        self._joined -= ticket is not None
        return ticket

    # What all of them know

    def can_agree(self, member_id: str, protocol_type: str, protocols: Iterable[Protocol]) -> bool:
        """Whether the others and a member with these protocols have one in common."""
        names = {each.name for each in protocols}
        if not protocol_type or not names:
            return False
        own: set[str] = set()
        others = len(self._members)
        if member_id in self._members:
            own = {each.name for each in self._members[member_id].protocols}
            others -= 1
        if self._members and protocol_type != self.protocol_type:
            return False
        return any(self._known[name] - (name in own) == others for name in names)

    def choose_protocol(self) -> str:
        """What most members like best among those that all know; of equals, what the first members like."""
        common = {name for name, count in self._known.items() if count == len(self._members)}
        votes = Counter(next(each.name for each in member.protocols if each.name in common) for member in self)
        return votes.most_common(1)[0][0]

    def elect(self) -> bool:
        """Make sure that somebody who has joined leads; False if nobody has."""
        leader = self._members.get(self.leader_id or "")
        if leader is None or leader.join is None:
            leader = next((member for member in self if member.join is not None), None)
        if leader is None:
            return False
        self.leader_id = leader.id
        return True

    @property
    def all_joined(self) -> bool:
        """Nobody is missing, nor about to come."""
        return not self.pending and self._joined == len(self._members)

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the slowest member may need."""
        return max((member.rebalance_timeout_ms for member in self), default=0)

    def topics(self) -> frozenset[str] | None:
        """All topics that members read, or None where it cannot be told."""
        topics: set[str] = set()
        for member in self:
            found = member.topics()
            if found is None:
                return None
            topics |= found
        return frozenset(topics)
