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
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice

from holdfast.coordinator.group.consumer.member import JOINS, LEAVES
from holdfast.coordinator.group.errors import GroupNotEmpty, GroupNotFound, InvalidGroupId, TooManyGroups, UnknownMember
from holdfast.coordinator.group.topic_view import TopicView
from holdfast.coordinator.runtime.errors import CoordinatorSetAside, CoordinatorStopped, NewerRecord
from holdfast.coordinator.runtime.fields import check_text
from holdfast.coordinator.runtime.placement import partition_of
from holdfast.coordinator.runtime.timers import Alarm, LoopAlarm, Timers
from holdfast.coordinator.runtime.writer import Writer
from holdfast.coordinator.share.durable_share import HostedShareGroup, HostedSharePartition, ShareCounts
from holdfast.coordinator.share.errors import NotAShareGroup, TooManySharePartitions
from holdfast.coordinator.share.group import ShareBeat, ShareBeaten
from holdfast.coordinator.share.loader import load
from holdfast.coordinator.share.partition import Image
from holdfast.coordinator.share.records import GroupValue
from holdfast.coordinator.share.settings import ShareConfigs, ShareSettings, check_config
from holdfast.errors import Corrupt
from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog
from holdfast.segment.names import PartitionId

log = logging.getLogger(__name__)

_GIVEN_UP_MAX = 100

Logs = Sequence[PartitionLog | Corrupt]


