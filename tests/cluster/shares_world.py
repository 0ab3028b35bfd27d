"""Share groups over several lives: coordinators and partitions move, lives are ended and killed, messages get lost.

Coordinators, leaders, states, proofs and handlers are the real ones; what one life asks of another goes from hand to
hand. What was accepted, and answered, is never delivered again by whoever leads; what was not is delivered in the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from tests.cluster.leaders_world import CLUSTER, NAME, PARTITIONS, TOPIC, TURNS_MAX
from tests.cluster.transactions_world import (
    SECRET,
    SHARDS,
    STATES,
    SilentAlarm,
    TransactionLife,
    TransactionsWorld,
    WorldLink,
)

from holdfast.broker.api import share_group_state
from holdfast.broker.coordinators import GroupTopics
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.broker.peers.door import PeerDoor
from holdfast.broker.peers.peers import Peers
from holdfast.broker.peers.share_states import LedHere, PeerShareStates
from holdfast.broker.share.acks import acknowledge, find_log, split_by_leader
from holdfast.broker.share.reading import read
from holdfast.broker.topics import OFFSETS_TOPIC
from holdfast.cluster.identity import claim_store
from holdfast.cluster.leads import spread
from holdfast.cluster.metadata import Topic, create_topic
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.coordinator.share.coordinator import ShareCoordinator
from holdfast.coordinator.share.group import ShareBeat
from holdfast.coordinator.share.led import LedShares
from holdfast.coordinator.share.partition import Acquired, Judged, RecordVerdict, ShareLimits
from holdfast.coordinator.share.reset import Reset
from holdfast.coordinator.share.settings import ShareConfigs, ShareSettings
from holdfast.errors import HoldfastError
from holdfast.io.chance import SeededChance
from holdfast.io.versions import VersionRetries
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.api import Key
from holdfast.protocol.header import frame_response
from holdfast.protocol.messages import decode_request, encode_response
from holdfast.types import Buffer, PartitionId

GROUP = "jobs"
LOCK_MS = 30_000
CONFIGS = ShareConfigs(limits=ShareLimits(deliveries_max=1_000_000, lock_ms=LOCK_MS), reset=Reset(from_earliest=True))
HANDLERS: dict[int, Callable[..., Coroutine[Any, Any, Any]]] = {
    Key.READ_SHARE_GROUP_STATE: share_group_state.read,
    Key.WRITE_SHARE_GROUP_STATE: share_group_state.write,
}


class ShareLife(TransactionLife):
    """One life with a coordinator of share groups, which gives out the partitions that it leads."""

    world: SharesWorld

    async def open_logs(self) -> None:
        await super(TransactionLife, self).open_logs()
        self.peers = Peers(self.life, SECRET, WorldLink(self.world))
        settings = ShareSettings(configs_of=lambda _: CONFIGS)
        view = GroupTopics(self.topics, cast(Any, SimpleNamespace(on_rules=[])))
        around = {"clock": self.world.clock, "alarm": SilentAlarm()}
        self.shares = ShareCoordinator(cast(Any, None), view, settings, is_among_groups=True, **cast(Any, around))
        states = PeerShareStates(self.topics, self.shares, self.peers, self.calls)
        leads = LedHere(self.topics, self.logs)
        pause = self.calls.pause
        self.led = LedShares(states, leads, settings, self.shares.counts, pause=pause, **cast(Any, around))
        self.door = PeerDoor(self, self.life, SECRET)
        self.context = SimpleNamespace(topics=self.topics, logs=self.logs, shares=self.shares, clock=self.world.clock)
        self._following = asyncio.Lock()
        await self.shares.follow(self.topics.get(OFFSETS_TOPIC).logs)

    async def handle(self, request: Request) -> list[Buffer]:
        header = request.header
        key, version = Key(header.api_key), header.api_version
        message = decode_request(key, version, request.body)
        answer = await HANDLERS[key](self.context, message, request)
        return list(frame_response(key, version, header.correlation_id, encode_response(key, version, answer)))

    @property
    def logs_open(self) -> list[PartitionLog]:
        found = (*self.topics.get(NAME).logs, *self.topics.get(OFFSETS_TOPIC).logs)
        return [each for each in found if isinstance(each, PartitionLog)]

    async def follow_transactions(self) -> None:
        await self.follow_shares()

    async def follow_shares(self) -> None:
        async with self._following:
            self.led.sweep()
            await self.shares.follow(self.topics.get(OFFSETS_TOPIC).logs)

    async def tick(self) -> None:
        self.shares.timers.run_due()
        self.led.timers.run_due()

    @property
    def coordinates(self) -> bool:
        return self.shares.is_ready(self.shares.partition_of(GROUP))

    def gives(self, number: int) -> bool:
        return isinstance(self.topics.get(NAME).logs[number], PartitionLog)

    async def beat(self, member: str) -> None:
        await self.shares.beat(GROUP, ShareBeat(member_id=member, epoch=0, topics=frozenset({NAME})))

    async def given(self, member: str, number: int, count: int = 3) -> list[Acquired]:
        """As a fetch does it."""
        home = PartitionId(TOPIC, number)
        log = find_log(self.topics, home)
        partition = await self.led.partition(GROUP, home, log)
        found = await read(log, partition, member, count, 1 << 20, committed=False, whole=False, first=True)
        return [] if found is None else list(found.acquired)

    async def judge(self, member: str, number: int, acquired: list[Acquired], verdict: RecordVerdict) -> None:
        """As an acknowledgement does it. Raises why it is not taken."""
        home = PartitionId(TOPIC, number)
        judged = {home: [Judged(first, end, [verdict]) for first, end, _ in acquired]}
        here, moved = split_by_leader(self.topics, judged)
        results = {**await acknowledge(self.led.find(GROUP), member, here, Slices(self.world.clock)), **moved}
        if (failure := results[home]) is not None:
            raise failure

    def kill(self) -> None:
        super(TransactionLife, self).kill()
        self.is_dead = True
        self.peers.close()
        for group in list(self.led._groups.values()):
            for each in group.partitions.values():
                each.let_go()


@dataclass
class Fate:
    """What became of the records of one partition, as members know it."""

    done: set[int] = field(default_factory=set)  # Accepted or rejected, and answered.
    tried: set[int] = field(default_factory=set)  # The same, whatever was answered.


class Member:
    """A share consumer: it asks whoever says to lead."""

    def __init__(self, world: SharesWorld, name: str) -> None:
        self._world = world
        self._name = name

    async def run(self) -> None:
        while not self._world.is_over:
            try:
                await self._turn()
            except HoldfastError:
                self._world.counts["refused"] += 1
            except asyncio.CancelledError:  # The broker was killed.
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
            await self._world.some_turns()

    async def _turn(self) -> None:
        world, random = self._world, self._world.random
        number = random.randrange(PARTITIONS)
        lives = [each for each in world.all_lives if not each.is_dead]
        if not lives:
            return
        if random.random() < 0.1:
            life = random.choice([each for each in lives if each.coordinates] or lives)
            await life.call(life.beat(self._name))
            return
        life = random.choice([each for each in lives if each.gives(number)] or lives)
        before = set(world.fates[number].done) if world.leads(life, number) else set()
        given = await life.call(life.given(self._name, number, random.randrange(1, 5)))
        world.check_given(number, given, before)
        world.counts["given"] += len(given)
        if not given or random.random() < 0.15:
            return  # It is never heard of again: the lock runs out.
        for _ in range(random.choice((0, 0, 5, 40))):
            await asyncio.sleep(0)
        verdict = random.choice((RecordVerdict.ACCEPT,) * 5 + (RecordVerdict.REJECT, RecordVerdict.RELEASE))
        fate, offsets = world.fates[number], {each for first, stop, _ in given for each in range(first, stop)}
        if verdict is not RecordVerdict.RELEASE:
            fate.tried |= offsets
        await life.call(life.judge(self._name, number, given, verdict))
        world.counts[verdict.name] += 1
        if verdict is not RecordVerdict.RELEASE:
            twice = fate.done & offsets
            assert not twice, f"Two members were told that they are done with {twice} of partition {number}."
            fate.done |= offsets


class SharesWorld(TransactionsWorld):
    """One seed."""

    life_class = ShareLife
    work = {**TransactionsWorld.work, "append": 20.0}  # noqa: RUF012

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fates = [Fate() for _ in range(PARTITIONS)]

    @property
    def all_lives(self) -> list[ShareLife]:  # type: ignore[override]
        return cast("list[ShareLife]", super().all_lives)

    def leads(self, life: ShareLife, number: int) -> bool:
        """Whether it does, whatever it knows itself."""
        patience = VersionRetries(self.clock, SeededChance(0), lambda _: None)
        metadata = MetadataLog(self.objects, CLUSTER, "", patience, "").metadata
        return metadata.lives.has(life.life) and metadata.leads.of(PartitionId(TOPIC, number)).life == life.life

    def check_given(self, number: int, given: list[Acquired], before: set[int]) -> None:
        for first, stop, count in given:
            again = before & set(range(first, stop))
            assert not again, f"{again} of partition {number} are delivered again, for the {count}. time."

    async def begin(self, *, faults: bool) -> None:
        share, self.fault_share = self.fault_share if faults else 0.0, 0.0
        claim_store(self.objects, CLUSTER)
        patience = VersionRetries(self.clock, SeededChance(0), lambda _: None)
        first = MetadataLog(self.objects, CLUSTER, "", patience, "")
        compact = {"cleanup.policy": "compact"}
        topics = Topic(NAME, TOPIC, PARTITIONS, {}), Topic(OFFSETS_TOPIC, STATES, SHARDS, compact)
        first.commit(spread(0, -1), *map(create_topic, topics))
        for _ in range(2):
            await self.come()
        self.fault_share = share

    async def run(self, steps: int) -> None:
        await self.begin(faults=True)
        members = [asyncio.ensure_future(Member(self, each).run()) for each in ("a", "b", "c")]
        for _ in range(steps):
            await self.happen()
            if self.late and self.random.random() < 0.1:
                await self.deliver_late()
        self.fault_share = self.lost_share = 0.0
        self.is_over = True
        for _ in range(TURNS_MAX):
            if all(each.done() for each in members):
                break
            await asyncio.sleep(0)
        for each in members:
            each.cancel()
        for found in await asyncio.gather(*members, return_exceptions=True):
            if isinstance(found, Exception):
                raise found
        await self.check()

    async def check(self) -> None:
        """Whoever comes now delivers all that nobody was told to be done with, and nothing else."""
        last = ShareLife(self, 9)
        await self.leads_alone(last, last.follow_shares)
        await last.beat("last")
        for number in range(PARTITIONS):
            found = set[int]()
            while given := await last.given("last", number, 100):
                self.check_given(number, given, self.fates[number].done)
                found |= {offset for first, stop, _ in given for offset in range(first, stop)}
                await last.judge("last", number, given, RecordVerdict.ACCEPT)
            await self.check_rest(last, number, found)
        for life in self.all_lives:
            life.kill()
        await self.settled()

    async def check_rest(self, last: ShareLife, number: int, found: set[int]) -> None:
        """What is not delivered was judged, by somebody who was told or who was not."""
        stop = last.topics.get(NAME).partition(number).marks.high_watermark
        left = set(range(stop)) - found - self.fates[number].tried
        assert not left, f"{left} of partition {number} were never delivered."
        self.counts["delivered in the end"] += len(found)
