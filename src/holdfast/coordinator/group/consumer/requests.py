"""What a member of a consumer group asks, what it is answered, and what operators see. Values only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.coordinator.group.answers import GroupState
from holdfast.coordinator.group.consumer.errors import InvalidHeartbeat
from holdfast.coordinator.group.consumer.member import JOINS, LEAVES, PAUSES, ConsumerMember, Partitions
from holdfast.coordinator.group.topic_view import Sight
from holdfast.coordinator.runtime.fields import check_text


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """A member comes, stays or goes. None: as before."""

    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1  # -1: as before.
    topics: frozenset[str] | None = None
    regex: str | None = None  # Empty: none.
    assignor: str | None = None
    owned: Partitions | None = None
    client_id: str = ""
    client_host: str = ""
    sight: Sight | None = None  # What its pattern may match; None: everything.

    def check(self) -> None:
        """Raise InvalidHeartbeat for what no group can make sense of."""
        if not self.member_id:
            raise InvalidHeartbeat("a member id is needed")
        if "" in (self.instance_id, self.rack_id):
            raise InvalidHeartbeat("instance id and rack id must not be empty")
        if self.epoch < PAUSES:
            raise InvalidHeartbeat(f"there is no epoch {self.epoch}")
        if self.epoch == PAUSES and self.instance_id is None:
            raise InvalidHeartbeat("only a member with an instance id can leave for a while")
        if self.epoch == JOINS:
            self._check_join()
        texts = (self.member_id, self.instance_id, self.rack_id, self.regex, self.client_id, *(self.topics or ()))
        for text in texts:
            check_text("name", text or "")

    def _check_join(self) -> None:
        if self.rebalance_timeout_ms < 0:
            raise InvalidHeartbeat("a member that joins needs a rebalance timeout")
        if self.owned is None or self.owned:
            raise InvalidHeartbeat("a member that joins must own nothing, and say so")
        if self.topics is None and self.regex is None:
            raise InvalidHeartbeat("a member that joins needs topics or a pattern of topics")

    @property
    def leaves(self) -> bool:
        return self.epoch in (LEAVES, PAUSES)

    @property
    def is_full(self) -> bool:
        """It says everything, as a member does that cannot know whether its last words were heard."""
        says_topics = self.topics is not None or self.regex is not None
        return self.rebalance_timeout_ms >= 0 and says_topics and self.owned is not None

    def update(self, member: ConsumerMember) -> ConsumerMember:
        """The member with what this request says anew."""
        return replace(
            member,
            instance_id=member.instance_id if self.instance_id is None else self.instance_id,
            rack_id=member.rack_id if self.rack_id is None else self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            topics=member.topics if self.topics is None else self.topics,
            regex=member.regex if self.regex is None else self.regex,
            rebalance_timeout_ms=(
                member.rebalance_timeout_ms if self.rebalance_timeout_ms < 0 else self.rebalance_timeout_ms
            ),
            assignor=member.assignor if self.assignor is None else self.assignor,
            classic=None,
        )


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """The answer to a heartbeat."""

    member_id: str
    epoch: int
    interval_ms: int
    assignment: Partitions | None = None  # None: as before.


@dataclass(frozen=True, slots=True)
class ConsumerMemberDescription:
    """One member, as an operator sees it."""

    member: ConsumerMember
    target: Partitions


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescription:
    """One consumer group, as an operator sees it."""

    group_id: str
    state: GroupState
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[ConsumerMemberDescription, ...]
