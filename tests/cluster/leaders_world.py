"""Several lives with logs of their own on one store: they lead, hand over, are ended, go on as if they were not.

Logs, rounds, series, manifests and metadata are the real ones. What was acknowledged must be there in the end, once.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from uuid import UUID

from tests.log.log_world import batch, read_all

from holdfast.broker.shared_topics import SharedTopics
from holdfast.broker.topic_limits import ALL_PARTITIONS_MAX, METADATA_SIZE_MAX
from holdfast.cluster.errors import LeaderOther, LifeOver, TopicUnknown
from holdfast.cluster.identity import claim_store
from holdfast.cluster.leads import spread
from holdfast.cluster.lives import end, join
from holdfast.cluster.metadata import Topic, create_topic
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.errors import Fenced, Unavailable
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.faulty import Call, FailAfter, FailBefore, FailEarly, Fault, FaultyObjects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.versions import VersionRetries
from holdfast.log.context import Environment
from holdfast.log.errors import LogsStopped, PartitionDeleted
from holdfast.log.logs import Logs
from holdfast.log.ownership.leadership import Leadership, LedStore
from holdfast.log.ownership.life_seat import LifeSeat
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import JournalSettings, LogSettings
from holdfast.types import PartitionId

CLUSTER = "c" * 32
TOPIC = UUID(int=0xA)
NAME = "t"
PARTITIONS = 3
BROKERS_MAX = 4
TURNS_MAX = 4000
SETTINGS = LogSettings(wal_size_max=256 << 20)


class LifeOfBroker:
    """One life, as a process has it: it may be ended, and not know."""

    def __init__(self, world: LeadersWorld, broker: int) -> None:
        self.world = world
        self.broker = broker
        self.calls = InlineCalls()
        self.wire = FaultyObjects(world.objects, world.plan)
        self.chance = SeededChance(world.random.getrandbits(32))
        patience = VersionRetries(world.clock, self.chance, lambda _: None)
        self.metadata = MetadataLog(self.wire, CLUSTER, "", patience, str(broker))
        self.tasks: set[asyncio.Future[None]] = set()
        self.is_gone = False

    async def begin(self) -> None:
        await self.join()
        await self.open_logs()

    async def join(self) -> None:
        number = self.world.new_number()
        before = self.metadata.refresh().lives.by_broker.get(self.broker)
        steps = [] if before is None else [end(before)]
        await self.calls.run(self.metadata.commit, *steps, join(self.broker, number, number, number, {}))
        self.life = self.metadata.metadata.lives.by_broker[self.broker].life

    async def open_logs(self) -> None:
        seat = LifeSeat(self.broker, self.life, self.look)
        environment = Environment(self.wire, self.calls, self.world.clock, self.chance)
        self.leadership = Leadership(self.metadata, seat, LedStore(environment, self.wire, SETTINGS))
        self.logs = await Logs.open(
            SimulatedDisk(self.chance),
            self.wire,
            SETTINGS,
            wal_settings=JournalSettings(place="store"),
            clock=self.world.clock,
            chance=self.chance,
            calls=self.calls,
            threaded=False,
            background=False,
            seat=seat,
        )
        limits = METADATA_SIZE_MAX, ALL_PARTITIONS_MAX
        parts = self.metadata, self.logs, self.calls, self.chance, {}, *limits
        self.topics = SharedTopics(*parts, leadership=self.leadership, life=self.life)
        await self.topics.open()

    def look(self) -> None:
        if not self.metadata.refresh().lives.has(self.life):
            raise Fenced("it is over")

    def do(self, name: str) -> None:
        """Begin something; what comes of it is seen in the end."""
        task = asyncio.ensure_future(self._do(name))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _do(self, name: str) -> None:
        try:
            await getattr(self, name)()
            self.world.counts[name] += 1
        except (Unavailable, Fenced, LifeOver, LeaderOther, TopicUnknown, LogsStopped, PartitionDeleted):
            self.world.counts[f"{name} failed"] += 1

    # What a life does

    @property
    def open(self) -> dict[PartitionId, PartitionLog]:
        """What it leads, as far as it knows."""
        logs = self.topics.get(NAME).logs
        return {PartitionId(TOPIC, at): each for at, each in enumerate(logs) if isinstance(each, PartitionLog)}

    async def follow(self) -> None:
        """Open what the metadata gives us, drop what it does not."""
        await self.calls.run(self.metadata.refresh)
        if not self.metadata.metadata.lives.has(self.life):
            self.is_gone = True
            return
        await self.topics.follow()

    async def append(self) -> None:
        home = self.world.some_home()
        partition = self.open.get(home)
        if partition is None:
            return
        for _ in range(self.world.random.choice((0, 0, 1, 2, 5, 9))):
            await asyncio.sleep(0)  # It was found, and is on its way to be given away.
        values = [self.world.new_number().encode() for _ in range(self.world.random.randrange(1, 4))]
        place = await partition.append(batch(*values))
        self.world.acknowledged(home, place.base_offset, values)

    async def flush(self) -> None:
        partition = self.open.get(self.world.some_home())
        if partition is not None:
            await partition.flush()
            self.logs.purge()

    async def hand_over(self) -> None:
        others = [each for each in self.metadata.metadata.lives.eldest_first if each.life != self.life]
        if others:
            await self.topics.hand_over(self.world.some_home(), self.world.random.choice(others).life)

    async def care(self) -> None:
        await self.leadership.care()

    async def end_another(self) -> None:
        """As if it were silent: it may be as alive as we are."""
        others = [each for each in self.metadata.metadata.lives.eldest_first if each.life != self.life]
        if others:
            await self.leadership.commit(end(self.world.random.choice(others)))

    def kill(self) -> None:
        self.is_gone = True
        for task in list(self.tasks):
            task.cancel()


class LeadersWorld:
    """One seed."""

    life_class = LifeOfBroker
    work = {"append": 50.0, "flush": 12.0, "follow": 14.0, "hand_over": 6.0, "care": 8.0, "end_another": 1.5}  # noqa: RUF012

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.clock = ManualClock(1_700_000_000_000)
        self.objects = MemoryObjects(MemoryBucket(), clock=self.clock)
        self.fault_share = self.random.choice((0.0, 0.01, 0.04))
        self.lives: list[LifeOfBroker] = []
        self.acked: dict[tuple[PartitionId, int], bytes] = {}
        self._number = 0
        self.faults: Callable[[Call], Fault | None] = self.by_chance

    def plan(self, call: Call) -> Fault | None:
        return self.faults(call)

    def by_chance(self, call: Call) -> Fault | None:
        if self.random.random() >= self.fault_share:
            return None
        is_put = call.kind in ("put", "put_if_absent")
        return self.random.choice((FailBefore(), FailAfter(), *([FailEarly()] if is_put else [])))

    def new_number(self) -> str:
        self._number += 1
        return str(self._number)

    def some_home(self) -> PartitionId:
        return PartitionId(TOPIC, self.random.randrange(PARTITIONS))

    def acknowledged(self, home: PartitionId, base: int, values: list[bytes]) -> None:
        self.counts["acknowledged"] += len(values)
        for offset, value in enumerate(values, base):
            before = self.acked.setdefault((home, offset), value)
            assert before == value, f"Offset {offset} of {home.path} was acknowledged twice."

    async def begin(self, *, faults: bool) -> None:
        """A topic, and the first life."""
        share, self.fault_share = self.fault_share if faults else 0.0, 0.0
        claim_store(self.objects, CLUSTER)
        patience = VersionRetries(self.clock, SeededChance(0), lambda _: None)
        first = MetadataLog(self.objects, CLUSTER, "", patience, "")
        first.commit(spread(0, -1), create_topic(Topic(NAME, TOPIC, PARTITIONS, {})))
        await self.come()
        self.fault_share = share

    async def run(self, steps: int) -> None:
        await self.begin(faults=True)
        for _ in range(steps):
            await self.happen()
        self.fault_share = 0.0
        await self.check()

    async def come(self) -> None:
        try:
            life = self.life_class(self, self.random.randrange(BROKERS_MAX))
            await life.begin()
        except (Unavailable, Fenced, LifeOver):
            self.counts["came in vain"] += 1
            return
        self.lives.append(life)
        self.counts["lives"] += 1

    async def happen(self) -> None:
        drawn = self.random.random()
        here = [each for each in self.lives if not each.is_gone]
        if not here or drawn < 0.01:
            await self.come()
            return
        life = self.random.choice(here)
        if drawn < 0.016:
            life.kill()
            self.counts["killed"] += 1
        elif drawn < 0.03:
            self.clock.advance(self.random.choice((0.1, 5.0, 400.0, 4000.0)))
        elif drawn < 0.05:
            self.random.choice(self.lives).wire.arrive()
        else:
            (name,) = self.random.choices(list(self.work), list(self.work.values()))
            life.do(name)
        for _ in range(self.random.choice((0, 1, 3, 10))):
            await asyncio.sleep(0)

    async def check(self) -> None:
        """Whoever comes now, undisturbed, has everything that was ever acknowledged; also when sleepers have woken."""
        for life in self.lives:
            life.wire.arrive()
        last = LifeOfBroker(self, BROKERS_MAX)
        await last.begin()
        for _ in range(10):
            for each in last.metadata.refresh().lives.eldest_first:
                if each.life != last.life:
                    last.metadata.commit(end(each))
            self.clock.advance(120.0)
            await last.leadership.care()
            await last.follow()
            if len(last.open) == PARTITIONS:
                break
        for life in self.lives:  # They do not know yet that they are over.
            for _ in range(3):
                life.do("append")
                life.do("flush")
        await self.settled()
        assert len(last.open) == PARTITIONS, "A partition has no leader."
        found = {home: dict(await read_all(partition)) for home, partition in last.open.items()}
        for (home, offset), value in self.acked.items():
            assert found[home].get(offset) == value, f"An acknowledged record was lost: {home.path} {offset}."
        for values in found.values():
            assert len(set(values.values())) == len(values), "A record is there twice."
        self.counts["records"] += sum(map(len, found.values()))
        for life in [*self.lives, last]:
            life.kill()
        await self.settled()

    async def settled(self) -> None:
        for _ in range(TURNS_MAX):
            if not any(life.tasks for life in self.lives):
                return
            await asyncio.sleep(0)
