"""The coordinator of share groups: their members, and what has become of every record that was given to them.

shares = ShareCoordinator(make_logs, topics, settings, clock=clock)
await shares.load(logs)
beaten = await shares.beat("jobs", ShareBeat(member_id="m", epoch=0, topics=frozenset({"orders"})))
partition = await shares.partition("jobs", PartitionId(topic_id, 0), log)
given = partition.acquire("m", Found(first=0, end=9), 500, whole=True)
partition.acknowledge("m", [Judged(0, 9, [Verdict.ACCEPT])])
await partition.durable()

Its internal topic is made when the first share group is. Calls raise the errors of `coordinator/group/errors.py`,
`coordinator/group/consumer/errors.py` and `coordinator/share/errors.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import islice

from holdfast.coordinator.group.consumer.member import JOINS, LEAVES
from holdfast.coordinator.group.errors import GroupNotEmpty, GroupNotFound, InvalidGroupId, TooManyGroups, UnknownMember
from holdfast.coordinator.group.topic_view import TopicView
from holdfast.coordinator.runtime.errors import CoordinatorStopped
from holdfast.coordinator.runtime.fields import check_text
from holdfast.coordinator.runtime.internal_topic import InternalLogs, InternalTopic
from holdfast.coordinator.runtime.timers import Alarm, LoopAlarm, Timers
from holdfast.coordinator.runtime.writer import PartitionWriter
from holdfast.coordinator.share.durable_share import DurableShareGroup, DurableSharePartition, ShareCounts
from holdfast.coordinator.share.errors import NotAShareGroup, TooManySharePartitions
from holdfast.coordinator.share.group import ShareBeat, ShareHeartbeatResult
from holdfast.coordinator.share.loader import load
from holdfast.coordinator.share.partition import Image
from holdfast.coordinator.share.settings import ShareConfigs, ShareSettings
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
        self._stopped = False

    # Life

    async def load(self, logs: InternalLogs) -> None:
        """Read the internal partitions. One that is corrupt is in quarantine: its groups are not served, others are."""
        self._topic.open(logs)
        await self._topic.load(self._load)
        if self._groups:
            log.info("%d share groups are loaded", len(self._groups))

    async def _load(self, number: int, partition: PartitionLog) -> None:
        loaded = await load(partition, f"internal partition {number} of share groups")
        self._writers[number] = PartitionWriter(partition)
        for group_id, epoch in loaded.groups.items():
            self._host(group_id, epoch)
        for (group_id, home), image in loaded.partitions.items():
            group = self._groups.get(group_id)
            if group is None or self._topics.find_id(home.topic_id) is None:
                group = group or self._host(group_id)
                gone = DurableSharePartition(group, home, image)
                gone.delete()  # Of a topic, or a group, that was deleted: a crash came between.
            else:
                group.partitions[home] = DurableSharePartition(group, home, image)
                self._partition_count += 1
        for group_id in {key.group_id for key in loaded.partitions} - loaded.groups.keys():
            del self._groups[group_id]

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
            group_id, epoch, self._topics, writer, self.timers, self._clock, self.settings, self.counts
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
            first = await self._first_offset(group.configs, data)
            group = self.find(group_id)
            found = await self._present(group, home) or self._begin(group, home, first)
        await found.durable()
        return found

    async def _present(self, group: DurableShareGroup, home: PartitionId) -> DurableSharePartition | None:
        """What a group knows of a partition; what is being forgotten is so for good before anything new is known."""
        found = group.partitions.get(home)
        if found is not None and found.is_deleted:
            await found.durable()
            self._drop(group, found)
            found = group.partitions.get(home)
        return found

    def _begin(self, group: DurableShareGroup, home: PartitionId, first: int) -> DurableSharePartition:
        if self._partition_count >= self.settings.partitions_max:
            raise TooManySharePartitions(self.settings.partitions_max)
        found = DurableSharePartition(group, home, Image(first, ()))
        group.partitions[home] = found
        self._partition_count += 1
        found.begin()
        return found

    def _drop(self, group: DurableShareGroup, partition: DurableSharePartition) -> None:
        if group.partitions.get(partition.home) is partition:
            del group.partitions[partition.home]
            self._partition_count -= 1

    async def _first_offset(self, configs: ShareConfigs, data: PartitionLog) -> int:
        if configs.reset.from_earliest:
            return data.marks.log_start
        end = data.last_stable if configs.is_committed else data.marks.high_watermark
        if configs.reset.ago_ms is None:
            return end
        found = await data.find_timestamp(max(self._clock.now_ms() - configs.reset.ago_ms, 0))
        return end if found is None else min(found[0], end)

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
