"""One group against `group_invariants`: any requests in any order, repeated, with time passing and restarts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.coordinator.group_driver import GroupDriver, protocols, subscription
from tests.coordinator.group_invariants import GroupInvariants

from holdfast.coordinator.group.answers import GroupState, Joined, Synced
from holdfast.coordinator.group.errors import InstanceFenced, MemberIdRequired, RebalanceInProgress, UnknownMember
from holdfast.coordinator.group.requests import Caller, Leaving

METADATA = st.sampled_from([subscription("t"), subscription("t", "u"), b"?"])
NAMES = st.sampled_from([("range",), ("range", "sticky"), ("sticky", "range"), ("sticky",)])
PICK = st.integers(0, 20)


@dataclass
class Client:
    """One consumer process: what it remembers."""

    instance: str | None
    member_id: str = ""
    joined: Joined | None = None
    generation: int = -1
    last: dict[str, Any] = field(default_factory=dict)  # What it said when it joined, to be said again.

    @property
    def caller(self) -> Caller:
        return Caller(self.member_id, self.generation, self.instance)


class GroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.truth = GroupInvariants()
        self.clients: list[Client] = []
        self.waiting: dict[int, tuple[str, Client, int]] = {}  # Ticket → what was asked, by whom, of which generation.
        self.nonce = 0

    @initialize(delay=st.sampled_from([0, 3_000]), members_max=st.sampled_from([3, 100]))
    def begin(self, delay: int, members_max: int) -> None:
        self.party = GroupDriver(
            initial_rebalance_delay_ms=delay, members_max=members_max, new_member_timeout_ms=30_000
        )

    # Requests

    @rule(instance=st.sampled_from([None, None, "i", "k"]), known=st.booleans(), metadata=METADATA, names=NAMES)
    def join(self, instance: str | None, known: bool, metadata: bytes, names: tuple[str, ...]) -> None:
        client = Client(instance)
        self.clients.append(client)
        self.send_join(client, needs_known_id=known, protocols=protocols(*names, metadata=metadata))

    @precondition(lambda self: self.clients)
    @rule(pick=PICK, metadata=METADATA, names=NAMES, skip=st.booleans())
    def join_again(self, pick: int, metadata: bytes, names: tuple[str, ...], skip: bool) -> None:
        client = self.pick(pick)
        self.send_join(client, protocols=protocols(*names, metadata=metadata), can_skip_assignment=skip)

    @precondition(lambda self: self.clients)
    @rule(pick=PICK)
    def join_as_before(self, pick: int) -> None:
        client = self.pick(pick)
        self.send_join(client, protocols=protocols("range", "sticky"))

    @precondition(lambda self: self.clients)
    @rule(pick=PICK)
    def forget_everything_and_join(self, pick: int) -> None:
        client = self.pick(pick)
        client.member_id, client.generation, client.joined = "", -1, None
        self.send_join(client)

    def send_join(self, client: Client, **values: Any) -> None:
        client.last = values
        self.note(self.party.join(client.member_id, client.instance, **values), "join", client)

    @precondition(lambda self: self.clients)
    @rule(pick=PICK)
    def sync(self, pick: int) -> None:
        self.send_sync(self.pick(pick))

    def send_sync(self, client: Client) -> None:
        assignments = {}
        if client.joined is not None and client.joined.members and not client.joined.skip_assignment:
            self.nonce += 1
            assignments = self.truth.assign(client.joined, self.nonce)
        self.note(self.party.sync(client.caller, assignments), "sync", client)

    @precondition(lambda self: self.clients)
    @rule(pick=PICK)
    def join_once_more(self, pick: int) -> None:
        client = self.pick(pick)
        self.send_join(client, **client.last)

    @precondition(lambda self: self.clients)
    @rule(pick=PICK, back=st.sampled_from([0, 0, 0, 1]))
    def beat(self, pick: int, back: int) -> None:
        client = self.pick(pick)
        caller = client.caller._replace(generation=client.generation - back)
        result = self.party.beat(caller)
        if client.generation >= 0:
            self.check_result(client, result)
        self.collect()

    @precondition(lambda self: self.clients)
    @rule(pick=PICK)
    def commit(self, pick: int) -> None:
        client = self.pick(pick)
        if client.generation >= 0:
            self.check_result(client, self.party.commit(client.caller))

    @precondition(lambda self: self.clients)
    @rule(pick=PICK, by_name=st.booleans())
    def leave(self, pick: int, by_name: bool) -> None:
        client = self.pick(pick)
        leaving = Leaving("" if by_name and client.instance else client.member_id, client.instance)
        before = {each.member_id: each.instance_id for each in self.party.group.describe().members}
        [result] = self.party.leave(leaving)
        if result is None:
            left = leaving.member_id or next(each for each, name in before.items() if name == client.instance)
            self.truth.gone.add(left)
        self.collect()

    @rule(lazy=st.sets(st.integers(0, 5), max_size=2))
    def behave(self, lazy: set[int]) -> None:
        """Everybody, but some, does what a good client does: it joins again where it must, and then syncs."""
        for number, client in enumerate(list(self.clients)):
            if number in lazy or not client.member_id:
                continue
            result = self.party.beat(client.caller) if client.generation >= 0 else RebalanceInProgress("g")
            self.collect()
            if isinstance(result, RebalanceInProgress):
                self.send_join(client, **client.last)
            elif result is not None:
                self.clients.remove(client)
        for number, client in enumerate(self.clients):
            if number not in lazy and client.generation >= 0:
                self.send_sync(client)

    # The world

    @rule(milliseconds=st.sampled_from([1, 100, 3_000, 9_999, 10_000, 30_000, 60_000]))
    def wait(self, milliseconds: int) -> None:
        self.party.wait(milliseconds)
        self.collect()

    @rule()
    def restart(self) -> None:
        """Whoever waits is cut off; only what was to survive is left."""
        self.collect()
        self.waiting.clear()
        self.party.restart()

    # What must hold

    def pick(self, number: int) -> Client:
        return self.clients[number % len(self.clients)]

    def note(self, ticket: int, kind: str, client: Client) -> None:
        self.waiting[ticket] = (kind, client, client.generation)
        self.collect()

    def collect(self) -> None:
        for ticket in [each for each in self.waiting if each in self.party.answers]:
            kind, client, generation = self.waiting.pop(ticket)
            answer = self.party.answers[ticket]
            if isinstance(answer, Joined):
                self.truth.joined(answer, client.instance)
                client.member_id, client.generation, client.joined = answer.member_id, answer.generation, answer
            elif isinstance(answer, Synced):
                self.truth.synced(client.member_id, generation, answer.assignment)
            elif isinstance(answer, MemberIdRequired):
                client.member_id = answer.member_id
            elif kind == "join" or generation >= 0:
                self.check_result(client, answer)

    def check_result(self, client: Client, result: object) -> None:
        if result is None:
            self.truth.served(client.member_id)
        elif isinstance(result, UnknownMember | InstanceFenced) and result.member_id:
            self.truth.gone.add(result.member_id)

    @invariant()
    def the_group_is_consistent(self) -> None:
        if not hasattr(self, "party"):
            return
        group, roster = self.party.group, self.party.group._roster
        members = list(roster)
        assert len(self.party.parked) == sum((each.join is not None) + (each.sync is not None) for each in members)
        assert (group.state is GroupState.EMPTY) == (not members)
        if group.state is not GroupState.PREPARING:
            assert not any(each.join for each in members)
        if group.state is not GroupState.COMPLETING:
            assert not any(each.sync for each in members)
        assert not members or (roster.leader_id in roster and group.deadline is not None)
        assert roster.size == sum(each.size for each in members)
        assert not {each.id for each in members} & self.truth.gone
        assert group.generation >= max(self.truth.generations, default=0)

    def teardown(self) -> None:
        """Left alone, a group answers everybody, and everybody is gone in the end."""
        if hasattr(self, "party"):
            self.party.wait(10_000_000)
            self.collect()
            assert not self.party.parked, "A request was never answered."
            assert self.party.group.state is GroupState.EMPTY
            assert self.party.group.is_unused


GroupMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)


class TestGroup(GroupMachine.TestCase):
    """K3: joins, syncs, heartbeats, leaves, commits of any clients, time, restarts: `group_invariants` hold."""
