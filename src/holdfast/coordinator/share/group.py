"""One share group: its members and what each of them reads. Rules, and nothing else: no I/O, no clock.

Several members may read one partition, so nobody has to let go of anything first: a member is at the group's epoch,
with its share of that epoch's assignment, as soon as it is heard of. Members do not survive a restart: who is not known
joins again, and has lost nothing by it. The group's epoch does survive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.coordinator.group.answers import GroupListing, GroupState, GroupType
from holdfast.coordinator.group.consumer.errors import FencedMemberEpoch, InvalidHeartbeat
from holdfast.coordinator.group.consumer.member import JOINS, LEAVES, NONE, Partitions
from holdfast.coordinator.group.errors import GroupFull, UnknownMember
from holdfast.coordinator.group.topic_view import TopicView
from holdfast.coordinator.runtime.fields import check_text
from holdfast.coordinator.share.settings import ShareTimes
from holdfast.types import PartitionId

SHARE = "share"
ASSIGNOR = "simple"
_TOPICS_MAX = 10_000  # That one member may name.


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareBeat:
    """A member comes, stays or goes. None: as before."""

    member_id: str
    epoch: int
    rack_id: str | None = None
    topics: frozenset[str] | None = None
    client_id: str = ""
    client_host: str = ""

    def check(self) -> None:
        """Raise for what no group can make sense of."""
        if not self.member_id:
            raise InvalidHeartbeat("a member id is needed")
        if self.epoch < LEAVES:
            raise InvalidHeartbeat(f"there is no epoch {self.epoch}")
        if self.epoch == JOINS and not self.topics:
            raise InvalidHeartbeat("a member that joins names the topics that it wants")
        if len(self.topics or ()) > _TOPICS_MAX:
            raise InvalidHeartbeat(f"a member may name {_TOPICS_MAX} topics")
        texts = (self.member_id, self.rack_id or "", self.client_id, self.client_host, *(self.topics or ()))
        for text in texts:
            check_text("text of a heartbeat", text)


@dataclass(slots=True)
class ShareMember:
    """One member."""

    id: str
    epoch: int = 0
    previous_epoch: int = -1
    rack_id: str | None = None
    topics: frozenset[str] = frozenset()
    client_id: str = ""
    client_host: str = ""
    assigned: Partitions = NONE  # As it was last told.
    deadline: int = 0


@dataclass(frozen=True, slots=True)
class ShareHeartbeatResult:
    """What a member is answered; without an assignment: as before."""

    member_id: str
    epoch: int
    interval_ms: int
    assignment: Partitions | None = None


@dataclass(slots=True)
class ShareGroup:
    """One group. Times are milliseconds of a clock that never goes back."""

    id: str
    topics: TopicView
    epoch: int = 0
    members: dict[str, ShareMember] = field(default_factory=dict)
    _target: dict[str, Partitions] = field(default_factory=dict)
    _seen: int | None = None  # The version of the topics that the target was made for.

    def beat(self, request: ShareBeat, times: ShareTimes, now: int) -> ShareHeartbeatResult:
        """A member comes, stays or goes. The request has been checked."""
        if request.epoch == LEAVES:
            if request.member_id not in self.members:
                raise UnknownMember(self.id, request.member_id)
            self.remove([request.member_id])
            return ShareHeartbeatResult(request.member_id, LEAVES, times.interval_ms)
        member = self._come(request, times) if request.epoch == JOINS else self._known(request)
        member.deadline = now + times.session_ms
        changed = request.topics is not None and request.topics != member.topics
        if request.topics is not None:
            member.topics = request.topics
        if request.rack_id is not None:
            member.rack_id = request.rack_id
        self.refresh(changed=changed)
        target = self._target.get(member.id, NONE)
        tell = request.epoch == JOINS or target != member.assigned or request.topics is not None
        if member.epoch != self.epoch:
            member.previous_epoch, member.epoch = member.epoch, self.epoch
        member.assigned = target
        return ShareHeartbeatResult(member.id, member.epoch, times.interval_ms, target if tell else None)

    def _come(self, request: ShareBeat, times: ShareTimes) -> ShareMember:
        known = self.members.get(request.member_id)
        if known is not None:
            return known
        if len(self.members) >= times.members_max:
            raise GroupFull(self.id, f"no more than {times.members_max} members are allowed")
        new = ShareMember(request.member_id, client_id=request.client_id, client_host=request.client_host)
        self.members[new.id] = new
        return new

    def _known(self, request: ShareBeat) -> ShareMember:
        member = self.members.get(request.member_id)
        if member is None:
            raise UnknownMember(self.id, request.member_id)
        if request.epoch not in (member.epoch, member.previous_epoch):
            raise FencedMemberEpoch(self.id, member.id, request.epoch, member.epoch)
        return member

    def remove(self, member_ids: Iterable[str]) -> None:
        """Members are gone."""
        gone = [each for each in member_ids if self.members.pop(each, None) is not None]
        if gone:
            self.refresh(changed=True)

    def late(self, now: int) -> list[str]:
        """Members that were not heard of for too long."""
        return [each.id for each in self.members.values() if each.deadline <= now]

    @property
    def deadline(self) -> int | None:
        """When somebody may be late, at the earliest."""
        return min((each.deadline for each in self.members.values()), default=None)

    def refresh(self, *, changed: bool) -> None:
        """Begin a new epoch if members have `changed`, or if the topics they read have."""
        if not changed and self._seen == self.topics.version:
            return
        self._seen = self.topics.version
        target = assign({each.id: each.topics for each in self.members.values()}, self.topics)
        if changed or target != self._target:
            self.epoch += 1
        self._target = target

    # What others see

    @property
    def state(self) -> GroupState:
        return GroupState.STABLE if self.members else GroupState.EMPTY

    def listing(self) -> GroupListing:
        return GroupListing(self.id, SHARE, self.state, GroupType.SHARE, len(self.members))


def assign(wanted: dict[str, frozenset[str]], topics: TopicView) -> dict[str, Partitions]:
    """Who reads what: every partition has a reader and every member something to read, as evenly as that goes."""
    by_readers: dict[tuple[str, ...], list[PartitionId]] = {}
    readers: dict[str, list[str]] = {}
    for member_id in sorted(wanted):
        for name in wanted[member_id]:
            readers.setdefault(name, []).append(member_id)
    for name in sorted(readers):
        topic = topics.find(name)
        if topic is not None:
            partitions = by_readers.setdefault(tuple(readers[name]), [])
            partitions += [PartitionId(topic.topic_id, number) for number in range(topic.partitions)]
    found: dict[str, set[PartitionId]] = {member_id: set() for member_id in wanted}
    for members, partitions in by_readers.items():
        for number in range(max(len(members), len(partitions))):
            found[members[number % len(members)]].add(partitions[number % len(partitions)])
    return {member_id: frozenset(each) for member_id, each in found.items()}


def by_topic(partitions: Partitions) -> dict[UUID, list[int]]:
    """The numbers of partitions, by topic."""
    numbers: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(partitions):
        numbers.setdefault(topic_id, []).append(number)
    return numbers
