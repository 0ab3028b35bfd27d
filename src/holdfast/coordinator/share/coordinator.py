"""The coordinator of share groups: their members, and what has become of every record that was given to them.

shares = ShareCoordinator(make_logs, topics, settings, clock=clock)
await shares.load(logs)
beaten = await shares.beat("jobs", ShareBeat(member_id="m", epoch=0, topics=frozenset({"orders"})))
partition = await shares.partition("jobs", PartitionId(topic_id, 0), log)
given = partition.acquire("m", Found(first=0, end=9), 500, whole=True)
partition.acknowledge("m", [Judged(0, 9, [Verdict.ACCEPT])])
await partition.durable()

Its internal topic is made when the first share group is. Where each partition has its leader, share groups are beside
all others (`is_among_groups`), and come and go with them (`follow`): partitions are given out by their leaders, which
ask what is known, and tell what has become of records (`read_state`, `write_state`). Calls raise the errors of
`coordinator/group/errors.py`, `coordinator/group/consumer/errors.py` and `coordinator/share/errors.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import islice
from uuid import UUID

from holdfast.coordinator.group.consumer.member import JOINS, LEAVES
from holdfast.coordinator.group.errors import GroupNotEmpty, GroupNotFound, InvalidGroupId, TooManyGroups, UnknownMember
from holdfast.coordinator.group.topic_view import TopicView
from holdfast.coordinator.runtime.errors import CoordinatorLoading, CoordinatorStopped
from holdfast.coordinator.runtime.fields import check_text
from holdfast.coordinator.runtime.internal_topic import InternalLogs, InternalTopic
from holdfast.coordinator.runtime.timers import Alarm, LoopAlarm, Timers
from holdfast.coordinator.runtime.writer import PartitionWriter
from holdfast.coordinator.share.durable_share import (
    DurableShareGroup,
    DurableSharePartition,
    ShareCounts,
    SharePartitionState,
    next_state,
)
from holdfast.coordinator.share.errors import NotAShareGroup, ShareStateOld, TooManySharePartitions
from holdfast.coordinator.share.first_offset import first_offset
from holdfast.coordinator.share.group import ShareBeat, ShareHeartbeatResult
from holdfast.coordinator.share.loader import load
from holdfast.coordinator.share.partition import Image
from holdfast.coordinator.share.records import StoredState
from holdfast.coordinator.share.settings import ShareSettings
from holdfast.errors import Corrupt
from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

_GIVEN_UP_MAX = 100
_AT_ONCE_MAX = 20  # Partitions that are moved before others have their turn.


class ShareCoordinator:
    """Belongs to one event loop."""

    def __init__(
        self,
        make_logs: Callable[[], Awaitable[InternalLogs]],
        topics: TopicView,
        settings: ShareSettings | None = None,
        *,
        clock: Clock,
        alarm: Alarm | None = None,
        is_taken: Callable[[str], bool] = lambda _: False,
        is_among_groups: bool = False,
    ) -> None:
        """`make_logs` makes the internal topic; `is_taken` says whether a group of another kind has this name."""
        self.settings = settings or ShareSettings()
        self.timers = Timers(clock, alarm or LoopAlarm())
        self._make_logs = make_logs
        self._topics = topics
        self._clock = clock
        self._is_taken = is_taken
        self.counts = ShareCounts()
        self._making = asyncio.Lock()
        self._topic = InternalTopic("share groups")  # Empty until there is a group.
        self._writers: dict[int, PartitionWriter] = {}
        self._groups: dict[str, DurableShareGroup] = {}
        self._partition_count = 0  # Of all groups together.
        self._is_among_groups = is_among_groups
        self._stopped = False

    # Life

    async def load(self, logs: InternalLogs) -> None:
        """Read the internal partitions. One that is corrupt is in quarantine: its groups are not served, others are."""
        self._topic.open(logs)
        await self._topic.load(self._load)
        if self._groups:
            log.info("%d share groups are loaded", len(self._groups))

    async def _load(self, number: int, partition: PartitionLog) -> None:
        among_groups = self._is_among_groups
        loaded = await load(partition, f"internal partition {number} of share groups", among_groups=among_groups)
        self._writers[number] = PartitionWriter(partition)
        for group_id, epoch in loaded.groups.items():
            self._host(group_id, epoch)
        for (group_id, home), state in loaded.partitions.items():
            group = self._groups.get(group_id)
            is_gone = not among_groups and self._topics.find_id(home.topic_id) is None  # Else we may not know it yet.
            if group is None or is_gone:
                group = group or self._host(group_id)
                gone = SharePartitionState(group, home, state)
                gone.delete()  # Of a topic, or a group, that was deleted: a crash came between.
            else:
                group.partitions[home] = SharePartitionState(group, home, state)
                self._partition_count += 1
        for group_id in {key.group_id for key in loaded.partitions} - loaded.groups.keys():
            del self._groups[group_id]

    async def follow(self, logs: InternalLogs) -> None:
        """Serve the groups of these internal partitions from here on, and no others. Raises if one cannot be read."""
        await self._topic.follow(logs, self._open_one, self._close_one)

    async def _open_one(self, number: int, partition: PartitionLog) -> None:
        await self._topic.take(number, partition, self._load, self._close_one)

    def _close_one(self, number: int) -> None:
        """Another broker has an internal partition: members join there, and leaders ask there."""
        was_served = number in self._topic.served
        self._topic.close_one(number)
        self._writers.pop(number, None)
        for group_id in [each for each in self._groups if was_served and self._topic.number_of(each) == number]:
            group = self._groups.pop(group_id)
            self._partition_count -= len(group.partitions)
            group.stop()

    def is_ready(self, number: int) -> bool:
        """Whether an internal partition that is ours was read, or cannot be."""
        is_open = number in self._topic.served and number not in self._topic.loading
        return is_open or self._topic.has_quarantined(number)

    def partition_of(self, group_id: str) -> int:
        """The internal partition that holds a group."""
        return self._topic.number_of(group_id)

    async def close(self) -> None:
        """Take no more, and wait until all is durable."""
        self._stopped = True
        self.timers.stop()
        await asyncio.gather(*(writer.drain() for writer in self._writers.values()))

    def quarantined(self, group_id: str | None = None) -> Corrupt | None:
        """Why a group cannot be served, or why a list of all groups is not whole; None if all is well."""
        return self._topic.quarantined(group_id)

    def _host(self, group_id: str, epoch: int = 0) -> DurableShareGroup:
        writer = self._writers[self._topic.number_of(group_id)]
        hosted = DurableShareGroup(
            group_id,
            epoch,
            self._topics,
            writer,
            self.timers,
            self._clock,
            self.settings,
            self.counts,
            is_among_groups=self._is_among_groups,
        )
        self._groups[group_id] = hosted
        return hosted

    # Members

    async def beat(self, group_id: str, request: ShareBeat) -> ShareHeartbeatResult:
        """A member comes, stays or goes."""
        self._check(group_id)
        request.check()
        group = await self._find_or_create(group_id) if request.epoch == JOINS else self._groups.get(group_id)
        if group is None:
            raise UnknownMember(group_id, request.member_id)
        beaten = group.rules.beat(request, group.configs.times, self.timers.now())
        if request.epoch == LEAVES:
            group.release([request.member_id], delivered=False)
        await group.note()
        return beaten

    async def _find_or_create(self, group_id: str) -> DurableShareGroup:
        async with self._making:
            return await self._make(group_id)

    async def _make(self, group_id: str) -> DurableShareGroup:
        """A group, also one that is new. By one at a time."""
        self._check(group_id)
        found = self._groups.get(group_id)
        if (found is None or not found.rules.epoch) and self._is_taken(group_id):
            raise NotAShareGroup(group_id)
        if found is not None:
            return found
        if len(self._groups) >= self.settings.groups_max:
            await self._make_room()
        if not self._topic.count:
            await self.load(await self._make_logs())
            self._check(group_id)
            if self._is_taken(group_id):  # Meanwhile.
                raise NotAShareGroup(group_id)
        return self._host(group_id)

    async def _make_room(self) -> None:
        """The table is full: groups that have no members and never read anything go, some at a time."""
        unused = (each for each in self._groups.values() if each.is_unused)
        gone = list(islice(unused, _GIVEN_UP_MAX))
        facts = {"event": "share_groups_full", "groups": self.settings.groups_max, "given_up": len(gone)}
        told = "there are %d share groups: %d that never read anything are given up"
        log.warning(told, self.settings.groups_max, len(gone), extra={"facts": facts})
        if not gone:
            raise TooManyGroups(self.settings.groups_max)
        for group in gone:
            del self._groups[group.rules.id]
            await group.delete()

    # Partitions

    async def partition(self, group_id: str, home: PartitionId, data: PartitionLog) -> DurableSharePartition:
        """A partition as a group reads it. Where the group begins is durable before anything is given to anybody."""
        group = self.find(group_id)
        found = await self._present(group, home)
        if found is None:
            first = await first_offset(group.configs, data, self._clock)
            group = self.find(group_id)
            found = await self._present(group, home) or self._begin(group, home, first)
        await found.durable()
        return found

    async def read_state(self, group_id: str, home: PartitionId, leader_epoch: int) -> StoredState:
        """What is known of a partition, for a leader that begins with it: from here on no earlier one is heard.

        A start of -1: nothing is known yet, and the leader says where the group begins.
        """
        found = await self._present(self.find(group_id), home)
        group = self.find(group_id)
        if found is None or group.partitions.get(home) is not found:
            found = group.partitions.get(home) or self._add(group, home, StoredState(Image(-1, ()), self._new_state()))
        return await found.read(leader_epoch)

    async def write_state(self, group_id: str, home: PartitionId, state: StoredState) -> None:
        """What has become of a partition's records, as its leader says. Durable on return."""
        group = self.find(group_id)
        found = group.partitions.get(home)
        if found is None or found.is_deleted:
            raise ShareStateOld(group_id, home.path)
        await found.write(state)

    def _new_state(self) -> int:
        """An epoch that leaders know nothing of which had to do with a group of the same name."""
        return next_state(self._clock.now_ms() // 1000 % (1 << 15) << 16)

    async def _present(self, group: DurableShareGroup, home: PartitionId) -> SharePartitionState | None:
        """What a group knows of a partition; what is being forgotten is so for good before anything new is known."""
        found = group.partitions.get(home)
        if found is not None and found.is_deleted:
            await found.durable()
            self._drop(group, found)
            found = group.partitions.get(home)
        return found

    def _begin(self, group: DurableShareGroup, home: PartitionId, first: int) -> SharePartitionState:
        state_epoch = self._new_state() if self._is_among_groups else 0
        found = self._add(group, home, StoredState(Image(first, ()), state_epoch))
        found.begin()
        return found

    def _add(self, group: DurableShareGroup, home: PartitionId, state: StoredState) -> SharePartitionState:
        if self._partition_count >= self.settings.partitions_max:
            raise TooManySharePartitions(self.settings.partitions_max)
        found = group.partitions[home] = SharePartitionState(group, home, state)
        self._partition_count += 1
        return found

    def _drop(self, group: DurableShareGroup, partition: DurableSharePartition) -> None:
        if group.partitions.get(partition.home) is partition:
            del group.partitions[partition.home]
            self._partition_count -= 1

    async def expect(self, group_id: str, logs: Iterable[PartitionLog]) -> None:
        """A member begins a session: all that is known of what it will ask for is here."""

    def release(self, group_id: str, member_id: str) -> None:
        """A member has closed its session: what it has not judged was not delivered, and is free."""
        group = self._groups.get(group_id)
        if group is not None:
            group.release([member_id], delivered=False)

    def forget(self, group_id: str, home: PartitionId) -> None:
        """A topic was deleted: nothing of it is kept."""
        group = self._groups.get(group_id)
        found = group.partitions.get(home) if group is not None else None
        if group is not None and found is not None:
            self._drop(group, found)
            found.delete()

    def topic_ids(self) -> set[UUID]:
        """The topics that groups know something of."""
        return {home.topic_id for group in self._groups.values() for home in group.partitions}

    def forget_topics(self, is_gone: Callable[[UUID], bool]) -> None:
        """Topics were deleted: nothing of them is kept, in any group."""
        for group in list(self._groups.values()):
            for home in [each for each in group.partitions if is_gone(each.topic_id)]:
                self.forget(group.id, home)

    # Operators

    async def alter_offsets(self, group_id: str, starts: Mapping[PartitionId, int]) -> None:
        """Let a group without members, or a new one, begin elsewhere: what was judged is forgotten. Durable then."""
        async with self._making:  # Nobody joins meanwhile.
            group = self.find_empty(group_id) if self.has(group_id) else await self._make(group_id)
            if self._partition_count + len(starts.keys() - group.partitions.keys()) > self.settings.partitions_max:
                raise TooManySharePartitions(self.settings.partitions_max)
            for number, (home, start) in enumerate(starts.items()):
                found = await self._present(group, home)
                if found is None:
                    self._begin(group, home, start)
                else:
                    found.restart(start)
                if number % _AT_ONCE_MAX == 0:
                    await asyncio.sleep(0)  # There may be thousands.
            group.rules.epoch = max(group.rules.epoch, 1)
            await group.note()
            for home in starts:
                await group.partitions[home].durable()

    async def delete_offsets(self, group_id: str, homes: Iterable[PartitionId]) -> None:
        """Let a group without members forget how far it is: it begins anew by its configs. Durable on return."""
        async with self._making:
            group = self.find_empty(group_id)
            found = [group.partitions[home] for home in homes if home in group.partitions]
            for number, partition in enumerate(found):
                partition.delete()
                if number % _AT_ONCE_MAX == 0:
                    await asyncio.sleep(0)
            for partition in found:
                await partition.durable()
                self._drop(group, partition)

    def find_empty(self, group_id: str) -> DurableShareGroup:
        """One group, without members; GroupNotFound or GroupNotEmpty."""
        group = self.find(group_id)
        if group.rules.members:
            raise GroupNotEmpty(group_id)
        return group

    def has(self, group_id: str) -> bool:
        """Whether there is a share group of this name."""
        group = self._groups.get(group_id)
        return group is not None and group.rules.epoch > 0

    def find(self, group_id: str) -> DurableShareGroup:
        """One group; GroupNotFound if there is none."""
        self._check(group_id)
        found = self._groups.get(group_id)
        if found is None or not found.rules.epoch:
            raise NotAShareGroup(group_id) if self._is_taken(group_id) else GroupNotFound(group_id)
        return found

    def __iter__(self) -> Iterator[DurableShareGroup]:
        """All groups; those in quarantine are not among them."""
        return iter([each for each in self._groups.values() if each.rules.epoch])

    async def delete_group(self, group_id: str) -> None:
        """Delete a group without members, with all it knows. Durable on return."""
        async with self._making:  # Nobody makes it again before all of it is taken back.
            group = self.find_empty(group_id)
            del self._groups[group_id]
            self._partition_count -= len(group.partitions)
            await group.delete()

    def _check(self, group_id: str) -> None:
        if self._stopped:
            raise CoordinatorStopped
        if not group_id:
            raise InvalidGroupId(group_id)
        check_text("group id", group_id)
        quarantined = self.quarantined(group_id)
        if quarantined is not None:
            raise quarantined
        if self._is_among_groups:
            number = self._topic.number_of(group_id)
            if number in self._topic.loading:
                raise CoordinatorLoading(number)
            self._topic.check_number(number)
