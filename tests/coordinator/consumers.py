"""Consumers of both protocols as they behave, each with what it owns and until when it may think so.

A consumer owns a partition from the answer that gives it until it lets go of it, or has to know that it may have been
given up: it was told so, it left, nothing was heard of it for a session, or it was too slow to do what it was told.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.coordinator.topics import SomeTopics

from holdfast.coordinator.group.answers import Joined
from holdfast.coordinator.group.consumer.embedded import (
    by_id,
    by_name,
    read_assignment,
    read_subscription,
    write_assignment,
)
from holdfast.coordinator.group.consumer.errors import FencedMemberEpoch
from holdfast.coordinator.group.consumer.member import LEAVES
from holdfast.coordinator.group.consumer.requests import HeartbeatRequest
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.group.errors import InstanceFenced, RebalanceInProgress, UnknownMember, WrongGeneration
from holdfast.coordinator.group.requests import Caller, JoinRequest, Leaving, Protocol, SyncRequest
from holdfast.errors import HoldfastError
from holdfast.types import PartitionId, TopicPartition

SESSION_S = 10.0
REBALANCE_S = 30.0
FOR_EVER = float("inf")
LOST = (UnknownMember, FencedMemberEpoch, InstanceFenced, WrongGeneration)


@dataclass
class Consumer:
    """What both kinds have in common."""

    name: str
    topics: SomeTopics
    clock: Callable[[], float]
    heard: Callable[[], None]  # Told after every answer that a consumer got.
    reads: tuple[str, ...] = ("t",)
    member_id: str = ""
    epoch: int = -1
    owned: frozenset[PartitionId] = frozenset()
    busy: bool = False  # A request is under way.
    gone: bool = False  # It is no more.
    has_left: bool = False  # And it was answered that it has left.
    heard_at: float = 0.0
    highest: int = -1

    @property
    def caller(self) -> Caller:
        return Caller(self.member_id, self.epoch)

    @property
    def rightful(self) -> frozenset[PartitionId]:
        """What it owns, as far as it can know."""
        return frozenset() if self.gone or self.clock() >= self.ends_at else self.owned

    @property
    def ends_at(self) -> float:
        return self.heard_at + SESSION_S

    def note_epoch(self, epoch: int) -> None:
        assert epoch >= self.highest, "An epoch went back."
        self.highest = self.epoch = epoch


@dataclass
class NewConsumer(Consumer):
    """Speaks the new protocol. It may take its time to let go."""

    lazy: bool = False
    told: frozenset[PartitionId] = frozenset()
    unsure: bool = True  # The last answer was lost: say everything.
    said: frozenset[PartitionId] | None = None  # What it last said it owns, and knows was heard.
    revoke_by: float = FOR_EVER
    sent: list[HeartbeatRequest] = field(default_factory=list)
    regex: str | None = None

    def request(self) -> HeartbeatRequest:
        joins = self.epoch <= 0
        full = joins or self.unsure
        says = full or self.said != self.owned
        return HeartbeatRequest(
            member_id=self.member_id or self.name,
            epoch=max(self.epoch, 0),
            rebalance_timeout_ms=int(REBALANCE_S * 1000) if full else -1,
            topics=frozenset(self.reads) if full else None,
            regex=self.regex if full else None,
            owned=(frozenset() if joins else self.owned) if says else None,
        )

    async def beat(self, coordinator: GroupCoordinator, *, lose: bool = False) -> None:
        if self.epoch <= 0:
            self.owned = self.told = frozenset()
        asked = self.request()
        sent_at = self.clock()
        self.unsure = True
        try:
            answer = await coordinator.beat("g", asked)
        except LOST:
            if not lose:
                self.start_anew()
            return
        except HoldfastError:
            return
        self.sent.append(asked)
        if lose:
            return
        self.heard_at = sent_at
        self.unsure = False
        self.note_epoch(answer.epoch)
        if asked.owned is not None:
            self.said = asked.owned
            if asked.owned <= self.told:
                self.revoke_by = FOR_EVER
        if answer.assignment is not None:
            self.obey(answer.assignment, sent_at)
        self.heard()

    def obey(self, assignment: frozenset[PartitionId], sent_at: float) -> None:
        self.told = assignment
        if self.owned - assignment:
            self.revoke_by = min(self.revoke_by, sent_at + REBALANCE_S)
        if not self.lazy:
            self.owned &= assignment
        if not self.owned - assignment:
            self.owned = assignment

    def release(self) -> None:
        """Let go of what it was told to, and take the rest."""
        if self.epoch > 0:
            self.owned = self.told
            self.heard()

    @property
    def ends_at(self) -> float:
        return min(self.heard_at + SESSION_S, self.revoke_by)

    def start_anew(self) -> None:
        self.owned = self.told = frozenset()
        self.said, self.unsure, self.epoch, self.revoke_by = None, True, 0, FOR_EVER

    async def leave(self, coordinator: GroupCoordinator) -> None:
        self.start_anew()
        self.gone = True
        try:
            await coordinator.beat("g", HeartbeatRequest(member_id=self.member_id or self.name, epoch=LEAVES))
        except HoldfastError:
            return
        self.has_left = True


@dataclass
class ClassicConsumer(Consumer):
    """Speaks the classic protocol, and lets go of everything before it joins, or only of what it has to."""

    eager: bool = True
    must_join: bool = True
    planned: int | None = None  # The version of the topics that it has assigned as leader.
    well_at: float = 0.0  # When it last asked, and nothing was to be done.

    @property
    def ends_at(self) -> float:
        return min(self.heard_at + SESSION_S, self.well_at + REBALANCE_S)

    async def act(self, coordinator: GroupCoordinator) -> None:
        """Join if that is to be done, otherwise stay. A leader looks after the topics."""
        if self.must_join or self.planned not in (None, self.topics.version):
            await self.join(coordinator)
        else:
            await self.heartbeat(coordinator)

    async def heartbeat(self, coordinator: GroupCoordinator) -> None:
        sent_at = self.clock()
        try:
            await coordinator.heartbeat("g", self.caller)
        except RebalanceInProgress:
            self.must_join, self.heard_at = True, sent_at
        except LOST as refusal:
            self.lose(refusal)
        except HoldfastError:
            return
        else:
            self.heard_at = self.well_at = sent_at
            self.heard()

    async def join(self, coordinator: GroupCoordinator) -> None:
        if self.eager:
            self.owned = frozenset()
        sent_at = self.clock()
        try:
            joined = await coordinator.join("g", self._join_request())
            self.member_id = joined.member_id
            self.note_epoch(joined.generation)
            self.heard_at = max(self.heard_at, sent_at)
            asked_at = self.clock()
            leads = joined.leader_id == joined.member_id
            self.planned = self.topics.version if leads else None
            shares = self._shares(joined) if leads else {}
            synced = await coordinator.sync("g", SyncRequest(caller=self.caller, assignments=shares))
        except LOST as refusal:
            self.lose(refusal)
            return
        except HoldfastError:
            return
        self.heard_at = asked_at
        self.well_at = asked_at
        found = read_assignment(synced.assignment)
        assert found is not None
        assigned = by_id(found, self.topics)
        self.must_join = bool(self.owned - assigned) and not self.eager  # It joins again once it has let go.
        self.owned = assigned
        self.heard()

    def _join_request(self) -> JoinRequest:
        name = "eager" if self.eager else "cooperative"
        metadata = subscription(self.reads, [] if self.eager else by_name(self.owned, self.topics))
        return JoinRequest(
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=(Protocol(name, metadata),),
            session_timeout_ms=int(SESSION_S * 1000),
            rebalance_timeout_ms=int(REBALANCE_S * 1000),
            needs_known_id=False,
            client_id=self.name,
        )

    def _shares(self, joined: Joined) -> dict[str, bytes]:
        """What a leader sends: everybody's part. What has to move first goes to nobody."""
        members = [each.member_id for each in joined.members]
        owners: dict[TopicPartition, str] = {}
        wants: dict[str, frozenset[str]] = {}
        for each in joined.members:
            said = read_subscription(each.metadata)
            assert said is not None
            wants[each.member_id] = said.topics
            owners.update(dict.fromkeys(said.owned, each.member_id))
        shares: dict[str, list[TopicPartition]] = {member: [] for member in members}
        for at, partition in enumerate(sorted(by_name(self.topics.partitions(), self.topics))):
            able = [member for member in members if partition.topic in wants[member]]
            if able:
                chosen = able[at % len(able)]
                if owners.get(partition, chosen) == chosen:
                    shares[chosen].append(partition)
        return {member: write_assignment(1, own) for member, own in shares.items()}

    def lose(self, refusal: HoldfastError) -> None:
        self.owned = frozenset()
        self.must_join = True
        self.planned = None
        self.epoch = -1
        if not isinstance(refusal, WrongGeneration):
            self.member_id = ""

    async def leave(self, coordinator: GroupCoordinator) -> None:
        self.owned = frozenset()
        self.gone = True
        try:
            await coordinator.leave("g", [Leaving(self.member_id)])
        except HoldfastError:
            return
        self.has_left = True


def subscription(topics: Sequence[str], owned: Sequence[TopicPartition]) -> bytes:
    """Version 1: topics, no user data, owned partitions."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    body = write_assignment(1, owned)[2:-4]  # The same form, without its version and user data.
    return struct.pack(">hi", 1, len(topics)) + names + b"\xff\xff\xff\xff" + body