class ShareCoordinator:
    """Belongs to one event loop."""

    def __init__(
        self,
        make_logs: Callable[[], Awaitable[Logs]],
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
        self._count = 0  # Of internal partitions; their number never changes.
        self._writers: dict[int, Writer] = {}
        self._aside: dict[int, CoordinatorSetAside] = {}
        self._groups: dict[str, HostedShareGroup] = {}
        self._partition_count = 0  # Of all groups together.
        self._stopped = False

    # Life

    async def load(self, logs: Logs) -> None:
        """Read the internal partitions. One that is corrupt is set aside: its groups are not served, all others are."""
        self._count = len(logs)
        for number, each in enumerate(logs):
            try:
                if isinstance(each, Corrupt):
                    raise each
                await self._load(number, each)
            except NewerRecord:  # Nothing is damaged: an upgrade reads it, and a repair would not.
                raise
            except Corrupt as failure:
                self._set_aside(number, failure)
        if self._groups:
            log.info("%d share groups are loaded", len(self._groups))

    async def _load(self, number: int, partition: PartitionLog) -> None:
        loaded = await load(partition, f"internal partition {number} of share groups")
        self._writers[number] = Writer(partition)
        for group_id, value in loaded.groups.items():
            self._host(group_id, value)
        for (group_id, home), image in loaded.partitions.items():
            group = self._groups.get(group_id)
            if group is None or self._topics.find_id(home.topic_id) is None:
                group = group or self._host(group_id, GroupValue(0, {}))
                gone = HostedSharePartition(group, home, image)
                gone.delete()  # Of a topic, or a group, that was deleted: a crash came between.
            else:
                group.partitions[home] = HostedSharePartition(group, home, image)
                self._partition_count += 1
        for group_id in {key.group_id for key in loaded.partitions} - loaded.groups.keys():
            del self._groups[group_id]

    def _set_aside(self, number: int, why: Corrupt) -> None:
        failure = CoordinatorSetAside("share groups", number, why)
        self._aside[number] = failure
        facts = {"event": "coordinator_set_aside", "of": "share groups", "partition": number}
        log.error("%s", failure, extra={"facts": facts})

    async def close(self) -> None:
        """Take no more, and wait until all is durable."""
        self._stopped = True
        self.timers.stop()
        await asyncio.gather(*(writer.drain() for writer in self._writers.values()))

    def aside(self, group_id: str | None = None) -> Corrupt | None:
        """Why a group cannot be served, or why a list of all groups is not whole; None if all is well."""
        if group_id is None:
            return next(iter(self._aside.values()), None)
        return self._aside.get(partition_of(group_id, self._count)) if self._count else None

    def _host(self, group_id: str, value: GroupValue) -> HostedShareGroup:
        writer = self._writers[partition_of(group_id, self._count)]
        hosted = HostedShareGroup(
            group_id, value, self._topics, writer, self.timers, self._clock, self.settings, self.counts
        )
        self._groups[group_id] = hosted
        return hosted

    # Members

    async def beat(self, group_id: str, request: ShareBeat) -> ShareBeaten:
        """A member comes, stays or goes."""
        self._check(group_id)
        request.check()
        group = await self._find_or_create(group_id) if request.epoch == JOINS else self._groups.get(group_id)
        if group is None:
            raise UnknownMember(group_id, request.member_id)
        beaten = group.rules.beat(request, self.settings.times, self.timers.now())
        if request.epoch == LEAVES:
            group.release([request.member_id], delivered=False)
        await group.note()
        return beaten

    async def _find_or_create(self, group_id: str) -> HostedShareGroup:
        async with self._making:
            self._check(group_id)
            found = self._groups.get(group_id)
            if (found is None or not found.rules.epoch) and self._is_taken(group_id):
                raise NotAShareGroup(group_id)
            if found is not None:
                return found
            if len(self._groups) >= self.settings.groups_max:
                await self._make_room()
            if not self._count:
                await self.load(await self._make_logs())
                self._check(group_id)
                if self._is_taken(group_id):  # Meanwhile.
                    raise NotAShareGroup(group_id)
            return self._host(group_id, GroupValue(0, {}))

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

    async def partition(self, group_id: str, home: PartitionId, data: PartitionLog) -> HostedSharePartition:
        """A partition as a group reads it. Where the group begins is durable before anything is given to anybody."""
        group = self.find(group_id)
        found = group.partitions.get(home)
        if found is None:
            if self._partition_count >= self.settings.partitions_max:
                raise TooManySharePartitions(self.settings.partitions_max)
            found = HostedSharePartition(group, home, Image(_first_offset(group.configs, data), ()))
            group.partitions[home] = found
            self._partition_count += 1
            found.begin()
        await found.durable()
        return found

    def release(self, group_id: str, member_id: str) -> None:
        """A member has closed its session: what it has not judged was not delivered, and is free."""
        group = self._groups.get(group_id)
        if group is not None:
            group.release([member_id], delivered=False)

    def forget(self, group_id: str, home: PartitionId) -> None:
        """A topic was deleted: nothing of it is kept."""
        group = self._groups.get(group_id)
        found = group.partitions.pop(home, None) if group is not None else None
        if found is not None:
            self._partition_count -= 1
            found.delete()

    # Operators

    def has(self, group_id: str) -> bool:
        """Whether there is a share group of this name; configs alone are none."""
        group = self._groups.get(group_id)
        return group is not None and group.rules.epoch > 0

    def find(self, group_id: str) -> HostedShareGroup:
        """One group; GroupNotFound if there is none."""
        self._check(group_id)
        found = self._groups.get(group_id)
        if found is None or not found.rules.epoch:
            raise NotAShareGroup(group_id) if self._is_taken(group_id) else GroupNotFound(group_id)
        return found

    def __iter__(self) -> Iterator[HostedShareGroup]:
        """All groups; those that are set aside are not among them."""
        return iter([each for each in self._groups.values() if each.rules.epoch])

    async def configure(self, group_id: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """Give a group other configs, also one that is yet to come. Durable on return."""
        self._check(group_id)
        if not group_id:
            raise InvalidGroupId(group_id)
        group = self._groups.get(group_id)
        configs = change({} if group is None else group.configs.given)
        for name, value in configs.items():
            check_config(name, value)
        if group is None and not configs:
            return
        group = group or await self._find_or_create(group_id)
        group.configs = ShareConfigs(dict(configs))
        await group.note()

    def configs(self, group_id: str) -> Mapping[str, str]:
        """What a group has of its own."""
        group = self._groups.get(group_id)
        return {} if group is None else group.configs.given

    async def delete_group(self, group_id: str) -> None:
        """Delete a group without members, with all it knows. Durable on return."""
        async with self._making:  # Nobody makes it again before all of it is taken back.
            group = self.find(group_id)
            if group.rules.members:
                raise GroupNotEmpty(group_id)
            del self._groups[group_id]
            self._partition_count -= len(group.partitions)
            await group.delete()
            if group.configs.given:  # They belong to the name.
                named = self._host(group_id, GroupValue(0, {}))
                named.configs = group.configs
                await named.note()

    def _check(self, group_id: str) -> None:
        if self._stopped:
            raise CoordinatorStopped
        if not group_id:
            raise InvalidGroupId(group_id)
        check_text("group id", group_id)
        aside = self.aside(group_id)
        if aside is not None:
            raise aside


def _first_offset(configs: ShareConfigs, data: PartitionLog) -> int:
    if configs.from_earliest:
        return data.marks.log_start
    return data.last_stable if configs.is_committed else data.marks.high_watermark
