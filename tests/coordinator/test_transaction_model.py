"""Transactional producers against a whole broker on a simulated disk: begin, write, end, die, come back.

Requests are repeated and come late, time passes, and the process is killed between any two turns of its loop. What must
hold is in `transaction_truth`. In the explicit way a request of an earlier transaction is repeated only if its producer
was fenced since: nothing in that protocol tells it from one of the next transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.coordinator.process import Process
from tests.coordinator.transaction_invariants import NotedTransaction, TransactionInvariants
from tests.coordinator.transaction_world import GROUP, PARTITIONS, TIMEOUT_MS, TOPIC, Client, TransactionWorld
from tests.log.log_world import turns
from tests.sim import frames

from holdfast.broker.net.request import Request
from holdfast.protocol.api import Key
from holdfast.record.build import build
from holdfast.record.records import Record

PICK = st.integers(0, 20)
TURNS = st.sampled_from([0, 1, 2, 3, 5, 30])  # How far a request comes before the next thing happens.
REFUSED = (47, 48, 49, 51, 90, 120)
SETTLED = 60


class TransactionMachine(Process, RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.truth = TransactionInvariants()
        self.clients: list[Client] = []
        self.sent: list[tuple[Client, NotedTransaction | None, Request]] = []  # All there ever was, to be repeated.
        self.tasks: set[asyncio.Task[None]] = set()
        self.values = 0

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        self.house = TransactionWorld(seed)
        self.start()

    def turn(self, count: int) -> None:
        self.run(turns(count))
        if self.house.is_dead:
            self.restart(power_cut=True)
            return
        self.note_ended()

    # Requests: a client has one at a time, and sends it again until it is answered.

    def call(self, client: Client, key: Key, version: int, fields: dict[str, Any], then: Callable[[Any], None]) -> None:
        wanted = frames.request(key, version, fields)
        self.sent.append((client, client.open, wanted))
        client.call = (wanted, then)
        self.send(client)

    def send(self, client: Client) -> None:
        assert client.call is not None
        wanted, then = client.call

        async def ask() -> None:
            answer = await self.house.ask(copy(wanted))
            if client.call is not None and client.call[0] is wanted and not self.house.is_dead:
                client.call = None
                then(answer)

        self.tasks.add(self.loop.create_task(ask()))

    def free(self, pick: int) -> Client | None:
        """A client that waits for nothing."""
        able = [each for each in self.clients if each.call is None and not each.is_over and each.epoch >= 0]
        return able[pick % len(able)] if able else None

    def refuse(self, client: Client, code: int) -> None:
        """It must have been overtaken, by another producer or by time."""
        assert code in REFUSED, f"code {code}"
        newest = [each for each in self.clients if each.transactional_id == client.transactional_id][-1]
        late = client.open is not None and self.house.clock.monotonic() - client.started_s >= TIMEOUT_MS / 1000
        assert newest is not client or late, f"The newest producer was refused with {code}."
        client.is_over = True

    # Rules

    @rule(name=st.sampled_from(["a", "b"]), implicit=st.booleans(), count=TURNS)
    def init(self, name: str, implicit: bool, count: int) -> None:
        client = Client(name, implicit)
        self.clients.append(client)

        def then(answer: Any) -> None:
            assert answer.error_code == 0
            client.producer_id, client.epoch = answer.producer_id, answer.producer_epoch

        fields = {"transactional_id": name, "transaction_timeout_ms": TIMEOUT_MS}
        self.call(client, Key.INIT_PRODUCER_ID, 4, fields, then)
        self.turn(count)

    def opened(self, client: Client) -> NotedTransaction:
        if client.open is None:
            client.open = self.truth.begin()
            client.started_s = self.house.clock.monotonic()
            client.added = set()
        return client.open

    @rule(pick=PICK, partition=st.integers(0, PARTITIONS - 1), count=TURNS)
    def write(self, pick: int, partition: int, count: int) -> None:
        client = self.free(pick)
        if client is None:
            return
        self.opened(client)
        if client.implicit or partition in client.added:
            self.produce(client, partition)
        else:
            self.add(client, partition)
        self.turn(count)

    def produce(self, client: Client, partition: int) -> None:
        transaction = client.open
        assert transaction is not None
        self.values += 1
        place = (partition, b"%d" % self.values)
        transaction.sent.add(place)
        sequence = client.sequences.get(partition, 0)
        batch = build(
            [Record(None, place[1], 0)],
            transactional=True,
            producer_id=client.producer_id,
            producer_epoch=client.epoch,
            base_sequence=sequence,
        )
        data = [{"index": partition, "records": bytes(batch)}]
        fields = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": TOPIC, "partition_data": data}]}

        def then(answer: Any) -> None:
            [found] = answer.responses[0].partition_responses
            if found.error_code:
                self.refuse(client, found.error_code)
                return
            client.sequences[partition] = sequence + 1
            transaction.acked.add(place)

        version = 12 if client.implicit else 10
        self.call(client, Key.PRODUCE, version, {"transactional_id": client.transactional_id, **fields}, then)

    def add(self, client: Client, partition: int) -> None:
        def then(answer: Any) -> None:
            [found] = answer.results_by_topic_v3_and_below[0].results_by_partition
            if found.partition_error_code:
                self.refuse(client, found.partition_error_code)
                return
            client.added.add(partition)

        fields = {f"v3_and_below_{name}": value for name, value in self.who(client).items()}
        topics = [{"name": TOPIC, "partitions": [partition]}]
        self.call(client, Key.ADD_PARTITIONS_TO_TXN, 3, {**fields, "v3_and_below_topics": topics}, then)

    @staticmethod
    def who(client: Client) -> dict[str, Any]:
        return {
            "transactional_id": client.transactional_id,
            "producer_id": client.producer_id,
            "producer_epoch": client.epoch,
        }

    @rule(pick=PICK, count=TURNS)
    def commit_offset(self, pick: int, count: int) -> None:
        """The offset is the number of its transaction."""
        client = self.free(pick)
        if client is None:
            return
        transaction = self.opened(client)
        if client.implicit or -1 in client.added:
            self.send_offset(client, transaction)
        else:
            self.add_offsets(client)
        self.turn(count)

    def send_offset(self, client: Client, transaction: NotedTransaction) -> None:
        def then(answer: Any) -> None:
            [found] = answer.topics[0].partitions
            if found.error_code:
                self.refuse(client, found.error_code)
                return
            transaction.offsets_acked = True

        rows = [{"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": transaction.number}]}]
        fields = {**self.who(client), "group_id": GROUP, "topics": rows}
        self.call(client, Key.TXN_OFFSET_COMMIT, 5 if client.implicit else 3, fields, then)

    def add_offsets(self, client: Client) -> None:
        def then(answer: Any) -> None:
            if answer.error_code:
                self.refuse(client, answer.error_code)
                return
            client.added.add(-1)

        self.call(client, Key.ADD_OFFSETS_TO_TXN, 3, {**self.who(client), "group_id": GROUP}, then)

    @rule(pick=PICK, commit=st.booleans(), count=TURNS)
    def end(self, pick: int, commit: bool, count: int) -> None:
        client = self.free(pick)
        transaction = client.open if client is not None else None
        if (
            client is None
            or transaction is None
            or not (client.added or transaction.acked or transaction.offsets_acked)
        ):
            return
        transaction.asked = "commit" if commit else "abort"

        def then(answer: Any) -> None:
            if answer.error_code:
                self.refuse(client, answer.error_code)
                return
            transaction.told = transaction.asked
            client.open = None
            if client.implicit:
                assert (answer.producer_id, answer.producer_epoch) == (client.producer_id, client.epoch + 1)
                client.epoch, client.sequences = answer.producer_epoch, {}

        version = 5 if client.implicit else 4
        self.call(client, Key.END_TXN, version, {**self.who(client), "committed": commit}, then)
        self.turn(count)

    @rule(pick=PICK)
    def die(self, pick: int) -> None:
        """A producer is gone; what it has sent may still arrive."""
        if self.clients:
            client = self.clients[pick % len(self.clients)]
            client.is_over, client.call = True, None

    @precondition(lambda self: self.sent)
    @rule(pick=st.integers(0, 1000), recent=st.booleans(), count=TURNS)
    def repeat(self, pick: int, recent: bool, count: int) -> None:
        """A request comes once more, from wherever it was held up; nobody waits for the answer."""
        near = self.sent[-6:] if recent else self.sent
        client, transaction, wanted = near[pick % len(near)]
        if wanted.header.api_key == Key.INIT_PRODUCER_ID:
            return  # It would be a producer of its own.
        may_tear = not client.implicit and transaction is not client.open and not client.is_over
        fenced = [each for each in self.clients if each.transactional_id == client.transactional_id][-1] is not client
        if may_tear or (not client.implicit and client.is_over and not fenced):
            return

        async def again() -> None:
            await self.house.ask(copy(wanted))

        self.tasks.add(self.loop.create_task(again()))
        self.turn(count)

    @rule(seconds=st.sampled_from([0.5, 3.0, 11.0]), count=TURNS)
    def wait(self, seconds: float, count: int) -> None:
        self.run(self.house.pass_time(seconds))
        self.turn(count)

    @rule(calls=st.integers(1, 4))
    def doom(self, calls: int) -> None:
        """The power will go in one of the next calls to the disk: most likely in the middle of a round."""
        if self.house.disk.crash_at is None:
            self.house.disk.crash_at = self.house.disk.calls + calls

    @rule(partition=st.integers(0, PARTITIONS - 1))
    def flush(self, partition: int) -> None:
        """Into segments, markers and what they end together or apart."""
        self.tasks.add(self.loop.create_task(self.flushing(partition)))
        self.turn(SETTLED)

    async def flushing(self, partition: int) -> None:
        await self.house.partitions()[partition].flush()

    @rule(power_cut=st.booleans())
    def restart(self, power_cut: bool) -> None:
        """The process is gone, at whatever it was doing. Who waits for an answer asks again."""
        for task in self.tasks:
            task.cancel()
        self.tasks.clear()
        self.loop.run_until_complete(turns(1))
        self.loop.close()
        self.house.disk.crash_at = None
        if power_cut:
            self.house.disk.power_cut()
        else:
            self.house.disk.kill()
        self.start()
        for client in self.clients:
            if client.call is not None:
                self.send(client)

    @rule()
    def check(self) -> None:
        self.house.disk.crash_at = None
        self.turn(SETTLED)
        log, visible = self.run(self.house.read())
        self.truth.check(log, visible, self.run(self.house.committed_offset()))
        for client in self.clients:
            transaction = client.open
            if transaction is not None and not transaction.asked:
                assert not transaction.sent & visible, "A committed reader got past an open transaction."

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.check()
            self.restart(power_cut=True)
            self.check()
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.run(turns(2))
            self.loop.close()


def copy(request: Request) -> Request:
    """The same request in memory of its own: the broker stamps what it appends."""
    return request._replace(frame=memoryview(bytearray(request.frame)))


TestTransactions = TransactionMachine.TestCase
TestTransactions.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # To make a failure small takes minutes: let it, when there is one.
)
TestTransactions.__doc__ = "K4, A2, A8: every transaction is seen whole or not at all, and no zombie lands."
