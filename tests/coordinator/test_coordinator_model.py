"""The coordinator over a simulated disk against what must hold (`group_invariants`).

Requests are begun and left alone, so that many are under way when the power goes, between any two turns of the loop.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.coordinator.coordinator_world import CoordinatorWorld
from tests.coordinator.group_driver import request
from tests.coordinator.group_invariants import GroupInvariants, OffsetInvariants
from tests.coordinator.process import Process
from tests.log.log_world import LogWorld, turns

from holdfast.coordinator.group.answers import CommittedOffset, GroupState
from holdfast.coordinator.group.errors import GroupNotEmpty, GroupNotFound, InstanceFenced, UnknownMember
from holdfast.coordinator.group.requests import Caller, Leaving, OffsetToCommit, SyncRequest
from holdfast.errors import HoldfastError
from holdfast.types import TopicPartition

PICK = st.integers(0, 20)
TURNS = st.integers(0, 8)  # How far a request comes before the next thing happens.
PARTITIONS = [TopicPartition("t", number) for number in range(2)]


@dataclass
class Client:
    """One consumer process: what it remembers."""

    instance: str | None
    member_id: str = ""
    generation: int = -1
    shares: dict[str, bytes] = field(default_factory=dict)  # What it assigns if it leads.

    @property
    def caller(self) -> Caller:
        return Caller(self.member_id, self.generation, self.instance)


class CoordinatorMachine(Process, RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.truth = GroupInvariants()
        self.offsets = {each: OffsetInvariants() for each in PARTITIONS}
        self.clients: list[Client] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.nonce = 0

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        self.house = CoordinatorWorld(LogWorld(seed), partitions=1, session_timeout_ms_min=1)
        self.start()

    # Requests

    @rule(instance=st.sampled_from([None, None, "i", "k"]), count=TURNS)
    def join(self, instance: str | None, count: int) -> None:
        client = Client(instance)
        self.clients.append(client)
        self.go(self.joining(client), count)

    @precondition(lambda self: self.clients)
    @rule(pick=PICK, count=TURNS)
    def join_again(self, pick: int, count: int) -> None:
        self.go(self.joining(self.pick(pick)), count)

    async def joining(self, client: Client) -> None:
        asked = request(client.member_id, client.instance, rebalance_timeout_ms=20_000)
        try:
            answer = await self.house.coordinator.join("g", asked)
        except HoldfastError as refusal:
            self.note_refusal(refusal)
            return
        self.truth.joined(answer, client.instance)
        client.member_id, client.generation = answer.member_id, answer.generation
        self.nonce += 1
        client.shares = self.truth.assign(answer, self.nonce) if answer.members else {}
        if answer.skip_assignment:
            client.shares = {}

    @precondition(lambda self: self.clients)
    @rule(pick=PICK, count=TURNS)
    def sync(self, pick: int, count: int) -> None:
        client = self.pick(pick)
        if client.generation >= 0:
            self.go(self.syncing(client, client.caller), count)

    async def syncing(self, client: Client, caller: Caller) -> None:
        try:
            answer = await self.house.coordinator.sync("g", SyncRequest(caller=caller, assignments=client.shares))
        except HoldfastError as refusal:
            self.note_refusal(refusal)
            return
        self.truth.synced(caller.member_id, caller.generation, answer.assignment)

    @precondition(lambda self: self.clients)
    @rule(pick=PICK, count=TURNS)
    def beat(self, pick: int, count: int) -> None:
        client = self.pick(pick)
        if client.generation >= 0:
            self.go(self.beating(client.caller), count)

    async def beating(self, caller: Caller) -> None:
        try:
            await self.house.coordinator.heartbeat("g", caller)
        except HoldfastError as refusal:
            self.note_refusal(refusal)
            return
        self.truth.served(caller.member_id)

    @precondition(lambda self: self.clients)
    @rule(pick=PICK, count=TURNS)
    def leave(self, pick: int, count: int) -> None:
        client = self.pick(pick)
        if client.member_id:
            self.go(self.leaving(client.caller), count)

    async def leaving(self, caller: Caller) -> None:
        leaving = Leaving(caller.member_id, caller.instance_id)
        try:
            [result] = await self.house.coordinator.leave("g", [leaving])
        except HoldfastError as refusal:
            self.note_refusal(refusal)
            return
        if result is None:
            self.truth.gone.add(caller.member_id)
        else:
            self.note_refusal(result)

    @rule(pick=PICK, partition=st.sampled_from(PARTITIONS), as_nobody=st.booleans(), count=TURNS)
    def commit(self, pick: int, partition: TopicPartition, as_nobody: bool, count: int) -> None:
        caller = Caller() if as_nobody or not self.clients else self.pick(pick).caller
        if as_nobody or caller.generation >= 0:
            self.go(self.committing(caller, partition), count)

    async def committing(self, caller: Caller, partition: TopicPartition) -> None:
        """The number of a commit is in its text; its offset may be lower than the one before."""
        truth = self.offsets[partition]
        truth.sent += 1
        number = truth.sent
        offset = OffsetToCommit((number * 7) % 10, metadata=str(number))
        try:
            [result] = (await self.house.coordinator.offsets.commit("g", caller, {partition: offset})).values()
        except HoldfastError as refusal:
            truth.refused.add(number)
            self.note_refusal(refusal)
            return
        assert result is None
        truth.acked = max(truth.acked, number)

    @rule(partition=st.sampled_from(PARTITIONS), count=TURNS)
    def fetch(self, partition: TopicPartition, count: int) -> None:
        self.go(self.fetching(partition), count)

    async def fetching(self, partition: TopicPartition) -> None:
        truth = self.offsets[partition]
        acked = truth.acked
        try:
            [found] = (await self.house.coordinator.offsets.fetch("g", [partition])).values()
        except HoldfastError:
            return
        number = int(found.metadata) if isinstance(found, CommittedOffset) else 0
        truth.fetched(number, acked)
        assert not number or found == CommittedOffset((number * 7) % 10, -1, str(number), found.committed_at_ms)

    @rule(lazy=st.sets(st.integers(0, 5), max_size=2))
    def behave(self, lazy: set[int]) -> None:
        """Everybody, but some, joins again and then syncs, as good clients do."""
        active = [each for number, each in enumerate(self.clients[-4:]) if number not in lazy]
        for client in active:
            self.go(self.joining(client), 10)
        for client in active:
            if client.generation >= 0:
                self.go(self.syncing(client, client.caller), 10)

    @rule()
    def delete(self) -> None:
        """A group that is deleted may begin anew; nothing else may."""
        self.run(turns(40))
        try:
            self.run(self.house.coordinator.delete_group("g"))
        except (GroupNotEmpty, GroupNotFound):
            return
        self.truth = GroupInvariants(gone=self.truth.gone)
        self.offsets = {each: OffsetInvariants(sent=old.sent) for each, old in self.offsets.items()}

    # The world

    @rule(count=st.integers(1, 30))
    def turn(self, count: int) -> None:
        self.go(turns(0), count)

    @rule(seconds=st.sampled_from([0.1, 1, 9.9, 10, 20]))
    def wait(self, seconds: float) -> None:
        self.run(self.house.wait(seconds))
        self.go(turns(0), 3)

    @rule(power_cut=st.booleans())
    def restart(self, power_cut: bool) -> None:
        """The process is gone, whatever was under way."""
        disk = self.house.world.disk
        if power_cut:
            disk.power_cut()
        else:
            disk.kill()
        self.end_loop()
        self.start()
        self.look()

    @rule()
    def flush(self) -> None:
        self.run(self.house.partitions[0].flush())

    # What must hold

    def pick(self, number: int) -> Client:
        return self.clients[number % len(self.clients)]

    def note_refusal(self, refusal: HoldfastError) -> None:
        if isinstance(refusal, UnknownMember | InstanceFenced) and refusal.member_id:
            self.truth.gone.add(refusal.member_id)

    def look(self) -> None:
        for partition in PARTITIONS:
            self.run(self.fetching(partition))

    def teardown(self) -> None:
        """Left alone, everybody is answered, and the group is empty; then nothing is lost by a last restart."""
        if not hasattr(self, "house"):
            return
        for _ in range(60):
            self.run(self.house.wait(10))
        self.go(turns(0), 3)
        assert not self.tasks, "A request was never answered."
        states = [each.state for each in self.house.coordinator.list_groups()]
        assert states in ([], [GroupState.EMPTY])
        self.look()
        self.restart(power_cut=True)
        self.end_loop()


CoordinatorMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


class TestCoordinator(CoordinatorMachine.TestCase):
    """K3: requests under way at any power cut, time passing, groups deleted: what `group_invariants` says holds."""
