"""Share groups and their partitions over the log: what the rules change is written, and answers wait for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.coordinator.group.topic_view import TopicView
from holdfast.coordinator.runtime.durable_key import DurableKey
from holdfast.coordinator.runtime.timers import Timers
from holdfast.coordinator.runtime.writer import PartitionWriter
from holdfast.coordinator.share.errors import InvalidRecordState, ShareLeaderOld, ShareStateOld
from holdfast.coordinator.share.group import ShareGroup
from holdfast.coordinator.share.partition import (
    Acquired,
    AvailableRange,
    Image,
    Judged,
    RecordState,
    RecordVerdict,
    ShareLimits,
    SharePartition,
)
from holdfast.coordinator.share.records import (
    ShareGroupKey,
    ShareKey,
    SharePartitionKey,
    StoredState,
    among_groups,
    encode_group,
    encode_key,
    encode_state,
)
from holdfast.coordinator.share.settings import ShareConfigs, ShareSettings
from holdfast.io.clock import Clock
from holdfast.types import PartitionId

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ShareCounts:
    """Records of all groups, since the start."""

    timed_out: int = 0  # A member has held them for too long.
    given_up: int = 0  # They were delivered as often as is allowed.


class Keeper(Protocol):
    """Where something is kept: in an internal partition of ours, or by another broker."""

    def changed(self) -> None:
        """Have it written. Nobody has to wait for it."""

    async def durable(self) -> None:
        """Wait until all changes so far are durable; raises if they never will be."""


class GroupOfPartition(Protocol):
    """What a partition has to know of its group."""

    timers: Timers
    counts: ShareCounts

    @property
    def id(self) -> str: ...

    @property
    def configs(self) -> ShareConfigs: ...

    @property
    def limits(self) -> ShareLimits: ...


class DurableSharePartition:
    """One partition as one group reads it. Belongs to one event loop."""

    def __init__(
        self,
        group: GroupOfPartition,
        home: PartitionId,
        image: Image,
        keep: Callable[[DurableSharePartition], Keeper],
    ) -> None:
        self._group = group
        self.home = home
        self.rules = SharePartition(image)
        self.is_deleted = False
        self._written = self.rules.revision
        self.listeners: set[Callable[[], None]] = set()  # Each is told once, when something may have become available.
        self._kept = keep(self)

    @property
    def is_idle(self) -> bool:
        """Whether nobody has anything of it."""
        return all(run.state is not RecordState.ACQUIRED for run in self.rules.runs)

    def retire(self) -> None:
        """Give out nothing any more: another takes its place, here or elsewhere. What was given out is nobody's."""
        self.is_deleted = True
        self._group.timers.forget(self.tick)
        self._tell()

    @property
    def limits(self) -> ShareLimits:
        return self._group.limits

    async def durable(self) -> None:
        """Wait until all that was decided so far is durable."""
        await self._kept.durable()

    def begin(self) -> None:
        """Write where the group begins."""
        self._kept.changed()

    def delete(self) -> None:
        """Take everything back."""
        self.is_deleted = True
        self.rules = SharePartition(Image(self.rules.start, ()))  # Nobody has anything of it any more.
        self._group.timers.forget(self.tick)
        self._kept.changed()
        self._tell()

    def restart(self, start: int) -> None:
        """Begin elsewhere: whatever was judged, or is under way, is forgotten."""
        self.rules = SharePartition(Image(start, ()))
        self._written = self.rules.revision
        self._group.timers.forget(self.tick)
        self._kept.changed()
        self._tell()

    # What members ask

    async def look(self) -> None:
        """Before anything is given out: whether it is still ours. With one leader its log says so."""

    def acquire(self, member: str, found: AvailableRange, count_max: int, *, whole: bool) -> list[Acquired]:
        """Give a member what is free of what was read."""
        if self.is_deleted:
            return []
        given = self.rules.acquire(member, found, count_max, self.limits, self._group.timers.now(), whole=whole)
        self._note(freed=False)
        return given

    def cut(self, log_start: int) -> None:
        """The log begins here now."""
        self.rules.cut(log_start)
        self._note(freed=False)

    def acknowledge(self, member: str, batches: Sequence[Judged]) -> None:
        """Take a member's verdicts. They hold when `durable` returns."""
        if not self._group.configs.renews and any(RecordVerdict.RENEW in each.verdicts for each in batches):
            first, end, _ = next(each for each in batches if RecordVerdict.RENEW in each.verdicts)
            raise InvalidRecordState(member, first, end, "locks are not renewed in this group")
        self.rules.acknowledge(member, batches, self.limits, self._group.timers.now())
        self._note(freed=True)

    def release(self, member: str, *, delivered: bool) -> None:
        """A member is gone."""
        self.rules.release(member, self.limits, delivered=delivered)
        self._note(freed=True)

    def tick(self, now: int) -> None:
        """Free what was held for too long."""
        count = self.rules.tick(now, self.limits)
        if count:
            self._group.counts.timed_out += count
            where = f"{self.home.topic_id}-{self.home.partition}"
            log.info("group %s, %s: %d records were held for too long, and are free", self._group.id, where, count)
        self._note(freed=bool(count))

    def _note(self, *, freed: bool) -> None:
        if self.is_deleted:
            return
        given_up, self.rules.given_up = self.rules.given_up, 0
        if given_up:
            self._group.counts.given_up += given_up
            where = f"{self.home.topic_id}-{self.home.partition}"
            told = "share group %s, %s: %d records were delivered as often as is allowed, and are delivered no more"
            log.warning(told, self._group.id, where, given_up)
        if self.rules.revision != self._written:
            self._written = self.rules.revision
            self._kept.changed()
        self._group.timers.call_at(self.rules.deadline, self.tick)
        if freed:
            self._tell()

    def _tell(self) -> None:
        told, self.listeners = self.listeners, set()
        for each in told:
            each()


