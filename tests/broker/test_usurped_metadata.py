"""A broker that wakes up behind another's start: it makes no topic and no user, and takes none away."""

from __future__ import annotations

import asyncio
import copy

import pytest

from holdfast.broker.running import AllSettings, BrokerEnvironment, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.cluster.auth import add_rule, remove_user, set_user
from holdfast.cluster.auth_log import AuthLog
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.errors import Fenced
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.versions import VersionRetries
from holdfast.log.settings import LogSettings
from holdfast.security.logins.scram import Verifier
from holdfast.security.principal import Principal
from holdfast.security.rules import Operation, PatternType, Permission, ResourceType, Rule
from holdfast.wal import WalSettings

SETTINGS = AllSettings(broker=BrokerSettings(), log=LogSettings(), wal=WalSettings())
SCRAM = "SCRAM-SHA-256"
VERIFIER = Verifier(SCRAM, b"salt", 4096, bytes(32), bytes(32))
RULE = Rule(ResourceType.TOPIC, "t", PatternType.LITERAL, Principal("eve"), "*", Operation.READ, Permission.ALLOW)


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


def test_a_broker_that_wakes_up_changes_no_user_and_no_rule() -> None:
    """D2, X6, X7: as with topics. Who leads nothing, such as `holdfast user`, goes on beside whoever does."""
    clock = ManualClock()
    objects = MemoryObjects(MemoryBucket(), clock=clock)
    patience = VersionRetries(clock, SeededChance(3), clock.advance)

    def around(disk: SimulatedDisk, seed: int) -> BrokerEnvironment:
        parts = {"clock": clock, "chance": SeededChance(seed), "calls": InlineCalls(), "threaded": False}
        return BrokerEnvironment(wal_directory=disk, objects=objects, **parts)  # type: ignore[arg-type]

    async def play() -> AuthLog:
        disk = SimulatedDisk(SeededChance(1))
        async with opened(around(disk, 1), SETTINGS) as sleeper:
            await sleeper.context.users.commit(set_user("before", VERIFIER))
            command = AuthLog(objects, sleeper.context.cluster_id, "command", patience)
            twin = copy.deepcopy(disk)
            twin.kill()
            async with opened(around(twin, 2), SETTINGS) as successor:
                for late in (set_user("late", VERIFIER), remove_user("before", SCRAM), add_rule(RULE)):
                    with pytest.raises(Fenced):
                        await sleeper.context.users.commit(late)
                command.commit(set_user("command", VERIFIER))
                await successor.context.users.commit(set_user("after", VERIFIER))
                return AuthLog(objects, successor.context.cluster_id, "", patience)

    found = asyncio.run(play()).value
    assert ({*found.users}, found.rules) == ({"before", "command", "after"}, frozenset())
