"""Reads by rack, in one loop: whom a leader points elsewhere, and what a broker serves of what others lead."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.cluster.leaders_world import NAME, PARTITIONS, TOPIC, LeadersWorld, LifeOfBroker
from tests.log.log_world import fill, from_producer, headers, in_loop, marker

from holdfast.broker.fetch.by_rack import READERS_MAX, ReadsByRack
from holdfast.broker.fetch.sessions import FetchSession
from holdfast.broker.racks import Racks
from holdfast.cluster.lives import BrokerLife, Lives, join, leave
from holdfast.cluster.metadata import delete_topic
from holdfast.io.objects.faulty import Call, FailBefore, Fault
from holdfast.log.errors import LedElsewhere
from holdfast.log.partition.partition import PartitionLog
from holdfast.measure import RackCounts
from holdfast.operate.members import look_at_members
from holdfast.protocol.codes import Code
from holdfast.protocol.hot.fetch import FetchPartition
from holdfast.protocol.hot.fetch_response import Fetched
from holdfast.types import PartitionId

HOME = PartitionId(TOPIC, 0)
FAR, NEAR = "far", "near"
READER = 9  # The broker that is near; all others are far.
ALL = 100 << 20
SIZE = 1_000_000  # Of a record: five are far enough.


class LifeInRack(LifeOfBroker):
    """One that says where it is."""

    @property
    def rack(self) -> str:
        return NEAR if self.broker == READER else FAR

    async def join(self) -> None:
        number = self.world.new_number()
        self.metadata.commit(join(self.broker, number, number, number, {}, rack=self.rack))
        self.life = self.metadata.metadata.lives.by_broker[self.broker].life


class InRack(NamedTuple):
    """A life, and what it reads for others."""

    life: LifeInRack
    reads: ReadsByRack
    counts: RackCounts

    @classmethod
    def of(cls, life: LifeInRack) -> InRack:
        racks = Racks(lambda: life.metadata.metadata.lives, life.broker, life.rack, are_many=True)
        counts = RackCounts()
        return cls(life, ReadsByRack(racks, life.topics, life.logs, life.world.clock, life.broker, counts), counts)

    @property
    def partition(self) -> PartitionLog:
        return self.life.open[HOME]

    def point(
        self, offset: int, rack: str = NEAR, who: object = "me", *, committed: bool = False, partition: int = 0
    ) -> int:
        """Where a reader is sent; -1: it is to stay."""
        log = self.life.open[PartitionId(TOPIC, partition)]
        found = self.reads.point(who, rack, log, wanted(offset), committed=committed)
        assert found is None or (not found.records and not found.error_code)
        return -1 if found is None else found.preferred_read_replica

    async def read(self, offset: int, limit: int = ALL, *, committed: bool = False, epoch: int = -1) -> Fetched:
        led = self.life.topics.get(NAME).logs[0]
        assert isinstance(led, LedElsewhere)
        asked = wanted(offset, epoch)
        found = await self.reads.read(HOME, led, asked, limit, first=True, committed=committed)
        assert found is not None
        return found


def wanted(offset: int, epoch: int = -1) -> FetchPartition:
    return FetchPartition(0, epoch, offset, -1, -1, ALL)


def offsets(found: Fetched) -> list[int]:
    return [each.base_offset for each in headers([memoryview(b"".join(found.records))])]


def is_sent_back(found: Fetched, leader: InRack) -> bool:
    return not found.records and not found.error_code and found.preferred_read_replica == leader.life.broker


class World(LeadersWorld):
    life_class = LifeInRack

    async def two(self) -> tuple[InRack, InRack]:
        """A leader that is far, and a broker that is near and leads nothing."""
        await self.begin(faults=False)
        first = self.lives[0]
        await first.care()
        await first.follow()
        second = LifeInRack(self, READER)
        await second.begin()
        first.metadata.refresh()
        assert isinstance(first, LifeInRack)
        return InRack.of(first), InRack.of(second)


async def history(leader: InRack, *segments: int) -> None:
    """Segments of so many records each."""
    start = leader.partition.marks.log_end
    for count in segments:
        await fill(leader.partition, count, SIZE, start)
        await leader.partition.flush()
        start += count


@in_loop
async def test_only_readers_far_behind_are_sent_to_their_rack() -> None:
    """C1: one segment of some size lies between them and the end; the leader's own rack, and unknown ones, stay."""
    leader, _ = await World(0).two()
    await history(leader, 2, 3, 2)
    for offset in range(2):
        assert leader.point(offset, who=f"reader {offset}") == READER
    for offset in (2, 4, 5, 7, 8):
        assert leader.point(offset) == -1
    assert leader.point(0, FAR) == leader.point(0, "elsewhere") == leader.point(0, "") == -1
    assert leader.counts.pointed == 2
    leader.life.metadata.commit(leave(READER, leader.life.metadata.metadata.lives.by_broker[READER].life))
    assert leader.point(0, who="late") == -1  # It hands over what it has, and takes nothing on.


