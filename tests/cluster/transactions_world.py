"""Transactions over several lives: coordinators and partitions move, lives are ended and killed, messages get lost.

Coordinators, permits, markers, proofs and handlers are the real ones; what one life asks of another goes from hand to
hand. In the end each transaction is there in all of its partitions, or in none, and none is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from tests.cluster.leaders_world import (
    CLUSTER,
    NAME,
    PARTITIONS,
    TOPIC,
    TURNS_MAX,
    LeadersWorld,
    LifeOfBroker,
)

from holdfast.broker.api import add_partitions_to_txn, write_txn_markers
from holdfast.broker.coordinators import ProducerIdBlocks
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.broker.peers.door import PeerDoor
from holdfast.broker.peers.link import PeerSilent
from holdfast.broker.peers.peers import Peers
from holdfast.broker.peers.permits import Permits
from holdfast.broker.peers.shared_markers import SharedMarkers
from holdfast.broker.topics import TRANSACTIONS_TOPIC
from holdfast.cluster.identity import claim_store
from holdfast.cluster.leads import spread
from holdfast.cluster.lives import BrokerLife, end
from holdfast.cluster.metadata import Topic, create_topic
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.coordinator.transaction.coordinator import EXPLICIT, IMPLICIT, TransactionCoordinator
from holdfast.coordinator.transaction.errors import TransactionEnding
from holdfast.coordinator.transaction.producer_ids import ProducerIds
from holdfast.coordinator.transaction.transaction import Producer
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.address import Address
from holdfast.io.chance import SeededChance
from holdfast.io.versions import VersionRetries
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.api import Key
from holdfast.protocol.header import decode_request_header, frame_response
from holdfast.protocol.messages import decode_request, encode_response
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.marker import MarkerKind, read_marker
from holdfast.record.records import Record, read_records
from holdfast.security.principal import ANONYMOUS, Session
from holdfast.types import Buffer, PartitionId, TopicPartition

STATES = UUID(int=0xB)
SHARDS = 2
SECRET = bytes(range(32))
TIMEOUT_MS = 60_000
PATIENCE = 400  # Turns that a client waits for an answer.
IDS = ("one", "two", "three")
HANDLERS: dict[int, Callable[..., Coroutine[Any, Any, Any]]] = {
    Key.WRITE_TXN_MARKERS: write_txn_markers.handle,
    Key.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn.handle,
}


class SilentAlarm:
    """The world looks for what is due."""

    def set(self, seconds: float, ring: Callable[[], None]) -> None:
        pass

    def stop(self) -> None:
        pass


class WorldLink:
    """How frames of one life get to another: or not, or when nobody waits any more."""

    def __init__(self, world: TransactionsWorld) -> None:
        self._world = world

    async def exchange(self, life: BrokerLife, key: Key, frame: Sequence[Buffer], seconds: float) -> memoryview:
        del key, seconds
        world, data = self._world, b"".join(frame)[4:]
        await world.some_turns()
        drawn = world.random.random()
        if drawn < world.lost_share:
            world.counts["lost"] += 1
            raise PeerSilent(life, "lost")
        if drawn < 2 * world.lost_share:
            world.late.append((life, data))
            raise PeerSilent(life, "it is still under way")
        found = await self.deliver(life, data)
        await world.some_turns()
        if world.random.random() < world.lost_share:
            raise PeerSilent(life, "the answer is lost")
        return found

    async def deliver(self, life: BrokerLife, data: bytes) -> memoryview:
        target = next((each for each in self._world.all_lives if each.life == life.life), None)
        if target is None or target.is_dead:
            raise PeerSilent(life, "it is not there")
        frame = memoryview(bytearray(data))
        session = Session(ANONYMOUS, "10.0.0.1", "PLAINTEXT")
        request = Request(decode_request_header(frame), frame, session, Address("x", 1), Slices(self._world.clock))
        try:
            framed = await target.call(target.door.handle(request))
        except (HoldfastError, asyncio.CancelledError) as failure:
            raise PeerSilent(life, failure) from None
        return memoryview(b"".join(framed))[4:]


class TransactionLife(LifeOfBroker):
    """One life with a transaction coordinator."""

    world: TransactionsWorld
    is_dead = False

    async def open_logs(self) -> None:
        await super().open_logs()
        peers = Peers(self.life, SECRET, WorldLink(self.world))
        self.permits = Permits(self.topics, peers, self.calls)
        self.markers = SharedMarkers(self.topics, cast(Any, None), peers, self.permits, self.calls)
        self.transactions = TransactionCoordinator(
            self.topics.get(TRANSACTIONS_TOPIC).logs,
            self.markers,
            ProducerIds(ProducerIdBlocks(self.metadata, self.calls), 10),
            clock=self.world.clock,
            alarm=SilentAlarm(),
        )
        self.door = PeerDoor(self, self.life, SECRET)
        self.context = SimpleNamespace(
            topics=self.topics,
            logs=self.logs,
            markers=self.markers,
            transactions=self.transactions,
            clock=self.world.clock,
        )
        self._following = asyncio.Lock()
        await self.transactions.load()

    # As what stands behind the door

    def start_produce(self, request: Request, done: Any) -> bool:
        raise AssertionError((request, done))

    async def handle(self, request: Request) -> Sequence[Buffer]:
        header = request.header
        key, version = Key(header.api_key), header.api_version
        message = decode_request(key, version, request.body)
        answer = await HANDLERS[key](self.context, message, request)
        return frame_response(key, version, header.correlation_id, encode_response(key, version, answer))

    async def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What somebody asks of this life: it is carried through, unless it is killed."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self._note)
        return await asyncio.shield(task)

    def _note(self, task: asyncio.Future[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # Whoever asked may not wait any more.

    # What it does

    @property
    def logs_open(self) -> list[PartitionLog]:
        found = (*self.topics.get(NAME).logs, *self.topics.get(TRANSACTIONS_TOPIC).logs)
        return [each for each in found if isinstance(each, PartitionLog)]

    async def flush(self) -> None:
        if self.logs_open:
            await self.world.random.choice(self.logs_open).flush()
            self.logs.purge()

    async def follow(self) -> None:
        await super().follow()
        if self.world.random.random() < 0.7:
            await self.follow_transactions()

    async def follow_transactions(self) -> None:
        async with self._following:
            await self.transactions.follow(self.topics.get(TRANSACTIONS_TOPIC).logs)

    async def tick(self) -> None:
        self.transactions.timers.run_due()

    async def produce(self, transactional_id: str, producer: Producer, number: int, batch: bytes, version: int) -> None:
        """As the produce path does it, which looks at what is open before and behind the question."""
        place, implicit = TopicPartition(NAME, number), version >= IMPLICIT
        partition = self.topics.get(NAME).partition(number)
        permit = None
        if not self.transactions.serves(transactional_id) and not partition.producers.is_open(*producer):
            permit = await self.permits.ask(transactional_id, producer, place, partition, implicit=implicit)
        try:
            [(header, checked)] = partition.check_batches(bytearray(batch))
            if not partition.producers.is_open(*producer):
                if implicit:
                    partition.producers.check_begins(header)
                if permit is None:
                    self.transactions.enlist(transactional_id, producer, place, implicit=implicit)
                else:
                    permit.check(producer)
            appended = partition.append_one(header, checked)
        finally:
            if permit is not None:
                permit.release()
        await partition.acknowledged(appended.end_offset)

    def kill(self) -> None:
        super().kill()
        self.is_dead = True
        self.permits._peers.close()
        for hosted in self.transactions._hosted.values():
            hosted.stop()


@dataclass
class Attempt:
    """A transaction, as its client knows it."""

    values: dict[int, list[bytes]] = field(default_factory=dict)  # By partition.
    outcome: str = "aborted"  # Until it is asked to commit.


class NoAnswer(Exception):
    """Nobody knows what became of it."""


class Client:
    """A transactional producer."""

    def __init__(self, world: TransactionsWorld, transactional_id: str) -> None:
        self._world = world
        self._id = transactional_id
        self._version = world.random.choice((EXPLICIT, IMPLICIT))
        self._producer = Producer(-1, -1)
        self._sequences: dict[int, int] = {}

    async def run(self) -> None:
        while not self._world.is_over:
            try:
                begun = await self._of_coordinator(lambda life: life.transactions.initialize(self._id, TIMEOUT_MS))
                self._begin(begun)
                for _ in range(self._world.random.randrange(1, 6)):
                    await self._transact()
            except (NoAnswer, HoldfastError):
                await self._world.some_turns()
            if self._world.random.random() < 0.3:
                self._version = self._world.random.choice((EXPLICIT, IMPLICIT))

    def _begin(self, producer: Producer) -> None:
        if producer != self._producer:
            self._producer, self._sequences = producer, {}

    async def _transact(self) -> None:
        world, attempt = self._world, Attempt()
        world.attempts.append(attempt)
        numbers = world.random.sample(range(PARTITIONS), world.random.randrange(1, PARTITIONS + 1))
        if self._version == EXPLICIT:
            places = [TopicPartition(NAME, each) for each in numbers]
            await self._of_coordinator(lambda life: life.transactions.add(self._id, self._producer, places))
        for number in numbers:
            for _ in range(world.random.randrange(1, 3)):
                await self._produce(number, attempt)
        commit = world.random.random() < 0.7
        if not commit and world.random.random() < 0.7:
            self._send_and_forget(world.random.choice(numbers), attempt)
            await world.some_turns()
        if commit:
            attempt.outcome = "unknown"

        def ask(life: TransactionLife) -> Awaitable[Producer]:
            return life.transactions.end(self._id, self._producer, commit=commit, client_version=self._version)

        after = await self._of_coordinator(ask)
        attempt.outcome = "committed" if commit else "aborted"
        world.counts[attempt.outcome] += 1
        self._begin(after)

    def _send_and_forget(self, number: int, attempt: Attempt) -> None:
        """A batch that is under way when its transaction is aborted. Where transactions share an epoch it may come to
        be part of the next one, as with Kafka: then nobody asks what became of it, but that it is ended."""
        value = self._world.new_number().encode()
        if self._version == IMPLICIT:
            attempt.values.setdefault(number, []).append(value)
        producer, version, batch = self._producer, self._version, self._batch(number, value)
        self._sequences[number] = self._sequences.get(number, 0) + 1
        lives = [each for each in self._world.all_lives if not each.is_dead and _leads(each, number)]
        if lives:
            life = self._world.random.choice(lives)
            task = asyncio.ensure_future(life.call(life.produce(self._id, producer, number, batch, version)))
            task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
            self._world.counts["forgotten"] += 1

    async def _produce(self, number: int, attempt: Attempt) -> None:
        value = self._world.new_number().encode()
        attempt.values.setdefault(number, []).append(value)
        batch = self._batch(number, value)
        await self._until_answered(
            lambda life: _leads(life, number),
            lambda life: life.produce(self._id, self._producer, number, batch, self._version),
        )
        self._sequences[number] = self._sequences.get(number, 0) + 1

    def _batch(self, number: int, value: bytes) -> bytes:
        made = build(
            [Record(None, value, 0)],
            transactional=True,
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.epoch,
            base_sequence=self._sequences.get(number, 0),
        )
        return bytes(made)

    async def _of_coordinator(self, ask: Callable[[TransactionLife], Awaitable[Any]]) -> Any:
        return await self._until_answered(lambda life: life.transactions.serves(self._id), ask)

    async def _until_answered(
        self, is_asked: Callable[[TransactionLife], bool], ask: Callable[[TransactionLife], Awaitable[Any]]
    ) -> Any:
        """Ask whoever says to be the one, again and again: as clients do with what may be tried again."""
        world = self._world
        for _ in range(40):
            lives = [each for each in world.all_lives if not each.is_dead and is_asked(each)]
            if lives:
                life = world.random.choice(lives)
                task = asyncio.ensure_future(life.call(cast("Coroutine[Any, Any, Any]", ask(life))))
                for _ in range(PATIENCE):
                    if task.done():
                        break
                    await asyncio.sleep(0)
                if not task.done():
                    task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
                    world.counts["gave up waiting"] += 1
                elif not task.cancelled():
                    failure = task.exception()
                    if failure is None:
                        return task.result()
                    if not isinstance(failure, (Unavailable, TransactionEnding)) and not _is_retried(failure):
                        raise failure
            for _ in range(world.random.choice((1, 5, 20, 60))):
                await asyncio.sleep(0)
            if world.is_over:
                break
        raise NoAnswer


def _leads(life: TransactionLife, number: int) -> bool:
    return isinstance(life.topics.get(NAME).logs[number], PartitionLog)


def _is_retried(failure: BaseException) -> bool:
    from holdfast.errors import Fenced, Stopped

    return isinstance(failure, (Fenced, Stopped))


class TransactionsWorld(LeadersWorld):
    """One seed."""

    life_class = TransactionLife
    work = {  # noqa: RUF012
        "flush": 10.0,
        "follow": 24.0,
        "follow_transactions": 12.0,
        "hand_over": 6.0,
        "care": 10.0,
        "end_another": 1.0,
        "tick": 6.0,
    }

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.attempts: list[Attempt] = []
        self.late: list[tuple[BrokerLife, bytes]] = []
        self.lost_share = self.random.choice((0.0, 0.03, 0.1))
        self.is_over = False
        self.last: TransactionLife | None = None

    @property
    def all_lives(self) -> list[TransactionLife]:
        return [*cast("list[TransactionLife]", self.lives), *([] if self.last is None else [self.last])]

    def some_home(self) -> PartitionId:
        if self.random.random() < 0.4:
            return PartitionId(STATES, self.random.randrange(SHARDS))
        return super().some_home()

    async def some_turns(self) -> None:
        for _ in range(self.random.choice((0, 0, 1, 3, 12, 40))):
            await asyncio.sleep(0)

    async def begin(self, *, faults: bool) -> None:
        share, self.fault_share = self.fault_share if faults else 0.0, 0.0
        claim_store(self.objects, CLUSTER)
        patience = VersionRetries(self.clock, SeededChance(0), lambda _: None)
        first = MetadataLog(self.objects, CLUSTER, "", patience, "")
        topics = [
            create_topic(Topic(NAME, TOPIC, PARTITIONS, {})),
            create_topic(Topic(TRANSACTIONS_TOPIC, STATES, SHARDS, {"cleanup.policy": "compact"})),
        ]
        first.commit(spread(0, -1), *topics)
        for _ in range(2):
            await self.come()
        self.fault_share = share

    async def run(self, steps: int) -> None:
        await self.begin(faults=True)
        clients = [asyncio.ensure_future(Client(self, each).run()) for each in IDS]
        for _ in range(steps):
            await self.happen()
            if self.late and self.random.random() < 0.1:
                await self.deliver_late()
        self.fault_share = self.lost_share = 0.0
        self.is_over = True
        for _ in range(TURNS_MAX):
            if all(each.done() for each in clients):
                break
            await asyncio.sleep(0)
        await asyncio.gather(*clients)
        await self.check()

    async def deliver_late(self) -> None:
        life, data = self.late.pop(self.random.randrange(len(self.late)))
        self.counts["late"] += 1
        task = asyncio.ensure_future(WorldLink(self).deliver(life, data))
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)

    async def leads_alone(self, last: TransactionLife, follow: Callable[[], Awaitable[None]]) -> None:
        """What is on its way arrives; all others are ended, and a life that comes now leads everything."""
        for life in self.lives:
            life.wire.arrive()
        while self.late:
            await self.deliver_late()
        self.last = last
        await last.begin()
        for _ in range(20):
            for each in last.metadata.refresh().lives.eldest_first:
                if each.life != last.life:
                    last.metadata.commit(end(each))
            self.clock.advance(120.0)
            await last.leadership.care()
            await last.follow()
            await follow()
            if len(last.logs_open) == PARTITIONS + SHARDS:
                break
        assert len(last.logs_open) == PARTITIONS + SHARDS, "A partition has no leader."

    async def check(self) -> None:
        """Whoever comes now ends what is open, and finds each transaction everywhere or nowhere."""
        last = TransactionLife(self, 9)
        await self.leads_alone(last, last.follow_transactions)
        for _ in range(4):
            self.clock.advance(TIMEOUT_MS / 1000 + 1)
            await last.tick()
            for _ in range(TURNS_MAX // 4):
                await asyncio.sleep(0)
        self.check_records(await self.found(last))
        for life in self.all_lives:
            life.kill()
        await self.settled()

    async def found(self, last: TransactionLife) -> dict[int, dict[bytes, str]]:
        """What became of each record, by partition."""
        by_partition = {}
        for number in range(PARTITIONS):
            partition = last.topics.get(NAME).partition(number)
            stable = partition.transactions.last_stable(partition.marks.high_watermark)
            assert stable == partition.marks.high_watermark, f"Transactions are open: {partition.transactions.open}."
            by_partition[number] = await decided(partition)
        return by_partition

    def check_records(self, found: dict[int, dict[bytes, str]]) -> None:
        for attempt in self.attempts:
            fates = [
                found[number].get(value, "absent") for number, values in attempt.values.items() for value in values
            ]
            is_there = [each == "committed" for each in fates]
            if attempt.outcome == "committed":
                assert all(is_there), f"A part of what was committed is missing: {attempt} {fates}."
            elif attempt.outcome == "aborted":
                assert not any(is_there), f"What was aborted is shown as committed: {attempt} {fates}."
            else:
                assert all(is_there) or not any(is_there), (
                    f"A part of it is committed, a part is not: {attempt} {fates}."
                )
        self.counts["attempts"] += len(self.attempts)


async def decided(partition: PartitionLog) -> dict[bytes, str]:
    """Of each record whether it was committed or aborted, by the markers behind it."""
    open_: dict[int, list[bytes]] = {}
    fates: dict[bytes, str] = {}
    offset = partition.marks.log_start
    while True:
        read = await partition.read(offset, None, 1 << 20)
        for buffer in read.buffers:
            for header, batch in split(buffer):
                if header.is_control:
                    kind = read_marker(batch).kind
                    for value in open_.pop(header.producer_id, ()):
                        fates[value] = "committed" if kind == MarkerKind.COMMIT else "aborted"
                else:
                    for record in read_records(batch):
                        value = bytes(record.value or b"")
                        assert value not in fates, "A record is there twice."
                        open_.setdefault(header.producer_id, []).append(value)
        if read.end_reached:
            return fates
        offset = read.next_offset
