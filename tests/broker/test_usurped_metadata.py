"""A broker that wakes up behind another's start: it makes no topic, and takes none away."""

from __future__ import annotations

import asyncio
import copy

import pytest

from holdfast.broker.running import AllSettings, BrokerEnvironment, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.errors import Fenced
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.versions import VersionRetries
from holdfast.log.settings import LogSettings
from holdfast.wal import WalSettings

SETTINGS = AllSettings(broker=BrokerSettings(), log=LogSettings(), wal=WalSettings())


def test_a_broker_that_wakes_up_makes_no_topic() -> None:
    """D2: nobody has told it that another has its place; the store does, by the version that the other began with."""
    clock = ManualClock()
    objects = MemoryObjects(MemoryBucket(), clock=clock)

    def around(disk: SimulatedDisk, seed: int) -> BrokerEnvironment:
        parts = {"clock": clock, "chance": SeededChance(seed), "calls": InlineCalls(), "threaded": False}
        return BrokerEnvironment(wal_directory=disk, objects=objects, **parts)  # type: ignore[arg-type]

    async def play() -> set[str]:
        disk = SimulatedDisk(SeededChance(1))
        async with opened(around(disk, 1), SETTINGS) as sleeper:
            await sleeper.context.topics.create("before", 1, {})
            twin = copy.deepcopy(disk)
            twin.kill()
            async with opened(around(twin, 2), SETTINGS) as successor:
                with pytest.raises(Fenced):
                    await sleeper.context.topics.create("late", 1, {})
                with pytest.raises(Fenced):
                    await sleeper.context.topics.add_partitions("before", 3)
                await successor.context.topics.create("after", 1, {})
                cluster = successor.context.cluster_id
        patience = VersionRetries(clock, SeededChance(3), clock.advance)
        return {name for name in MetadataLog(objects, cluster, "", patience).metadata.topics if name[0] != "_"}

    assert asyncio.run(play()) == {"before", "after"}