@in_loop
async def test_a_reader_that_is_back_where_it_was_sent_from_stays_for_a_while() -> None:
    """C1: whoever was to serve it could not; nobody is sent to and fro."""
    world = World(0)
    leader, _ = await world.two()
    await history(leader, 3, 5)
    assert leader.point(0) == READER
    assert leader.point(0, who="another") == READER
    assert leader.point(0) == -1
    assert leader.point(1) == -1  # It goes on here, also behind what it came back for.
    world.clock.advance(31.0)
    assert leader.point(1) == READER
    assert leader.point(2) == READER  # It got something there.


@in_loop
async def test_nobody_is_taken_for_a_reader_that_has_gone() -> None:
    """C1: one that comes when another has left begins as all do, wherever it lies in memory."""
    leader, _ = await World(0).two()
    await history(leader, 3, 5)
    assert {leader.point(0, who=object()) for _ in range(50)} == {READER}


@in_loop
async def test_what_is_flushed_is_served_and_nothing_else() -> None:
    """C1: a broker that does not lead serves up to `flushed`, then sends readers back; when there is more, more."""
    world = World(0)
    leader, reader = await world.two()
    await history(leader, 2, 2)
    await fill(leader.partition, 2, SIZE, 4)
    found = await reader.read(1)
    assert (offsets(found), found.high_watermark, found.last_stable_offset, found.log_start_offset) == (
        [1, 2, 3], 4, 4, 0,
    )  # fmt: skip
    assert offsets(await reader.read(0, limit=2 * SIZE + 1000)) == [0, 1]
    for offset in (4, 5, 6, 99):
        assert is_sent_back(await reader.read(offset), leader)
    await leader.partition.flush()
    assert is_sent_back(await reader.read(4), leader)  # It was looked at just now.
    world.clock.advance(1.1)
    assert offsets(await reader.read(4)) == [4, 5]
    assert reader.counts.served_size > 7 * SIZE
    assert reader.counts.sent_back == {"end": 5, "failed": 0}


