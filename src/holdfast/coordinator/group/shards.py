"""All internal partitions of the groups: those that are served, and those in quarantine.

One that is corrupt does not stop the others: whoever asks for a group in it hears of that, until it is repaired.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator

from holdfast.coordinator.group.durable_group import DurableGroup
from holdfast.coordinator.group.errors import ProtocolMismatch, TooManyGroups
from holdfast.coordinator.group.shard import GroupContext, Shard
from holdfast.coordinator.runtime.fields import check_text
from holdfast.coordinator.runtime.internal_topic import InternalLogs, InternalTopic
from holdfast.errors import Corrupt
from holdfast.log.partition.partition import PartitionLog

log = logging.getLogger(__name__)

_LOOK_MS = 1_000  # A full table is looked through at most so often,
_GIVEN_UP_MAX = 200  # and so many groups of each internal partition go at a time.
_AT_A_TIME = 500  # Groups that are looked at in one turn of the loop.


class Shards:
    """Belongs to one event loop. Iterates over those that are served."""

    def __init__(self, logs: InternalLogs, around: GroupContext) -> None:
        self._topic = InternalTopic("groups", logs)
        self._around = around
        self._groups_max = around.settings.groups_max
        self._silence_ms = around.settings.silence_ms
        self._timers = around.timers
        self._looked_at = -_LOOK_MS
        self._served = {number: Shard(number, each, around) for number, each in self._topic.served.items()}
        self.is_elsewhere: Callable[[str], bool] = lambda _: False  # Whether a share group has a name.

    def __iter__(self) -> Iterator[Shard]:
        return iter(list(self._served.values()))

    async def load(self) -> None:
        """Read them all; one that is corrupt goes to quarantine. May be tried again."""
        await self._topic.load(lambda number, _: self._served[number].load())
        for number in self._served.keys() - self._topic.served.keys():
            del self._served[number]

    async def open(self, number: int, log: PartitionLog) -> None:
        """This broker leads a partition from here on. One that cannot be read now may be tried again."""
        shard = self._served.get(number)
        if shard is None:
            shard = self._served[number] = Shard(number, log, self._around)
            self._topic.open_one(number, log)
        load = shard.load
        await self._topic.load_one(number, log, lambda *_: load())
        if self._topic.has_quarantined(number):
            del self._served[number]

    async def close(self, number: int) -> None:
        """Another broker leads it: who waits is told, and asks there."""
        shard = self._served.pop(number, None)
        self._topic.close_one(number)
        if shard is not None:
            await shard.close()

    @property
    def logs(self) -> dict[int, PartitionLog]:
        """The partitions that are served."""
        return {number: shard.partition for number, shard in self._served.items()}

    def number_of(self, group_id: str) -> int:
        """The internal partition that holds a group."""
        return self._topic.number_of(group_id)

    def of(self, group_id: str) -> Shard:
        """The shard that holds a group; raises if it is in quarantine."""
        check_text("group id", group_id)
        return self[self.number_of(group_id)]

    def quarantined(self, group_id: str | None = None) -> Corrupt | None:
        """Why a group cannot be served, or why a list of all groups is not whole; None if all is well."""
        return self._topic.quarantined(group_id)

    def is_ready(self, number: int) -> bool:
        """Whether an internal partition that is ours was read, or cannot be."""
        shard = self._served.get(number)
        return self._topic.has_quarantined(number) if shard is None else shard.is_loaded

    def has(self, group_id: str) -> bool:
        """Whether there is a group, or it cannot be known."""
        if self._topic.quarantined(group_id) is not None:
            return True
        shard = self._served.get(self.number_of(group_id))
        return shard is not None and group_id in shard.groups

    async def find(self, group_id: str) -> DurableGroup | None:
        """A group, if there is one."""
        return await self.of(group_id).find(group_id)

    async def find_or_create(self, group_id: str) -> DurableGroup:
        """A group; made if it is not there, and there are not too many."""
        found = await self.find(group_id)
        if found is not None:
            return found
        if self._count_groups() >= self._groups_max:
            await self._make_room()
            found = await self.find(group_id)  # Somebody else may have made it while we waited.
            if found is not None:
                return found
        if self._count_groups() >= self._groups_max:
            raise TooManyGroups(self._groups_max)
        if self.is_elsewhere(group_id):
            raise ProtocolMismatch(group_id, "this protocol", "that of share groups")
        return self.of(group_id).create(group_id)

    def _count_groups(self) -> int:
        return sum(len(shard.groups) for shard in self)

    async def _make_room(self) -> None:
        """The table is full: what a flood has left behind goes, some at a time, so that nobody is shut out by it.

        Only silent groups without offsets: what was committed stays until it expires or is deleted, and who is new is
        refused as long as that takes.
        """
        now = self._timers.now()
        if now < self._looked_at + _LOOK_MS:
            return
        self._looked_at = now
        before = now - self._silence_ms
        gone = await self._newest(lambda shard, hosted: shard.is_silent(hosted, before))
        told = "there are %d groups, as max.groups says: %d silent ones without offsets are given up"
        if not gone:
            told += "; new ones are refused until groups are deleted, or their offsets expire"
        facts = {"event": "groups_full", "groups": self._groups_max, "given_up": len(gone)}
        log.warning(told, self._groups_max, len(gone), extra={"facts": facts})
        await asyncio.gather(*(shard.give_up(hosted) for shard, hosted in gone))

    async def _newest(self, goes: Callable[[Shard, DurableGroup], bool]) -> list[tuple[Shard, DurableGroup]]:
        """Of the groups that may go the newest, of each shard: a flood is newer than who was here before it.

        Others have their turn meanwhile.
        """
        found: list[tuple[Shard, DurableGroup]] = []
        for shard in self:
            some: list[tuple[Shard, DurableGroup]] = []
            for number, hosted in enumerate(list(shard.groups.values())[::-1], 1):
                if number % _AT_A_TIME == 0:
                    await asyncio.sleep(0)
                if goes(shard, hosted):
                    some.append((shard, hosted))
                if len(some) == _GIVEN_UP_MAX:
                    break
            found += some
        return [each for each in found if goes(*each)]  # Somebody may have come meanwhile.

    def __getitem__(self, number: int) -> Shard:
        self._topic.check_number(number)
        return self._served[number]