class SharePartitionState(DurableSharePartition):
    """One partition in its group's internal partition, and which leader of it has read it, if others may lead it."""

    _group: DurableShareGroup

    def __init__(self, group: DurableShareGroup, home: PartitionId, state: StoredState) -> None:
        self.state_epoch = state.state_epoch
        self.leader_epoch = state.leader_epoch
        key = group.key_of(SharePartitionKey(group.id, home))
        super().__init__(group, home, state.image, lambda _: DurableKey(key, self._value, group.writer, group.clock))

    def _value(self) -> bytes | None:
        if self.is_deleted:
            return None
        return encode_state(StoredState(self.rules.image(), self.state_epoch, self.leader_epoch))

    def restart(self, start: int) -> None:
        """Whatever leaders know of it is not so any more."""
        self.state_epoch = next_state(self.state_epoch)
        super().restart(start)

    async def read(self, leader_epoch: int) -> StoredState:
        """A leader begins with it, or begins again: nothing counts any more that an earlier one has under way.

        That is durable on return. So whoever was the group's coordinator before has nothing under way either.
        """
        if leader_epoch < self.leader_epoch:
            raise ShareLeaderOld(self._group.id, self.home.path, leader_epoch)
        self.state_epoch += 1
        self.leader_epoch = leader_epoch
        state = StoredState(self.rules.image(), self.state_epoch, leader_epoch)
        self._kept.changed()
        await self._kept.durable()
        return state

    async def write(self, state: StoredState) -> None:
        """What its leader says. Durable on return."""
        if state.leader_epoch < self.leader_epoch:
            raise ShareLeaderOld(self._group.id, self.home.path, state.leader_epoch)
        if (state.state_epoch, state.leader_epoch) != (self.state_epoch, self.leader_epoch):
            raise ShareStateOld(self._group.id, self.home.path)
        self.rules = SharePartition(state.image)
        self._written = self.rules.revision
        self._kept.changed()
        await self._kept.durable()


_STATES_APART = 1 << 16  # Epochs of states: each read is the next; after a reset the upper half is another.


def next_state(state_epoch: int) -> int:
    """The epoch of a state that has nothing to do with the one before."""
    return (state_epoch // _STATES_APART + 1) % (1 << 15) * _STATES_APART


def is_same_state(one: int, other: int) -> bool:
    return one // _STATES_APART == other // _STATES_APART


class DurableShareGroup:
    """One group and its partitions. Belongs to one event loop."""

    def __init__(
        self,
        group_id: str,
        epoch: int,
        topics: TopicView,
        writer: PartitionWriter,
        timers: Timers,
        clock: Clock,
        settings: ShareSettings,
        counts: ShareCounts,
        *,
        is_among_groups: bool = False,
    ) -> None:
        self.rules = ShareGroup(group_id, topics, epoch)
        self.partitions: dict[PartitionId, SharePartitionState] = {}
        self.writer = writer
        self.timers = timers
        self.clock = clock
        self.counts = counts
        self._settings = settings
        self.is_deleted = False
        self._is_among_groups = is_among_groups
        self._kept = DurableKey(self.key_of(ShareGroupKey(group_id)), self._value, writer, clock)
        self._written = epoch

    def _value(self) -> bytes | None:
        return None if self.is_deleted else encode_group(self.rules.epoch)

    @property
    def id(self) -> str:
        return self.rules.id

    def key_of(self, key: ShareKey) -> bytes:
        return among_groups(encode_key(key)) if self._is_among_groups else encode_key(key)

    @property
    def configs(self) -> ShareConfigs:
        return self._settings.configs_of(self.rules.id)

    @property
    def limits(self) -> ShareLimits:
        return self.configs.limits

    @property
    def is_unused(self) -> bool:
        """It has no members, and nothing that would be lost with it."""
        return not self.rules.members and not self.partitions

    async def room(self) -> None:
        """Wait until there is room in the log."""
        await self.writer.room()

    async def note(self) -> None:
        """Write what has changed, and wait until it is durable."""
        self.write()
        await self._kept.durable()

    def write(self) -> None:
        if self.rules.epoch != self._written and not self.is_deleted:
            self._written = self.rules.epoch
            self._kept.changed()
        self.timers.call_at(self.rules.deadline, self.tick)

    def tick(self, now: int) -> None:
        """Give up members that were not heard of for too long; what they had is free."""
        late = self.rules.late(now)
        if late:
            log.info(
                "share group %s: %d members were not heard of for too long, and are gone", self.rules.id, len(late)
            )
        self.rules.remove(late)
        self.release(late, delivered=True)
        self.write()

    def release(self, members: Iterable[str], *, delivered: bool) -> None:
        """Members are gone: what they had is free."""
        for member in members:
            for partition in self.partitions.values():
                partition.release(member, delivered=delivered)

    def stop(self) -> None:
        """Another broker has it. What was taken is still written, if that can be."""
        self.timers.forget(self.tick)

    async def delete(self) -> None:
        """Take the group back, with all its partitions. Durable on return."""
        self.is_deleted = True
        self.timers.forget(self.tick)
        for partition in self.partitions.values():
            partition.delete()
        self._kept.changed()
        for partition in self.partitions.values():
            await partition.durable()
        await self._kept.durable()
