"""One internal partition: the groups in it, and the log that they are written to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.coordinator.group.answers import GroupState
from holdfast.coordinator.group.classic.group import ClassicGroup
from holdfast.coordinator.group.consumer.core import ConsumerCore
from holdfast.coordinator.group.consumer.group import ConsumerGroup
from holdfast.coordinator.group.consumer.migration import Group, check_upgrade, downgraded, must_downgrade, upgrade
from holdfast.coordinator.group.durable_group import DurableGroup
from holdfast.coordinator.group.errors import RebalanceInProgress
from holdfast.coordinator.group.loader import LoadedGroups, load
from holdfast.coordinator.group.offsets import OffsetsSize, OffsetTable
from holdfast.coordinator.group.settings import GroupSettings
from holdfast.coordinator.group.topic_view import TopicView
from holdfast.coordinator.runtime.errors import CoordinatorLoading, CoordinatorStopped
from holdfast.coordinator.runtime.timers import Timers
from holdfast.coordinator.runtime.writer import PartitionWriter
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog
from holdfast.types import TopicPartition

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GroupContext:
    """What all shards share."""

    settings: GroupSettings
    clock: Clock
    chance: Chance
    timers: Timers
    topics: TopicView
    offsets: OffsetsSize = field(default_factory=OffsetsSize)


class Shard:
    """Belongs to one event loop."""

    def __init__(self, number: int, partition: PartitionLog, around: GroupContext) -> None:
        self.number = number
        self.writer = PartitionWriter(partition)
        self.groups: dict[str, DurableGroup] = {}  # The oldest first.
        self.is_loaded = False
        self.undecided: dict[int, set[str]] = {}  # Producer id → groups whose offsets its open transaction has written.
        self.partition = partition
        self._around = around
        self._leaving: dict[str, asyncio.Future[None]] = {}  # Groups whose deletion is on its way to the disk.
        self._stopped = False

    # Life

    async def load(self) -> None:
        """Read the partition; from then on its groups are served."""
        if self.is_loaded:
            return
        loaded = await load(self.partition, f"internal partition {self.number}")
        restored = [self._restored(group_id, loaded) for group_id in sorted(loaded.group_ids)]  # All of them, or none.
        for group, since_ms in restored:
            self._host(group, loaded.offsets.get(group.id), since_ms, loaded.keys.get(group.id, set()))
        self.undecided = loaded.undecided
        self.is_loaded = True
        if self.groups:
            log.debug("internal partition %d is loaded: %d groups", self.number, len(self.groups))

    def _restored(self, group_id: str, loaded: LoadedGroups) -> tuple[Group, int]:
        """A group as its records have it, and since when it is in its state."""
        now = self._around.timers.now()
        consumer_image = loaded.consumer_images.get(group_id)
        if consumer_image is not None and consumer_image.epoch is not None:
            return self._new_consumer_group(group_id).restore(consumer_image, now), self._around.clock.now_ms()
        group, image = self._new_group(group_id), loaded.images.get(group_id)
        if image is None:
            return group, 0
        return group.restore(image, now), max(image.since_ms, 0)

    async def close(self) -> None:
        """Answer whoever waits, and wait until what was written is durable."""
        self._stopped = True
        for hosted in list(self.groups.values()):
            hosted.end(CoordinatorStopped())
        await self.writer.drain()

    # Groups

    async def find(self, group_id: str) -> DurableGroup | None:
        """A group, if there is one. One that is being deleted is waited for: until then its offsets may yet stay."""
        self.check_ready()
        while group_id in self._leaving:
            await asyncio.wait([self._leaving[group_id]])
            self.check_ready()
        return self.groups.get(group_id)

    def check_ready(self) -> None:
        if self._stopped:
            raise CoordinatorStopped
        if not self.is_loaded:
            raise CoordinatorLoading(self.number)

    def create(self, group_id: str) -> DurableGroup:
        """A group that is not there yet. It goes by itself if nobody comes to use it."""
        return self._host(self._new_group(group_id), None, None)

    def _new_group(self, group_id: str) -> ClassicGroup:
        around = self._around
        return ClassicGroup(group_id, around.settings, around.chance, self.writer.record_size_max)

    def _new_consumer_group(self, group_id: str, epoch: int = 0) -> ConsumerGroup:
        around = self._around
        core = ConsumerCore(group_id, around.settings, around.topics, self.writer.record_size_max, epoch)
        return ConsumerGroup(core, around.chance)

    def _host(
        self, group: Group, offsets: OffsetTable | None, since_ms: int | None, keys: Iterable[bytes] = ()
    ) -> DurableGroup:
        around = self._around
        table = OffsetTable() if offsets is None else offsets  # One with nothing but undecided offsets is empty, too.
        table.count_in(around.offsets)
        hosted = DurableGroup(group, table, self.writer, around.timers, around.clock, since_ms=since_ms, keys=keys)
        hosted.on_change = self.drop_if_unused
        hosted.successor = self._successor
        self.groups[group.id] = hosted
        return hosted

    # Moving between the protocols

    def move_to_consumer(self, hosted: DurableGroup) -> ConsumerGroup:
        """Make sure that a group follows the new protocol; raises if it cannot."""
        group = hosted.group
        if isinstance(group, ConsumerGroup):
            return group
        check_upgrade(group, self._around.settings.migration)
        moved = self._new_consumer_group(group.id, group.generation)
        upgrade(group, moved.core)
        moved.expect_all(self._around.timers.now())
        if group.members:
            log.debug("group %s moves to the consumer protocol with %d classic members", group.id, len(group.members))
        hosted.move(moved)
        return moved

    def move_if_empty(self, hosted: DurableGroup) -> None:
        """Let an empty consumer group be a classic one again: somebody comes who speaks that."""
        if isinstance(hosted.group, ConsumerGroup) and hosted.group.is_unused:
            hosted.move(self._downgraded(hosted.group, self._around.timers.now()))

    def _successor(self, group: Group, now: int) -> Group | None:
        if isinstance(group, ConsumerGroup) and must_downgrade(group, self._around.settings.migration):
            log.debug("group %s moves back to the classic protocol: no member of the other is left", group.id)
            return self._downgraded(group, now)
        return None

    def _downgraded(self, group: ConsumerGroup, now: int) -> ClassicGroup:
        classic = self._new_group(group.id).restore(downgraded(group), now)
        for member in group.members:
            classic.remember_epoch(member.id, member.epoch)
        return classic

    def drop_if_unused(self, hosted: DurableGroup) -> None:
        """Forget a group that nobody uses and of which nothing was ever stored."""
        if hosted.is_unused and not hosted.is_stored and self.groups.get(hosted.group.id) is hosted:
            del self.groups[hosted.group.id]
            self._around.timers.forget(hosted.tick)

    async def delete(self, hosted: DurableGroup) -> None:
        """Delete an empty group with its offsets. Durable on return; happens also if nobody waits."""
        hosted.group.check_delete()
        await asyncio.shield(self._start_delete(hosted))

    def _start_delete(self, hosted: DurableGroup) -> asyncio.Future[None]:
        group_id = hosted.group.id
        deleted = hosted.delete()
        self._leaving[group_id] = deleted

        def gone(future: asyncio.Future[None]) -> None:
            del self._leaving[group_id]
            if future.exception() is None:
                del self.groups[group_id]

        deleted.add_done_callback(gone)
        return deleted

    # Making room

    def is_silent(self, hosted: DurableGroup, before: int) -> bool:
        """Whether nobody has heard of a group since, and it has no offsets."""
        return hosted.asked_at <= before and hosted.offsets.is_unused and self._is_here(hosted)

    def _is_here(self, hosted: DurableGroup) -> bool:
        return hosted.group.id not in self._leaving and self.groups.get(hosted.group.id) is hosted

    async def give_up(self, hosted: DurableGroup) -> None:
        """Let a group go whose members are silent. Should one come back, it joins again."""
        hosted.end(RebalanceInProgress(hosted.group.id))
        if hosted.is_stored:
            await asyncio.shield(self._start_delete(hosted))
        elif self.groups.get(hosted.group.id) is hosted:
            del self.groups[hosted.group.id]
            self._around.timers.forget(hosted.tick)

    # Retention

    def expire_offsets(self, now_ms: int) -> None:
        """Take back offsets that nobody has needed for long, and groups of which nothing else is left."""
        for hosted in list(self.groups.values()):
            if hosted.group.id in self._leaving:
                continue
            expired = self._expired(hosted, now_ms)
            if hosted.group.is_unused and len(expired) == len(hosted.offsets.known()):
                log.debug("group %s is empty and its offsets have expired: it is deleted", hosted.group.id)
                self._start_delete(hosted)
            elif expired:
                log.debug("group %s: %d offsets have expired", hosted.group.id, len(expired))
                hosted.change_offsets(dict.fromkeys(expired)).add_done_callback(lambda future: future.exception())

    def _expired(self, hosted: DurableGroup, now_ms: int) -> list[TopicPartition]:
        group, retention_ms = hosted.group, self._around.settings.offsets_retention_ms
        if group.state is GroupState.EMPTY:
            since_ms = (
                hosted.since_ms if group.protocol_type else None
            )  # Without members, only commits are signs of life.
            return hosted.offsets.expired(now_ms, retention_ms, since_ms)
        topics = group.topics()
        if group.state is not GroupState.STABLE or topics is None:
            return []
        return hosted.offsets.expired(now_ms, retention_ms, None, topics)
