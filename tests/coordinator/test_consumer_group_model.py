"""Groups of consumers of both protocols, on a simulated disk, against what must hold whatever happens:

1. At any moment a partition has at most one owner (see `consumers`).
2. Epochs and generations that a consumer is told never go back, also not when the group moves between the protocols.
3. A commit that was acknowledged is never hidden by an older one.
4. Who was answered that it has left is no member after a restart.
5. Left alone, the group becomes stable, and every partition that anybody reads has an owner that reads it.

Requests are begun and left alone, answers are lost, old requests come again, and the process may go at any turn.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.coordinator.consumers import REBALANCE_S, SESSION_S, ClassicConsumer, Consumer, NewConsumer
from tests.coordinator.coordinator_world import CoordinatorWorld
from tests.coordinator.group_invariants import OffsetInvariants
from tests.coordinator.process import Process
from tests.coordinator.topics import SomeTopics
from tests.log.log_world import LogWorld, turns

from holdfast.coordinator.group.answers import CommittedOffset, GroupState
from holdfast.coordinator.group.requests import OffsetToCommit
from holdfast.errors import HoldfastError, Rejected
from holdfast.types import PartitionId, TopicPartition

PICK = st.integers(0, 20)
TURNS = st.sampled_from([0, 1, 2, 5, 20])  # How far a request comes before the next thing happens.
READS = st.sampled_from([("t",), ("t",), ("t", "u"), ("u",)])
AT = TopicPartition("t", 0)
LIVE_MAX = 5


class ConsumerGroupMachine(Process, RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.topics = SomeTopics(t=3)
        self.consumers: list[Consumer] = []
        self.offsets = OffsetInvariants()
        self.tasks: set[asyncio.Task[None]] = set()

    @initialize(seed=st.integers(0, 1 << 32), eager=st.booleans())
    def begin(self, seed: int, eager: bool) -> None:
        self.house = CoordinatorWorld(
            LogWorld(seed),
            partitions=1,
            session_timeout_ms_min=1,
            consumer_session_timeout_ms=int(SESSION_S * 1000),
        )
        self.house.topics = self.topics
        self.eager = eager
        self.start()

    # Consumers

    @property
    def live(self) -> list[Consumer]:
        return [each for each in self.consumers if not each.gone]

    @precondition(lambda self: len(self.live) < LIVE_MAX)
    @rule(reads=READS, lazy=st.booleans(), count=TURNS)
    def new_consumer(self, reads: tuple[str, ...], lazy: bool, count: int) -> None:
        name = f"n{len(self.consumers)}"
        consumer = NewConsumer(name, self.topics, self.clock, self.check_owners, reads, lazy=lazy)
        self.consumers.append(consumer)
        self.go(self.acting(consumer), count)

    @precondition(lambda self: len(self.live) < LIVE_MAX)
    @rule(reads=READS, count=TURNS)
    def classic_consumer(self, reads: tuple[str, ...], count: int) -> None:
        name = f"c{len(self.consumers)}"
        consumer = ClassicConsumer(name, self.topics, self.clock, self.check_owners, reads, eager=self.eager)
        self.consumers.append(consumer)
        self.go(self.acting(consumer), count)

    async def acting(self, consumer: Consumer, *, lose: bool = False) -> None:
        """One thing that a consumer does; it does one at a time."""
        if consumer.busy or consumer.gone:
            return
        consumer.busy = True
        coordinator = self.house.coordinator
        if isinstance(consumer, NewConsumer):
            await consumer.beat(coordinator, lose=lose)
        elif isinstance(consumer, ClassicConsumer):
            await consumer.act(coordinator)
        consumer.busy = False

    @precondition(lambda self: self.live)
    @rule(pick=PICK, count=TURNS, lose=st.sampled_from([False, False, False, True]))
    def act(self, pick: int, count: int, lose: bool) -> None:
        self.go(self.acting(self.pick(pick), lose=lose), count)

    @precondition(lambda self: self.live)
    @rule(pick=PICK, other=PICK)
    def two_act(self, pick: int, other: int) -> None:
        for number in (pick, other, pick, other):
            self.go(self.acting(self.pick(number)), 20)

    @precondition(lambda self: self.live)
    @rule(count=st.integers(1, 3))
    def all_act(self, count: int) -> None:
        for _ in range(count):
            for consumer in self.live:
                self.go(self.acting(consumer), 0)
            self.run(turns(30))

    @precondition(lambda self: self.live)
    @rule(pick=PICK)
    def release(self, pick: int) -> None:
        consumer = self.pick(pick)
        if isinstance(consumer, NewConsumer) and not consumer.busy:
            consumer.release()

    @precondition(lambda self: self.live)
    @rule(pick=PICK)
    def an_old_request_comes_again(self, pick: int) -> None:
        """The newest of an epoch before the one that its sender has used since."""
        consumer = self.pick(pick)
        if isinstance(consumer, NewConsumer) and not consumer.busy and consumer.sent:
            stale = [each for each in consumer.sent if each.epoch < consumer.sent[-1].epoch]
            if stale:
                self.go(self.sending(stale[-1]), 20)

    async def sending(self, request: Any) -> None:
        try:
            await self.house.coordinator.beat("g", request)
        except HoldfastError:
            return

    @precondition(lambda self: self.live)
    @rule(pick=PICK, count=TURNS, how=st.sampled_from(["properly", "silently", "all of the new protocol"]))
    def leave(self, pick: int, count: int, how: str) -> None:
        """When only those of the classic protocol are left, the group moves back."""
        leaving = [self.pick(pick)]
        if how == "all of the new protocol":
            leaving = [each for each in self.live if isinstance(each, NewConsumer)]
        for consumer in leaving:
            if how == "silently":
                consumer.gone = True
            elif isinstance(consumer, NewConsumer | ClassicConsumer) and not consumer.busy:
                self.go(consumer.leave(self.house.coordinator), count)

    def pick(self, number: int) -> Consumer:
        live = self.live
        return live[number % len(live)]

    # Offsets

    @precondition(lambda self: self.live)
    @rule(pick=PICK, count=TURNS)
    def commit(self, pick: int, count: int) -> None:
        consumer = self.pick(pick)
        self.offsets.sent += 1
        self.go(self.committing(consumer, self.offsets.sent), count)
        self.run(self.fetching())

    async def committing(self, consumer: Consumer, number: int) -> None:
        try:
            offsets = {AT: OffsetToCommit(number, metadata=str(number))}
            await self.house.coordinator.offsets.commit("g", consumer.caller, offsets)
        except Rejected:
            self.offsets.refused.add(number)
        except HoldfastError:
            return
        else:
            self.offsets.acked = max(self.offsets.acked, number)

    async def fetching(self) -> None:
        acked = self.offsets.acked
        [found] = (await self.house.coordinator.offsets.fetch("g", [AT])).values()
        self.offsets.fetched(int(found.metadata) if isinstance(found, CommittedOffset) else 0, acked)

    # The world

    @rule(seconds=st.sampled_from([0, 0.1, 1, 1, 3, 3, 9.9, 10, 31]))
    def wait(self, seconds: float) -> None:
        self.run(self.house.wait(seconds))
        self.go(turns(0), 3)

    @rule(name=st.sampled_from(["t", "u"]), what=st.sampled_from(["grow", "delete", "make"]))
    def change_topics(self, name: str, what: str) -> None:
        topic = self.topics.find(name)
        if topic is None:
            self.topics.make(name, 2)
        elif what == "grow" and topic.partitions < 6:
            self.topics.grow(name, topic.partitions + 1)
        elif what == "delete" and name == "u":
            self.topics.delete(name)

    @rule(power_cut=st.booleans())
    def restart(self, power_cut: bool) -> None:
        """The process is gone, whatever was under way; no connection outlives it."""
        disk = self.house.world.disk
        if power_cut:
            disk.power_cut()
        else:
            disk.kill()
        self.end_loop()
        for consumer in self.consumers:
            consumer.busy = False
            if isinstance(consumer, NewConsumer):
                consumer.sent.clear()
        self.start()
        self.run(self.fetching())
        self.run(self.check_members())

    def clock(self) -> float:
        return self.house.world.clock.monotonic()

    # What must hold

    def check_owners(self) -> None:
        owners: dict[PartitionId, str] = {}
        for consumer in self.consumers:
            for partition in consumer.rightful:
                other = owners.setdefault(partition, consumer.name)
                assert other == consumer.name, f"{partition} is owned by {other} and {consumer.name}."

    async def check_members(self) -> None:
        try:
            found = await self.house.coordinator.describe_consumer("g")
        except HoldfastError:
            return
        left = {each.member_id or each.name for each in self.consumers if each.has_left}
        assert left.isdisjoint(each.member.id for each in found.members), "Somebody came back from the dead."

    def teardown(self) -> None:
        if not hasattr(self, "house"):
            return
        self.restart(power_cut=True)
        for _ in range(45):
            self.all_act(1)
            for consumer in self.live:
                if isinstance(consumer, NewConsumer) and not consumer.busy:
                    consumer.release()
            self.wait(1)
        self.check_complete()
        self.run(self.fetching())
        self.end_loop()

    def check_complete(self) -> None:
        groups = self.house.coordinator.list_groups()
        if not self.live:
            assert [each.state for each in groups] in ([], [GroupState.EMPTY])
            return
        assert [each.state for each in groups] == [GroupState.STABLE]
        owned: set[PartitionId] = set()
        for consumer in self.live:
            assert consumer.rightful <= self.topics.partitions(*consumer.reads), "Somebody has what it does not read."
            owned |= consumer.rightful
        wanted = {name for consumer in self.live for name in consumer.reads}
        assert owned == self.topics.partitions(*wanted), "A partition has no owner."


ConsumerGroupMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
assert REBALANCE_S > SESSION_S


class TestConsumerGroups(ConsumerGroupMachine.TestCase):
    """K3: members of both protocols come, go, die and repeat themselves; the group moves; any turn may be the last."""
