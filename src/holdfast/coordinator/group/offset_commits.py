"""The offsets of groups: committed, in transactions too, fetched, deleted, and forgotten with their topics.

Reached as `GroupCoordinator.offsets`. Whatever changes is durable when the call returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

from holdfast.cluster.errors import TopicUnknown
from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.coordinator.group.consumer.group import ConsumerGroup
from holdfast.coordinator.group.durable_group import DurableGroup
from holdfast.coordinator.group.errors import (
    GroupNotEmpty,
    GroupNotFound,
    OffsetMetadataTooLarge,
    OffsetsFull,
    OffsetUndecided,
    TopicSubscribed,
    WrongGeneration,
)
from holdfast.coordinator.group.requests import Caller, OffsetToCommit
from holdfast.coordinator.group.shard import GroupContext, Shard
from holdfast.coordinator.group.shards import Shards
from holdfast.coordinator.group.transaction_offsets import append_end, append_offsets
from holdfast.coordinator.transaction.transaction import Producer
from holdfast.errors import HoldfastError, Rejected
from holdfast.record.marker import Marker
from holdfast.types import TopicPartition


class GroupOffsets:
    """Belongs to one event loop."""

    def __init__(self, shards: Shards, around: GroupContext) -> None:
        self._shards = shards
        self._settings = around.settings
        self._clock = around.clock
        self._timers = around.timers
        self._taken = around.offsets

    # Committing

    async def commit(
        self,
        group_id: str,
        caller: Caller,
        offsets: Mapping[TopicPartition, OffsetToCommit],
        *,
        is_there: Callable[[str], bool] = lambda topic: True,  # noqa: ARG005
    ) -> dict[TopicPartition, Rejected | None]:
        """Durable on return, except where an error stands. GroupNotFound: who says to be a member is one of no group.

        `is_there` is asked when there is no wait left between it and the append: a topic that was deleted while we
        waited must not get offsets after they were forgotten.
        """
        shard = self._shards.of(group_id)
        hosted = await self._committed_to(shard, group_id, caller)
        if hosted is None:
            raise GroupNotFound(group_id)
        await self._check_commit(hosted, caller)
        refused, changes = self._changes(hosted, offsets, is_there)
        if changes:
            await hosted.change_offsets(changes)
        else:
            shard.drop_if_unused(hosted)
        return refused

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
        shard = self._shards.of(group_id)
        hosted = await self._committed_to(shard, group_id, caller)
        if hosted is None:
            raise WrongGeneration(group_id, caller.generation, 0)
        if caller != Caller():
            await self._check_commit(hosted, caller, in_transaction=True)
        refused, changes = self._changes(hosted, offsets, is_there)
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
        shard = self._shards[partition]
        shard.check_ready()  # One that is being read may have passed the place where this goes.
        append_end(shard, marker)

    async def _committed_to(self, shard: Shard, group_id: str, caller: Caller) -> DurableGroup | None:
        """The group to commit to. It is made if it is not there, but not for who says to be in a generation of it."""
        await shard.writer.room()
        hosted = await self._shards.find(group_id)
        if hosted is None and caller.generation < 0:
            hosted = await self._shards.find_or_create(group_id)
        if hosted is not None:
            hosted.heard()
        return hosted

    async def _check_commit(self, hosted: DurableGroup, caller: Caller, *, in_transaction: bool = False) -> None:
        try:
            hosted.group.check_commit(caller, self._timers.now(), in_transaction=in_transaction)
        except HoldfastError:
            await hosted.settled()
            raise

    def _changes(
        self, hosted: DurableGroup, offsets: Mapping[TopicPartition, OffsetToCommit], is_there: Callable[[str], bool]
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
        growth = hosted.offsets.growth(changes)
        if growth > 0 and self._taken.size + growth > self._settings.offsets_size_max:
            full = OffsetsFull(self._settings.offsets_size_max)
            return {partition: said or full for partition, said in refused.items()}, {}
        return refused, changes

    def _refusal(self, offset: OffsetToCommit) -> Rejected | None:
        size = len(offset.metadata.encode())
        if size > self._settings.offset_metadata_size_max:
            return OffsetMetadataTooLarge(size, self._settings.offset_metadata_size_max)
        return None

    # Fetching

    async def fetch(
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
        hosted = await self._shards.find(group_id)
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

    # Letting go

    async def delete(
        self, group_id: str, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Rejected | None]:
        """Forget offsets of topics that no member reads: else TopicSubscribed, or GroupNotEmpty for the whole."""
        hosted = await self._shards.find(group_id)
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
        """Forget all groups' offsets of topics that are deleted. To be called after `GroupCoordinator.load`, too."""
        waits = []
        for shard in self._shards:
            shard.check_ready()
            for hosted in shard.groups.values():
                gone = dict.fromkeys(each for each in hosted.offsets.known() if is_gone(each.topic))
                if gone:
                    waits.append(hosted.change_offsets(gone))
        await asyncio.gather(*waits)

    def expire(self, now: int) -> None:
        """Let go of what has expired, now and from time to time."""
        for shard in self._shards:
            shard.expire_offsets(self._clock.now_ms())
        self._timers.call_at(now + self._settings.offsets_check_ms, self.expire)