@in_loop
async def test_only_what_is_decided_is_served_to_committed_reads() -> None:
    """T2, C1: below the last stable offset, with each aborted transaction that the leader would tell of."""
    world = World(0)
    leader, reader = await world.two()
    log, drawn = leader.partition, random.Random(1)
    sequences = dict.fromkeys(range(7, 11), 0)
    for number in sorted(sequences):
        await log.append(from_producer(0, b"x", number=number, transactional=True))
        sequences[number] = 1
    for step in range(60):
        number = drawn.choice([7, 8, 9])  # The fourth one's transaction stays open for long.
        for _ in range(drawn.randrange(3)):
            await log.append(from_producer(sequences[number], b"y", number=number, transactional=True))
            sequences[number] += 1
        log.append_marker(marker(number, abort=drawn.random() < 0.5))
        if step == 40:
            log.append_marker(marker(10, abort=True))
            sequences[10] = 1
            await log.append(from_producer(1, b"z", number=10, transactional=True))
        await log.acknowledged(log.marks.log_end)
        if drawn.random() < 0.3:
            await log.flush()
        if step in (20, 39, 59):
            await log.flush()
            world.clock.advance(10.0)
            stable = log.manifest.last_stable
            assert stable < log.manifest.flushed
            for start in range(0, stable, 5):
                mine, theirs = (
                    await reader.read(start, committed=True),
                    await log.read(start, None, ALL, committed=True),
                )
                assert b"".join(map(bytes, mine.records)) == b"".join(map(bytes, theirs.buffers))
                told = [(each.producer_id, each.first_offset) for each in mine.aborted or ()]
                assert told == [(each.producer_id, each.first_offset) for each in theirs.aborted]
                assert mine.last_stable_offset == stable
            for offset in (stable, log.manifest.flushed - 1):
                assert is_sent_back(await reader.read(offset, committed=True), leader)
                assert leader.point(offset, committed=True) == -1
            assert offsets(await reader.read(stable))[0] == stable
    assert stable > 5


@in_loop
async def test_a_leader_points_nobody_to_what_is_not_decided() -> None:
    """T2, C1: a transaction that is open for long keeps committed readers with the leader, and no others."""
    leader, _ = await World(0).two()
    await history(leader, 1)
    await leader.partition.append(from_producer(0, b"x", transactional=True))
    await history(leader, 2, 5)
    assert leader.partition.manifest.last_stable == 1
    assert [leader.point(at, who=str(at), committed=True) for at in range(4)] == [READER, -1, -1, -1]
    assert [leader.point(at) for at in range(4)] == [READER] * 4


@in_loop
async def test_records_that_are_let_go_are_for_the_leader_to_tell() -> None:
    """L3, C1: no broker but the leader says OFFSET_OUT_OF_RANGE, and none serves what was deleted for long."""
    world = World(0)
    leader, reader = await world.two()
    await history(leader, 2, 2)
    assert offsets(await reader.read(0))[0] == 0
    await leader.partition.delete_records(2)
    world.clock.advance(5.1)
    assert is_sent_back(await reader.read(0), leader)
    assert offsets(await reader.read(2)) == [2, 3]
    assert leader.point(0) == -1


