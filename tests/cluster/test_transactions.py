"""Transactions over several lives: all of each, or nothing, whoever leads, coordinates, dies or hears late."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.cluster.leaders_world import NAME, TOPIC
from tests.cluster.transactions_world import (
    SECRET,
    STATES,
    TIMEOUT_MS,
    TransactionLife,
    TransactionsWorld,
    WorldLink,
    decided,
)
from tests.log.log_world import in_loop, turns

from holdfast.broker.peers.link import PeerSilent
from holdfast.broker.peers.peers import Peers
from holdfast.broker.peers.permits import NoPermit
from holdfast.broker.topics import TRANSACTIONS_TOPIC
from holdfast.cluster.lives import BrokerLife, end
from holdfast.cluster.metadata import Topic, create_topic
from holdfast.coordinator.runtime.errors import NotCoordinator
from holdfast.coordinator.transaction.coordinator import EXPLICIT, IMPLICIT
from holdfast.coordinator.transaction.errors import NotInTransaction, ProducerFenced, TransactionEnding
from holdfast.coordinator.transaction.transaction import Producer, TransactionState
from holdfast.errors import Corrupt, Fenced
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.api import Key
from holdfast.record.build import build
from holdfast.record.marker import Marker, MarkerKind
from holdfast.record.records import Record
from holdfast.types import Buffer, PartitionId, TopicPartition

SEEDS = 6
STEPS = 500
ID = "one"
FAR = TopicPartition(NAME, 0)  # Led by the second life; the coordinators and all else are the first one's.
NEAR = TopicPartition(NAME, 1)


@pytest.mark.parametrize("first", range(0, 18, SEEDS))
@in_loop
async def test_a_transaction_is_there_everywhere_or_nowhere(first: int) -> None:
    """C7: coordinators and partitions move, lives are ended and killed, requests get lost and come late.

    The test of C7.
    """
    for seed in range(first, first + SEEDS):
        await TransactionsWorld(seed).run(STEPS)


class Two:
    """The first life coordinates, the second leads one partition."""

    def __init__(self, world: TransactionsWorld, first: TransactionLife, second: TransactionLife) -> None:
        self.world, self.first, self.second = world, first, second

    @property
    def far(self) -> PartitionLog:
        return self.second.topics.get(NAME).partition(FAR.partition)

    async def follow(self) -> None:
        for life in (self.first, self.second):
            if not life.is_dead:
                await life.follow()
                await life.follow_transactions()

    async def write(self, producer: Producer, value: bytes, version: int = IMPLICIT, sequence: int = 0) -> None:
        made = batch(producer, value, sequence)
        await self.second.produce(ID, producer, FAR.partition, made, version)

    async def take_over(self) -> None:
        """The second life ends the first, and has everything; the first one does not know."""
        self.second.metadata.commit(end(self.second.metadata.refresh().lives.by_broker[self.first.broker]))
        await self.second.care()
        await self.second.follow()
        await self.second.follow_transactions()


def batch(producer: Producer, value: bytes, sequence: int = 0) -> bytes:
    numbers = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch, "base_sequence": sequence}
    return bytes(build([Record(None, value, 0)], transactional=True, **numbers))


async def two() -> Two:
    world = TransactionsWorld(0)
    world.lost_share = 0.0
    await world.begin(faults=False)
    first, second = world.all_lives[:2]
    await first.care()
    found = Two(world, first, second)
    await found.follow()
    for home in [PartitionId(TOPIC, at) for at in range(3)] + [PartitionId(STATES, at) for at in range(2)]:
        is_far = home == PartitionId(TOPIC, FAR.partition)
        giver, taker = (first, second) if is_far else (second, first)
        if giver.metadata.metadata.leads.of(home).life == giver.life:
            await giver.topics.hand_over(home, taker.life)
        await found.follow()
    assert first.transactions.serves(ID)
    assert not second.transactions.serves(ID)
    return found


class HeldLink(WorldLink):
    """Answers, or questions, of one API wait."""

    def __init__(self, world: TransactionsWorld, key: Key) -> None:
        super().__init__(world)
        self.key = key
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

    async def exchange(self, life: BrokerLife, key: Key, frame: Sequence[Buffer], seconds: float) -> memoryview:
        found = await self.deliver(life, b"".join(frame)[4:])
        if key == self.key:
            self.asked.set()
            await self.go_on.wait()
        return found


@in_loop
async def test_both_partitions_have_the_end_when_the_producer_is_answered() -> None:
    """C7, in part: one of them is led by another broker; what is committed is readable when that is told."""
    both = await two()
    for version, sequence in ((EXPLICIT, 0), (IMPLICIT, 0)):
        producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
        if version == EXPLICIT:
            await both.first.transactions.add(ID, producer, [FAR, NEAR])
        value = b"%d" % version
        await both.write(producer, value, version, sequence)
        await both.first.produce(ID, producer, NEAR.partition, batch(producer, value), version)
        await both.first.transactions.end(ID, producer, commit=True, client_version=version)
        for partition in (both.far, both.first.topics.get(NAME).partition(NEAR.partition)):
            marks = partition.marks
            assert partition.transactions.last_stable(marks.high_watermark) == marks.high_watermark == marks.log_end
            assert (await decided(partition))[value] == "committed"


@in_loop
async def test_a_coordinator_that_somebody_made_up_shuts_nobody_out() -> None:
    """K4: a marker by hand never outranks the real coordinator, also where that is on another broker."""
    both = await two()
    producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
    for sequence, value in enumerate((b"a", b"b")):
        forged = Marker(MarkerKind.ABORT, producer.producer_id, producer.epoch, 2**31 - 1, 0)
        both.second.markers.append_for_operator(FAR, both.far, forged)
        await both.first.transactions.add(ID, producer, [FAR])
        await both.write(producer, value, EXPLICIT, sequence)
        await both.first.transactions.end(ID, producer, commit=True, client_version=EXPLICIT)
        assert (await decided(both.far))[value] == "committed"


@in_loop
async def test_what_no_coordinator_knows_of_is_not_written() -> None:
    """C7, in part: no transaction is begun by a batch that nobody would end; an old producer is shut out everywhere."""
    both = await two()
    producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
    with pytest.raises(NotInTransaction):
        await both.write(producer, b"never added", EXPLICIT)
    with pytest.raises(ProducerFenced):
        await both.write(producer._replace(epoch=producer.epoch - 1), b"too old")
    assert both.far.marks.log_end == 0


@in_loop
async def test_a_batch_is_refused_when_its_transaction_has_ended_while_it_was_asked_for() -> None:
    """C7, in part: the coordinator lets it in, then the end is quicker than its answer: it would be open for ever."""
    both = await two()
    link = HeldLink(both.world, Key.ADD_PARTITIONS_TO_TXN)
    both.second.permits._peers = Peers(both.second.life, SECRET, link)
    producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
    await both.first.transactions.add(ID, producer, [FAR])
    writing = asyncio.ensure_future(both.write(producer, b"late", EXPLICIT))
    await link.asked.wait()
    await both.first.transactions.end(ID, producer, commit=True, client_version=EXPLICIT)
    link.go_on.set()
    with pytest.raises(NoPermit):
        await writing
    assert both.far.transactions.open_count == 0


@in_loop
async def test_a_coordinator_that_was_ended_lets_nothing_in() -> None:
    """C3, C7, in part: it still knows of an open transaction, which another has ended meanwhile."""
    both = await two()
    producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
    await both.first.transactions.add(ID, producer, [FAR])
    await both.take_over()
    with pytest.raises((Fenced, PeerSilent, NotCoordinator)):
        await both.first.transactions.admit(ID, producer, [FAR], implicit=False)


@in_loop
async def test_a_coordinator_whose_partition_was_given_away_knows_nothing_any_more() -> None:
    """C7, in part: before it has heard of that; what it knew may have ended since."""
    both = await two()
    producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
    await both.first.transactions.add(ID, producer, [NEAR])
    home = PartitionId(STATES, both.first.transactions.partition_of(ID))
    await both.first.topics.hand_over(home, both.second.life)
    assert not both.first.transactions.serves(ID)
    with pytest.raises(Fenced):
        both.first.transactions.enlist(ID, producer, NEAR, implicit=False)
    await both.follow()
    assert both.second.transactions.describe(ID).state is TransactionState.ONGOING
    with pytest.raises(NotCoordinator):
        both.first.transactions.describe(ID)
    assert both.first.transactions.all() == []
    await both.second.transactions.end(ID, producer, commit=True, client_version=EXPLICIT)


@in_loop
async def test_what_was_decided_is_carried_out_by_whoever_has_the_id_next() -> None:
    """C7, in part: the coordinator is lost between the decision and the markers."""
    both = await two()
    producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
    await both.write(producer, b"x")
    link = HeldLink(both.world, Key.WRITE_TXN_MARKERS)
    link.deliver = lambda life, data: _lost(life)  # type: ignore[method-assign]
    both.first.markers._peers = Peers(both.first.life, SECRET, link)
    ending = asyncio.ensure_future(both.first.transactions.end(ID, producer, commit=True, client_version=IMPLICIT))
    await turns(200)
    assert both.first.transactions.describe(ID).state is TransactionState.PREPARE_COMMIT
    assert not ending.done()
    ending.cancel()
    both.first.kill()
    await both.take_over()
    await turns(200)
    assert both.second.transactions.describe(ID).state is TransactionState.COMPLETE_COMMIT
    assert (await decided(both.far))[b"x"] == "committed"


async def _lost(life: BrokerLife) -> memoryview:
    raise PeerSilent(life, "lost")


@in_loop
async def test_nobody_hears_of_a_decision_that_is_not_durable() -> None:
    """C7, in part: a coordinator that was ended decides nothing, though it does not know."""
    both = await two()
    producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
    await both.write(producer, b"x")
    await both.take_over()
    ending = asyncio.ensure_future(both.first.transactions.end(ID, producer, commit=True, client_version=IMPLICIT))
    await turns(200)
    assert both.far.transactions.open_count == 1
    both.world.clock.advance(TIMEOUT_MS / 1000 + 1)
    await both.second.tick()
    await turns(200)
    assert (await decided(both.far))[b"x"] == "aborted"
    ending.cancel()


@in_loop
async def test_an_end_that_comes_late_ends_nothing_else() -> None:
    """C7, in part: of an earlier coordinator, though nothing was open when the next one told of its own end."""
    both = await two()
    far, markers = both.far, both.second.markers
    marker = Marker(MarkerKind.COMMIT, 7, 0, 3, 0)
    assert far.producers.state(7) is None
    markers.end(FAR, marker)  # The next coordinator's, in epoch 3; nothing was written here.
    [(header, checked)] = far.check_batches(bytearray(batch(Producer(7, 0), b"next")))
    far.append_one(header, checked)
    markers.end(FAR, marker._replace(coordinator_epoch=2))
    assert far.transactions.open_count == 1
    markers.end(FAR, replace_kind(marker, MarkerKind.ABORT))
    assert far.transactions.open_count == 0


def replace_kind(marker: Marker, kind: MarkerKind) -> Marker:
    return marker._replace(kind=kind)


@pytest.mark.parametrize("where", [FAR, NEAR], ids=["another broker's", "our own"])
@in_loop
async def test_a_partition_that_is_broken_holds_no_other_up(where: TopicPartition) -> None:
    """C7, in part: the others have the end, its producer is answered, and the outcome is kept until it is repaired."""
    both = await two()
    producer = await both.first.transactions.initialize(ID, TIMEOUT_MS)
    await both.write(producer, b"far")
    await both.first.produce(ID, producer, NEAR.partition, batch(producer, b"near"), IMPLICIT)
    leader, other = (both.second, both.first) if where == FAR else (both.first, both.second)
    opened = leader.topics.get(NAME)
    broken = opened.partition(where.partition)
    sound = other.topics.get(NAME).partition((NEAR if where == FAR else FAR).partition)
    leader.topics._put(opened, where.partition, Corrupt("a block of it is not what was written"))
    ending = asyncio.ensure_future(both.first.transactions.end(ID, producer, commit=True, client_version=IMPLICIT))
    for _ in range(100):
        await turns(20)
        both.world.clock.advance(1)
        if ending.done():
            break
    assert ending.done(), "it is tried for ever"
    await ending
    assert "committed" in (await decided(sound)).values()
    assert both.first.transactions.left_count == 1
    assert both.first.transactions.describe(ID).state is TransactionState.PREPARE_COMMIT
    with pytest.raises(TransactionEnding):
        await both.first.transactions.initialize(ID, TIMEOUT_MS)
    leader.topics._put(leader.topics.get(NAME), where.partition, broken)
    both.world.clock.advance(60)
    await both.first.tick()
    await turns(200)
    assert "committed" in (await decided(broken)).values()
    assert both.first.transactions.left_count == 0
    await both.first.transactions.initialize(ID, TIMEOUT_MS)


@in_loop
async def test_a_topic_that_is_not_known_here_is_not_taken_for_deleted() -> None:
    """C7, C8, in part: another broker has made it since this one looked; its transaction would stay open."""
    both = await two()
    new = Topic("new", TOPIC, 1, {})
    new = replace(new, topic_id=STATES.__class__(int=0xC))
    both.second.metadata.commit(create_topic(new))
    await both.second.care()
    assert both.first.topics.find("new") is None
    place, marker = TopicPartition("new", 0), Marker(MarkerKind.COMMIT, 7, 0, 0, 0)
    telling = asyncio.ensure_future(both.first.markers.end_elsewhere([place], marker))
    for _ in range(20):
        await turns(20)
        await both.follow()
    await telling
    leader = both.first if isinstance(both.first.topics.get("new").logs[0], PartitionLog) else both.second
    assert leader.topics.get("new").partition(0).marks.log_end == 1
    gone = TopicPartition("never there", 0)
    await both.first.markers.end_elsewhere([gone], marker)


@in_loop
async def test_producers_of_all_brokers_have_ids_of_their_own() -> None:
    """C7, in part."""
    both = await two()
    home = PartitionId(STATES, both.first.transactions.partition_of("another"))
    if home.partition == both.first.transactions.partition_of(ID):
        home = PartitionId(STATES, 1 - home.partition)
    await both.first.topics.hand_over(home, both.second.life)
    await both.follow()
    names = [f"id-{at}" for at in range(30)]
    lives = [both.first if both.first.transactions.serves(each) else both.second for each in names]
    assert len({id(each) for each in lives}) == 2
    producers = [await life.transactions.initialize(each, TIMEOUT_MS) for life, each in zip(lives, names, strict=True)]
    assert len({each.producer_id for each in producers}) == 30
    assert TRANSACTIONS_TOPIC in both.first.metadata.metadata.topics
