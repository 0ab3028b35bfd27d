"""The group coordinator: all groups whose internal partitions are here.

coordinator = GroupCoordinator(logs, clock=clock, chance=chance)
await coordinator.load()
joined = await coordinator.join("readers", JoinRequest(...))
await coordinator.close()

Every call raises the errors of `holdfast.coordinator.errors`; what concerns one partition or one member of a request
is in the result. An answer comes after everything it depends on is durable. A call that is cancelled has happened or
has not; what it began is finished, and nothing else is disturbed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast

from holdfast.cluster.errors import TopicUnknown
from holdfast.coordinator.answers import (
    CommittedOffset,
    GroupDescription,
    GroupListing,
    GroupState,
    GroupType,
    Joined,
    Synced,
)
from holdfast.coordinator.consumer_group import ConsumerGroup, check_request
from holdfast.coordinator.consumer_group_member import JOINS
from holdfast.coordinator.consumer_group_requests import Beaten, ConsumerGroupDescription, HeartbeatRequest
from holdfast.coordinator.errors import (
    GroupNotEmpty,
    GroupNotFound,
    InvalidGroupId,
    NotAClassicGroup,
    NotAConsumerGroup,
    OffsetMetadataTooLarge,
    OffsetUndecided,
    TooManyGroups,
    TopicSubscribed,
    UnknownMember,
    WrongGeneration,
)
from holdfast.coordinator.group import ClassicGroup
from holdfast.coordinator.hosted import HostedGroup
from holdfast.coordinator.requests import Caller, JoinRequest, Leaving, OffsetToCommit, SyncRequest, TopicPartition
from holdfast.coordinator.settings import GroupSettings
from holdfast.coordinator.shard import Shard, Surroundings
from holdfast.coordinator.shards import Shards
from holdfast.coordinator.timers import Alarm, LoopAlarm, Timers
from holdfast.coordinator.topic_view import NoTopics, TopicView
from holdfast.coordinator.transaction import Producer
from holdfast.coordinator.transaction_offsets import append_end, append_offsets
from holdfast.errors import Corrupt, HoldfastError, Rejected
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.log.partition import PartitionLog
from holdfast.record.marker import Marker


class GroupCoordinator:
    """Belongs to one event loop."""

    def __init__(
        self,
        logs: Sequence[PartitionLog | Corrupt],
        settings: GroupSettings | None = None,
        *,
        clock: Clock,
        chance: Chance,
        alarm: Alarm | None = None,
        topics: TopicView | None = None,
    ) -> None:
        """`logs` are the partitions of the internal topic, in order; their number must never change.

        A corrupt one is there as the reason why: its groups get CoordinatorSetAside, all others are served.
        """
        self._settings = settings or GroupSettings()
        self._clock = clock
        self.timers = Timers(clock, alarm or LoopAlarm())
        around = Surroundings(self._settings, clock, chance, self.timers, topics or NoTopics())
        self._shards = Shards(logs, around)

    # Life

    async def load(self) -> None:
        """Read the internal partitions; each one's groups are served as soon as it is read. May be tried again."""
        await self._shards.load()
        self.timers.call_at(self.timers.now() + self._settings.offsets_check_ms, self._expire_offsets)

    async def close(self) -> None:
        """Answer everybody who waits with CoordinatorStopped, take no more, and wait until all is durable."""
        self.timers.stop()
        await asyncio.gather(*(shard.close() for shard in self._shards))

    def partition_of(self, group_id: str) -> int:
        """The internal partition that holds a group."""
        return self._shards.number_of(group_id)

    def aside(self, group_id: str | None = None) -> Corrupt | None:
        """Why a group cannot be served, or why a list of all groups is not whole; None if all is well."""
        aside = self._shards.aside
        return next(iter(aside.values()), None) if group_id is None else aside.get(self.partition_of(group_id))

    def _shard(self, group_id: str) -> Shard:
        return self._shards.of(group_id)

    async def _find(self, group_id: str) -> HostedGroup | None:
        return await self._shard(group_id).find(group_id)

    async def _find_or_create(self, group_id: str) -> HostedGroup:
        found = await self._find(group_id)
        if found is not None:
            return found
        if sum(len(shard.groups) for shard in self._shards) >= self._settings.groups_max:
            raise TooManyGroups(self._settings.groups_max)
        return self._shard(group_id).create(group_id)

    # Membership

    async def join(self, group_id: str, request: JoinRequest) -> Joined:
        """Waits until the generation is complete. A new member may get MemberIdRequired, with its id."""
        if not group_id:
            raise InvalidGroupId(group_id)
        hosted = await (self._find(group_id) if request.member_id else self._find_or_create(group_id))
        if hosted is None:
            raise UnknownMember(group_id, request.member_id)
        self._shard(group_id).move_if_empty(hosted)
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
        hosted = await self._find(group_id)
        if hosted is None:
            return [UnknownMember(group_id, each.member_id) for each in members]
        answer = await hosted.ask(lambda ticket, now: hosted.group.leave(members, ticket, now))
        return cast(list[Rejected | None], answer)

    async def beat(self, group_id: str, request: HeartbeatRequest) -> Beaten:
        """A member of the new protocol comes, stays or goes."""
        if not group_id:
            raise InvalidGroupId(group_id)
        check_request(request)
        joins = request.epoch == JOINS
        hosted = await (self._find_or_create(group_id) if joins else self._find(group_id))
        if hosted is None:
            raise UnknownMember(group_id, request.member_id)
        if joins:
            group = self._shard(group_id).move_to_consumer(hosted)
        elif isinstance(hosted.group, ClassicGroup):
            raise UnknownMember(group_id, request.member_id)
        else:
            group = hosted.group
        return cast(Beaten, await hosted.ask(lambda ticket, now: group.beat(request, ticket, now)))

    async def _find_member(self, group_id: str, caller: Caller) -> HostedGroup:
        hosted = await self._find(group_id)
        if hosted is None:
            raise UnknownMember(group_id, caller.member_id)
        return hosted

    # Offsets

    async def commit(
        self,
        group_id: str,
        caller: Caller,
        offsets: Mapping[TopicPartition, OffsetToCommit],
        *,
        is_there: Callable[[str], bool] = lambda topic: True,  # noqa: ARG005
    ) -> dict[TopicPartition, Rejected | None]:
        """Durable on return, except where an error stands.

        `is_there` is asked when there is no wait left between it and the append: a topic that was deleted while we
        waited must not get offsets after they were forgotten.
        """
        shard = self._shard(group_id)
        await shard.writer.room()
        hosted = await self._find(group_id)
        if hosted is None:
            if caller.generation >= 0:
                raise WrongGeneration(group_id, caller.generation, 0)
            hosted = await self._find_or_create(group_id)
        await self._check_commit(hosted, caller)
        refused, changes = self._changes(offsets, is_there)
        if changes:
            await hosted.change_offsets(changes)
        else:
            shard.drop_if_unused(hosted)
        return refused

    def _changes(
        self, offsets: Mapping[TopicPartition, OffsetToCommit], is_there: Callable[[str], bool]
    ) -> tuple[dict[TopicPartition, Rejected | None], dict[TopicPartition, CommittedOffset]]:
        """Which offsets are refused, and the others as they are to be stored."""
        refused = {
            partition: self._refusal(each) if is_there(partition.topic) else TopicUnknown(partition.topic)
            for partition, each in offsets.items()
        }
        now_ms = self._clock.now_ms()
        changes = {
            partition: CommittedOffset(each.offset, each.leader_epoch, each.metadata, now_ms, each.expires_at_ms)
            for partition, each in offsets.items()
            if refused[partition] is None
        }
        return refused, changes

    async def _check_commit(self, hosted: HostedGroup, caller: Caller, *, in_transaction: bool = False) -> None:
        try:
            hosted.group.check_commit(caller, self.timers.now(), in_transaction=in_transaction)
        except HoldfastError:
            await hosted.settled()
            raise

    def _refusal(self, offset: OffsetToCommit) -> Rejected | None:
        size = len(offset.metadata.encode())
        if size > self._settings.offset_metadata_size_max:
            return OffsetMetadataTooLarge(size, self._settings.offset_metadata_size_max)
        return None

    async def commit_in_transaction(
        self,
        group_id: str,
        caller: Caller,
        producer: Producer,
        offsets: Mapping[TopicPartition, OffsetToCommit],
        *,
        enlist: Callable[[], None],
        is_there: Callable[[str], bool] = lambda topic: True,  # noqa: ARG005
    ) -> dict[TopicPartition, Rejected | None]:
        """Durable on return, except where an error stands; the offsets count once the transaction is committed.

        `enlist` makes the internal partition part of the transaction, or raises. It and `is_there` are called when
        there is no wait left before the append.
        """
        shard = self._shard(group_id)
        await shard.writer.room()
        hosted = await self._find(group_id)
        if hosted is None:
            if caller.generation >= 0:
                raise WrongGeneration(group_id, caller.generation, 0)
            hosted = await self._find_or_create(group_id)
        if caller != Caller():
            await self._check_commit(hosted, caller, in_transaction=True)
        refused, changes = self._changes(offsets, is_there)
        try:
            enlist()
        except HoldfastError:
            shard.drop_if_unused(hosted)
            raise
        if changes:
            await append_offsets(shard, hosted, producer, changes, self._clock.now_ms())
        else:
            shard.drop_if_unused(hosted)
        return refused

    def end_transaction(self, partition: int, marker: Marker) -> None:
        """A transaction ends in an internal partition: its offsets count, or never will, once that is durable."""
        append_end(self._shards[partition], marker)

    async def fetch_offsets(
        self,
        group_id: str,
        partitions: Collection[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        caller: Caller = Caller(),  # noqa: B008 (it cannot change)
    ) -> dict[TopicPartition, CommittedOffset | OffsetUndecided | None]:
        """What is committed and durable; None: nothing. Without partitions: all that is committed.

        Of who says to be a member of a consumer group it is held that it is, at its epoch.
        """
        hosted = await self._find(group_id)
        if hosted is None:
            return dict.fromkeys(partitions or ())
        if isinstance(hosted.group, ConsumerGroup) and (caller.member_id or caller.generation >= 0):
            hosted.group.check_member(caller.member_id, caller.generation)
        table = hosted.offsets
        wanted = table.partitions if partitions is None else partitions
        found: dict[TopicPartition, CommittedOffset | OffsetUndecided | None] = {}
        for partition in wanted:
            undecided = require_stable and table.is_undecided(partition)
            found[partition] = OffsetUndecided(group_id, *partition) if undecided else table.get(partition)
        return found

    async def delete_offsets(
        self, group_id: str, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Rejected | None]:
        """Forget offsets of topics that no member reads: else TopicSubscribed, or GroupNotEmpty for the whole."""
        hosted = await self._find(group_id)
        if hosted is None:
            raise GroupNotFound(group_id)
        topics = hosted.group.topics()
        if topics is None:
            raise GroupNotEmpty(group_id)  # Its members may read anything.
        results: dict[TopicPartition, Rejected | None] = {
            each: TopicSubscribed(group_id, each.topic) if each.topic in topics else None for each in partitions
        }
        known = hosted.offsets.known()
        changes = dict.fromkeys(each for each, refusal in results.items() if refusal is None and each in known)
        if changes:
            await hosted.change_offsets(changes)
        return results

    async def forget_topics(self, is_gone: Callable[[str], bool]) -> None:
        """Forget all groups' offsets of topics that are deleted. To be called after `load`, too."""
        waits = []
        for shard in self._shards:
            shard.check_ready()
            for hosted in shard.groups.values():
                gone = dict.fromkeys(each for each in hosted.offsets.known() if is_gone(each.topic))
                if gone:
                    waits.append(hosted.change_offsets(gone))
        await asyncio.gather(*waits)

    def _expire_offsets(self, now: int) -> None:
        for shard in self._shards:
            shard.expire_offsets(self._clock.now_ms())
        self.timers.call_at(now + self._settings.offsets_check_ms, self._expire_offsets)

    # Operators

    async def describe(self, group_id: str) -> GroupDescription:
        """One classic group; GroupNotFound if there is none."""
        hosted = await self._find(group_id)
        if hosted is None:
            raise GroupNotFound(group_id)
        if isinstance(hosted.group, ConsumerGroup):
            raise NotAClassicGroup(group_id)
        return hosted.group.describe()

    async def describe_consumer(self, group_id: str) -> ConsumerGroupDescription:
        """One consumer group; GroupNotFound if there is none."""
        hosted = await self._find(group_id)
        if hosted is None:
            raise GroupNotFound(group_id)
        if isinstance(hosted.group, ClassicGroup):
            raise NotAConsumerGroup(group_id)
        return hosted.group.describe()

    def list_groups(self, states: Collection[GroupState] = (), types: Collection[GroupType] = ()) -> list[GroupListing]:
        """All groups, or those in some of these states and of some of these types; not those that are set aside."""
        for shard in self._shards:
            shard.check_ready()
        lines = [hosted.group.listing() for shard in self._shards for hosted in shard.groups.values()]
        return [line for line in lines if (not states or line.state in states) and (not types or line.type in types)]

    async def delete_group(self, group_id: str) -> None:
        """Delete an empty group with its offsets. Durable on return."""
        shard = self._shard(group_id)
        hosted = await shard.find(group_id)
        if hosted is None:
            raise GroupNotFound(group_id)
        await shard.delete(hosted)
