"""Members of consumer groups, asked by hand, on a coordinator of the test's own."""

from __future__ import annotations

from typing import Any

from tests.coordinator.coordinator_world import CoordinatorWorld
from tests.coordinator.topics import SomeTopics

from holdfast.coordinator.group.consumer.requests import HeartbeatRequest, HeartbeatResult
from holdfast.types import PartitionId

SESSION_S = 45.0
REBALANCE_MS = 60_000


class Group:
    """One group of a house, and the topics it reads."""

    def __init__(self, **settings: Any) -> None:
        counts = settings.pop("counts", {"t": 4})
        self.topics = SomeTopics(**counts)
        self.house = CoordinatorWorld(partitions=1, session_timeout_ms_min=1, **settings)
        self.house.topics = self.topics

    async def open(self) -> Group:
        await self.house.open()
        return self

    async def join(self, member_id: str, *topics: str, **values: Any) -> HeartbeatResult:
        """Join, owning nothing."""
        plain: dict[str, Any] = {"rebalance_timeout_ms": REBALANCE_MS, "owned": frozenset()}
        if "regex" not in values:
            plain["topics"] = frozenset(topics or ("t",))
        asked = HeartbeatRequest(member_id=member_id, epoch=0, **{**plain, **values})
        return await self.house.coordinator.beat("g", asked)

    async def beat(self, member_id: str, epoch: int, **values: Any) -> HeartbeatResult:
        return await self.house.coordinator.beat("g", HeartbeatRequest(member_id=member_id, epoch=epoch, **values))

    async def owning(self, told: HeartbeatResult, *numbers: int, topic: str = "t", **values: Any) -> HeartbeatResult:
        """The next heartbeat of somebody who owns these partitions."""
        return await self.beat(told.member_id, told.epoch, owned=self.of(*numbers, topic=topic), **values)

    def of(self, *numbers: int, topic: str = "t") -> frozenset[PartitionId]:
        known = self.topics.find(topic)
        assert known is not None
        return frozenset(PartitionId(known.topic_id, number) for number in numbers)

    async def describe(self) -> Any:
        return await self.house.coordinator.describe_consumer("g")


def numbers(told: HeartbeatResult) -> list[int] | None:
    """The partitions that a heartbeat was answered with."""
    return None if told.assignment is None else sorted(each.partition for each in told.assignment)
