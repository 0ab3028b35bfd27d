"""The group coordinator: all groups whose internal partitions are here.

coordinator = GroupCoordinator(logs, clock=clock, chance=chance)
await coordinator.load()
joined = await coordinator.join("readers", JoinRequest(...))
await coordinator.offsets.commit("readers", Caller(...), {TopicPartition("orders", 0): OffsetToCommit(7)})
await coordinator.close()

Every call raises the errors of `coordinator/group/errors.py` and `coordinator/group/consumer/errors.py`; what concerns
one partition or one member of a request is in the result. An answer comes after everything it depends on is durable. A
call that is cancelled has happened or has not; what it began is finished, and nothing else is disturbed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import cast

from holdfast.coordinator.group.answers import GroupDescription, GroupListing, GroupState, GroupType, Joined, Synced
from holdfast.coordinator.group.classic.group import ClassicGroup
from holdfast.coordinator.group.consumer.errors import NotAClassicGroup, NotAConsumerGroup
from holdfast.coordinator.group.consumer.group import ConsumerGroup, check_request
from holdfast.coordinator.group.consumer.member import JOINS
from holdfast.coordinator.group.consumer.requests import ConsumerGroupDescription, HeartbeatRequest, HeartbeatResult
from holdfast.coordinator.group.durable_group import DurableGroup
from holdfast.coordinator.group.errors import GroupNotFound, InvalidGroupId, UnknownMember
from holdfast.coordinator.group.moves import Move
from holdfast.coordinator.group.offset_commits import GroupOffsets
from holdfast.coordinator.group.requests import Caller, JoinRequest, Leaving, SyncRequest
from holdfast.coordinator.group.settings import GroupSettings
from holdfast.coordinator.group.shard import GroupContext
from holdfast.coordinator.group.shards import Shards
from holdfast.coordinator.group.topic_view import NoTopics, TopicView
from holdfast.coordinator.runtime.timers import Alarm, LoopAlarm, Timers
from holdfast.errors import Corrupt, HoldfastError, Rejected
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.partition.partition import PartitionLog


class GroupCoordinator:
    """Belongs to one event loop."""

    def __init__(
        self,
        logs: Sequence[PartitionLog | NotOpen],
        settings: GroupSettings | None = None,
        *,
        clock: Clock,
        chance: Chance,
        alarm: Alarm | None = None,
        topics: TopicView | None = None,
    ) -> None:
        """`logs` are the partitions of the internal topic, in order; their number must never change.

        A corrupt one is there as the reason why: its groups get CoordinatorQuarantined, all others are served.
        """
        self._settings = settings or GroupSettings()
        self.timers = Timers(clock, alarm or LoopAlarm())
        around = GroupContext(self._settings, clock, chance, self.timers, topics or NoTopics())
        self._shards = Shards(logs, around)
        self.offsets = GroupOffsets(self._shards, around)
        self._has_new = False  # Partitions have come, and nobody was told yet.

    # Life

    async def load(self) -> None:
        """Read the internal partitions; each one's groups are served as soon as it is read. May be tried again."""
        await self._shards.load()
        self.timers.call_at(self.timers.now() + self._settings.offsets_check_ms, self.offsets.expire)

    async def follow(self, logs: Sequence[PartitionLog | NotOpen]) -> bool:
        """Serve the groups of these internal partitions from here on, and no others; whether any are new.

        One that cannot be read now does not hold up the others. Raises why: it is to be tried again.
        """
        served, failures = self._shards.logs, []
        for number, log in enumerate(logs):
            if isinstance(log, LedElsewhere) or (number in served and served[number] is not log):
                await self._shards.close(number)
            if isinstance(log, PartitionLog) and not self._shards.is_ready(number):
                self._has_new = True
                try:
                    await self._shards.open(number, log)
                except HoldfastError as failure:
                    failures.append(failure)
        if failures:
            raise failures[0]
        has_new, self._has_new = self._has_new, False
        return has_new

    async def close(self) -> None:
        """Answer everybody who waits with CoordinatorStopped, take no more, and wait until all is durable."""
        self.timers.stop()
        await asyncio.gather(*(shard.close() for shard in self._shards))

    def partition_of(self, group_id: str) -> int:
        """The internal partition that holds a group."""
        return self._shards.number_of(group_id)

    def has(self, group_id: str) -> bool:
        """Whether there is a group of this name."""
        return self._shards.has(group_id)

    def share_names(self, is_elsewhere: Callable[[str], bool]) -> None:
        """Never make a group whose name is taken elsewhere."""
        self._shards.is_elsewhere = is_elsewhere

    def quarantined(self, group_id: str | None = None) -> Corrupt | None:
        """Why a group cannot be served, or why a list of all groups is not whole; None if all is well."""
        return self._shards.quarantined(group_id)

    def is_ready(self, number: int) -> bool:
        """Whether an internal partition that is ours was read, or cannot be."""
        return self._shards.is_ready(number)

    # Membership

    async def join(self, group_id: str, request: JoinRequest) -> Joined:
        """Waits until the generation is complete. A new member may get MemberIdRequired, with its id."""
        if not group_id:
            raise InvalidGroupId(group_id)
        hosted = await (self._shards.find(group_id) if request.member_id else self._shards.find_or_create(group_id))
        if hosted is None:
            raise UnknownMember(group_id, request.member_id)
        self._shards.of(group_id).move_if_empty(hosted)
        return cast(Joined, await hosted.ask(lambda ticket, now: hosted.group.join(request, ticket, now)))

    async def sync(self, group_id: str, request: SyncRequest) -> Synced:
        """Waits for the leader's assignment."""
        hosted = await self._find_member(group_id, request.caller)
        return cast(Synced, await hosted.ask(lambda ticket, now: hosted.group.sync(request, ticket, now)))

    async def heartbeat(self, group_id: str, caller: Caller) -> None:
        """I am still here. RebalanceInProgress: join again."""
        hosted = await self._find_member(group_id, caller)
        await hosted.ask(lambda ticket, now: hosted.group.heartbeat(caller, ticket, now))

    async def leave(self, group_id: str, members: Sequence[Leaving]) -> list[Rejected | None]:
        """Remove members; one result each, in order. Of a group that is not there nobody is a member."""
        if not group_id:
            raise InvalidGroupId(group_id)
        hosted = await self._shards.find(group_id)
        if hosted is None:
            return [UnknownMember(group_id, each.member_id) for each in members]
        answer = await hosted.ask(lambda ticket, now: hosted.group.leave(members, ticket, now))
        return cast(list[Rejected | None], answer)

    async def beat(self, group_id: str, request: HeartbeatRequest) -> HeartbeatResult:
        """A member of the new protocol comes, stays or goes."""
        if not group_id:
            raise InvalidGroupId(group_id)
        check_request(request, self._settings.consumer_assignors)
        joins = request.epoch == JOINS
        hosted = await (self._shards.find_or_create(group_id) if joins else self._shards.find(group_id))
        if hosted is None:
            raise UnknownMember(group_id, request.member_id)
        if joins:
            group = self._shards.of(group_id).move_to_consumer(hosted)
        elif isinstance(hosted.group, ClassicGroup):
            raise UnknownMember(group_id, request.member_id)
        else:
            group = hosted.group
        return cast(HeartbeatResult, await hosted.ask(lambda ticket, now: group.beat(request, ticket, now)))

    async def _find_member(self, group_id: str, caller: Caller) -> DurableGroup:
        if not group_id:
            raise InvalidGroupId(group_id)
        hosted = await self._shards.find(group_id)
        if hosted is None:
            raise UnknownMember(group_id, caller.member_id)
        return hosted

    # Operators

    async def describe(self, group_id: str) -> GroupDescription:
        """One classic group; GroupNotFound if there is none."""
        hosted = await self._shards.find(group_id)
        if hosted is None:
            raise GroupNotFound(group_id)
        if isinstance(hosted.group, ConsumerGroup):
            raise NotAClassicGroup(group_id)
        return hosted.group.describe()

    async def describe_consumer(self, group_id: str) -> ConsumerGroupDescription:
        """One consumer group; GroupNotFound if there is none."""
        hosted = await self._shards.find(group_id)
        if hosted is None:
            raise GroupNotFound(group_id)
        if isinstance(hosted.group, ClassicGroup):
            raise NotAConsumerGroup(group_id)
        return hosted.group.describe()

    async def moves(self, group_id: str) -> list[Move]:
        """Why a group has moved on, as far as this process knows, the oldest first; nothing if there is none."""
        hosted = await self._shards.find(group_id)
        return [] if hosted is None else list(hosted.group.moves)

    def list_groups(self, states: Collection[GroupState] = (), types: Collection[GroupType] = ()) -> list[GroupListing]:
        """All groups, or those in some of these states and of some of these types; not those in quarantine."""
        for shard in self._shards:
            shard.check_ready()
        lines = [hosted.group.listing() for shard in self._shards for hosted in shard.groups.values()]
        return [line for line in lines if (not states or line.state in states) and (not types or line.type in types)]

    async def delete_group(self, group_id: str) -> None:
        """Delete an empty group with its offsets. Durable on return."""
        shard = self._shards.of(group_id)
        hosted = await shard.find(group_id)
        if hosted is None:
            raise GroupNotFound(group_id)
        await shard.delete(hosted)
