"""A coordinator over real logs on a simulated disk, driven by hand: the disk syncs when the loop turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from uuid import UUID

from tests.coordinator.group_driver import request
from tests.log.log_world import LogWorld, turns

from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.group.requests import Caller, OffsetToCommit, SyncRequest
from holdfast.coordinator.group.settings import GroupSettings
from holdfast.coordinator.group.topic_view import TopicView
from holdfast.io.chance import SeededChance
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import PartitionSettings
from holdfast.types import PartitionId, TopicPartition

T = TypeVar("T")

INTERNAL = UUID(int=0xC0)
AT = TopicPartition("t", 0)
NOBODY = Caller()  # Somebody who is in no group.


class NoAlarm:
    """Time passes only where a test says so."""

    def set(self, seconds: float, ring: Callable[[], None]) -> None:
        pass

    def stop(self) -> None:
        pass


class CoordinatorWorld:
    """A disk, and the coordinator that lives on it from start to start."""

    def __init__(self, world: LogWorld | None = None, *, partitions: int = 2, **settings: Any) -> None:
        self.world = world or LogWorld()
        self.settings = GroupSettings(**{"initial_rebalance_delay_ms": 0, **settings})
        self.partition_count = partitions
        self.topics: TopicView | None = None  # What groups know of topics.
        self.logs: Logs
        self.partitions: list[PartitionLog]
        self.coordinator: GroupCoordinator

    async def open(self, *, load: bool = True) -> GroupCoordinator:
        """Start the process."""
        self.logs = await self.world.open()
        settings = PartitionSettings(cleanup=frozenset({"compact"}))
        self.partitions = [
            await self.logs.partition(PartitionId(INTERNAL, number), settings) for number in range(self.partition_count)
        ]
        self.coordinator = GroupCoordinator(
            self.partitions,
            self.settings,
            clock=self.world.clock,
            chance=SeededChance(self.world.disk.calls),
            alarm=NoAlarm(),
            topics=self.topics,
        )
        if load:
            await self.coordinator.load()
        return self.coordinator

    async def restart(self, *, power_cut: bool = False, load: bool = True) -> GroupCoordinator:
        """The process is gone, by kill or by power cut, and starts again."""
        if power_cut:
            self.world.disk.power_cut()
        else:
            self.world.disk.kill()
        return await self.open(load=load)

    async def wait(self, seconds: float) -> None:
        """Let time pass, and everybody do what is due."""
        self.world.clock.advance(seconds)
        self.coordinator.timers.run_due()
        await turns()

    async def alone(self, group_id: str = "g", **values: Any) -> Caller:
        """The only member of a stable group."""
        joined = await self.coordinator.join(group_id, request(**values))
        caller = Caller(joined.member_id, joined.generation, values.get("instance"))
        await self.coordinator.sync(group_id, SyncRequest(caller=caller, assignments={joined.member_id: b"all"}))
        return caller

    async def commit(self, offset: int, caller: Caller = NOBODY, at: TopicPartition = AT, group_id: str = "g") -> None:
        """Commit one offset, which must be accepted."""
        [result] = (await self.coordinator.offsets.commit(group_id, caller, {at: OffsetToCommit(offset)})).values()
        assert result is None

    async def fetched(self, at: TopicPartition = AT, group_id: str = "g") -> int | None:
        """The offset that a consumer would go on at."""
        [found] = (await self.coordinator.offsets.fetch(group_id, [at])).values()
        return None if found is None else found.offset  # type: ignore[union-attr]


def started(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Begin, as a connection's request would."""
    return asyncio.ensure_future(work)
