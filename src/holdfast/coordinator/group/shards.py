"""All internal partitions of the groups: those that are served, and those that are set aside.

One that is corrupt does not stop the others: whoever asks for a group in it hears of that, until it is repaired.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from holdfast.coordinator.group.classic.joining import check_text
from holdfast.coordinator.group.durable_group import HostedGroup
from holdfast.coordinator.group.errors import CoordinatorSetAside, NewerRecord, ProtocolMismatch, TooManyGroups
from holdfast.coordinator.group.shard import Shard, Surroundings
from holdfast.coordinator.runtime.placement import partition_of
from holdfast.errors import Corrupt
from holdfast.log.partition.partition import PartitionLog

log = logging.getLogger(__name__)

_LOOK_MS = 1_000  # A full table is looked through at most so often,
_GIVEN_UP_MAX = 200  # and so many groups of each internal partition go at a time.
_LOADS_MAX = 8  # Internal partitions read at the same time.


class Shards:
    """Belongs to one event loop. Iterates over those that are served."""

    def __init__(self, logs: Sequence[PartitionLog | Corrupt], around: Surroundings) -> None:
        self._count = len(logs)
        self._groups_max = around.settings.groups_max
        self._silence_ms = around.settings.silence_ms
        self._timers = around.timers
        self._looked_at = -_LOOK_MS
        self._served: dict[int, Shard] = {}
        self.is_elsewhere: Callable[[str], bool] = lambda _: False  # Whether a share group has a name.
        self.aside: dict[int, CoordinatorSetAside] = {}
        for number, partition in enumerate(logs):
            if isinstance(partition, Corrupt):
                self._set_aside(number, partition)
            else:
                self._served[number] = Shard(number, partition, around)

    def __iter__(self) -> Iterator[Shard]:
        return iter(list(self._served.values()))

    async def load(self) -> None:
        """Read them all; one that is corrupt is set aside. May be tried again."""
        at_once = asyncio.Semaphore(_LOADS_MAX)

        async def load(shard: Shard) -> None:
            async with at_once:
                try:
                    await shard.load()
                except NewerRecord:  # Nothing is damaged: an upgrade reads it, and a repair would not.
                    raise
                except Corrupt as failure:
                    self._set_aside(shard.number, failure)

        results = await asyncio.gather(*(load(shard) for shard in self), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _set_aside(self, number: int, why: Corrupt) -> None:
        self._served.pop(number, None)
        failure = CoordinatorSetAside("groups", number, why)
        self.aside[number] = failure
        facts = {"event": "coordinator_set_aside", "of": "groups", "partition": number}
        log.error("%s", failure, extra={"facts": facts})

    def number_of(self, group_id: str) -> int:
        """The internal partition that holds a group."""
        return partition_of(group_id, self._count)

    def of(self, group_id: str) -> Shard:
        """The shard that holds a group; raises if it is set aside."""
        check_text("group id", group_id)
        return self[self.number_of(group_id)]

    def has(self, group_id: str) -> bool:
        """Whether there is a group, or it cannot be known."""
        shard = self._served.get(self.number_of(group_id))
        return shard is None or group_id in shard.groups

    async def find(self, group_id: str) -> HostedGroup | None:
        """A group, if there is one."""
        return await self.of(group_id).find(group_id)

    async def find_or_create(self, group_id: str) -> HostedGroup:
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
        """The table is full: silent groups without offsets go, some at a time, so that nobody is shut out by them."""
        now = self._timers.now()
        if now < self._looked_at + _LOOK_MS:
            return
        self._looked_at = now
        before = now - self._silence_ms
        silent = [(shard, hosted) for shard in self for hosted in islice(shard.silent(before), _GIVEN_UP_MAX)]
        facts = {"event": "groups_full", "groups": self._groups_max, "given_up": len(silent)}
        told = "there are %d groups: %d silent ones are given up"
        log.warning(told, self._groups_max, len(silent), extra={"facts": facts})
        await asyncio.gather(*(shard.give_up(hosted) for shard, hosted in silent))

    def __getitem__(self, number: int) -> Shard:
        found = self._served.get(number)
        if found is None:
            raise self.aside[number]
        return found