@in_loop
async def test_a_store_that_is_away_and_damage_send_readers_back() -> None:
    """E1, C1: counted, told once, and what is sound in front of damage is served."""
    world = World(0)
    leader, reader = await world.two()
    await history(leader, 2, 2)

    def away(_: Call) -> Fault:
        return FailBefore()

    world.faults = away
    assert is_sent_back(await reader.read(0), leader)
    world.faults = lambda _: None
    second = leader.partition.manifest.segments[1]
    data = bytearray(world.objects.get(second.name))
    data[len(data) // 2] ^= 1
    world.objects.delete(second.name)
    world.objects.put_if_absent(second.name, [bytes(data)])
    assert offsets(await reader.read(0)) == [0, 1, 2]
    assert is_sent_back(await reader.read(3), leader)
    assert reader.counts.sent_back == {"end": 0, "failed": 2}
    assert reader.life.logs.stat().damage.met == 2
    world.faults = away
    world.clock.advance(6.0)
    assert is_sent_back(await reader.read(0), leader)  # Whether it is still so, nobody can say.


@in_loop
async def test_epochs_are_held_against_the_leaders() -> None:
    """K1, C1: a reader with an older or newer leader epoch is told, as by a leader."""
    leader, reader = await World(0).two()
    await history(leader, 2, 2)
    epoch = leader.partition.epochs.current
    assert (await reader.read(0, epoch=epoch)).records
    assert (await reader.read(0, epoch=epoch + 1)).error_code == Code.UNKNOWN_LEADER_EPOCH
    if epoch:
        assert (await reader.read(0, epoch=epoch - 1)).error_code == Code.FENCED_LEADER_EPOCH
    await leader.life.topics.hand_over(HOME, reader.life.life)
    await reader.life.follow()
    await reader.life.topics.hand_over(HOME, leader.life.life)
    await leader.life.follow()
    await reader.life.follow()
    assert (await reader.read(0, epoch=epoch)).error_code == Code.FENCED_LEADER_EPOCH


@in_loop
async def test_what_is_open_is_bounded_and_let_go() -> None:
    """C8: of a partition that we lead, and of a topic that is deleted, nothing stays open."""
    leader, reader = await World(0).two()
    await history(leader, 2, 2)
    await reader.read(0)
    assert reader.reads.open_count == 1
    await leader.life.topics.hand_over(HOME, reader.life.life)
    await reader.life.follow()
    assert reader.reads.open_count == 0
    await reader.life.topics.hand_over(HOME, leader.life.life)
    await leader.life.follow()
    await reader.life.follow()
    await reader.read(0)
    led = reader.life.topics.get(NAME).logs[0]
    assert isinstance(led, LedElsewhere)
    for number in range(READERS_MAX + 5):
        await reader.reads.read(
            PartitionId(TOPIC, PARTITIONS + number), led, wanted(0), ALL, first=True, committed=False
        )
    assert reader.reads.open_count == READERS_MAX
    reader.life.metadata.commit(delete_topic(TOPIC))
    await reader.life.follow()
    assert reader.reads.open_count == 0


def test_every_broker_gives_the_same_answer_who_reads_for_a_rack() -> None:
    """C1: by the metadata alone; partitions are spread over the brokers of a rack, and each rack has one."""
    rows = {1: "a", 2: "b", 3: "b", 4: "", 5: "c"}
    by_broker = {broker: BrokerLife(broker, broker, "", "", "", {}, rack=rack) for broker, rack in rows.items()}
    lives = Lives(last=5, by_broker=by_broker)
    views = [Racks(lambda: lives, broker, rack, are_many=True) for broker, rack in rows.items()]
    homes = [PartitionId(TOPIC, number) for number in range(40)]
    led = [1 + number % 5 for number in range(len(homes))]
    told = views[0].readers(TOPIC, led)
    assert all(each.readers(TOPIC, led) == told for each in views)
    for home, leader, readers in zip(homes, led, told, strict=True):
        assert [rows[each] for each in readers] == sorted({"a", "b", "c"} - {rows[leader]})
        for view in views:
            asked = [view.reader(home, leader, rack) for rack in ("a", "b", "c", "", "d")]
            assert [each for each in asked if each is not None] == readers
    assert {views[0].reader(home, 1, "b") for home in homes} == {2, 3}
    alone = Racks(lambda: lives, 1, "a", are_many=False)
    assert alone.readers(TOPIC, led) == [[]] * len(led)
    assert (alone.of(1), alone.of(4), alone.of(9)) == ("a", None, None)


@in_loop
async def test_the_rack_is_told_from_the_store_alone() -> None:
    """C12, in part: `cluster status` names it; a life of an earlier release has none."""
    world = World(0)
    leader, _ = await world.two()
    found = look_at_members(world.objects, lambda _: None)
    assert {each["broker"]: each["rack"] for each in found["brokers"]} == {leader.life.broker: FAR, READER: NEAR}
    row = leader.life.metadata.metadata.lives.by_broker[READER].to_row()
    assert BrokerLife.from_row(READER, row).rack == row.pop("rack") == NEAR
    assert BrokerLife.from_row(READER, row).rack == ""
    assert "rack" not in BrokerLife.from_row(READER, row).to_row()


def test_an_answer_that_sends_a_session_elsewhere_is_never_left_out() -> None:
    """K1: also where the marks are those that it has heard of."""
    session = FetchSession()
    assert [session.changed(NAME, Fetched(0, 0, 5, 5, 0)) for _ in range(2)] == [True, False]
    assert session.changed(NAME, Fetched(0, 0, 5, 5, 0, preferred_read_replica=READER))
    assert session.changed(NAME, Fetched(0, 0, 5, 5, 0, preferred_read_replica=READER))
