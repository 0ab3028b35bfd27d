"""Share groups in a whole broker on a simulated disk: the power goes at every call, and what was answered holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.broker.wire import batch
from tests.coordinator.transaction_world import TOPIC, TransactionWorld
from tests.log.log_world import in_loop
from tests.sim import frames

from holdfast.broker.topics import SHARE_STATE_TOPIC
from holdfast.coordinator.group.errors import GroupNotFound, TooManyGroups
from holdfast.coordinator.group.topic_view import KnownTopic, NoTopics
from holdfast.coordinator.share.group import ShareBeat, assign
from holdfast.errors import HoldfastError
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.api import Key
from holdfast.record.build import build
from holdfast.record.records import Record

ACCEPT, RELEASE, REJECT = 1, 2, 3
COUNT = 4
CALLS = 14


class Member:
    """One member, which remembers what it was answered."""

    def __init__(self, house: TransactionWorld, name: str) -> None:
        self.house = house
        self.name = name
        self.epoch = 0
        self.said: dict[int, int] = {}  # Verdicts that were sent, …
        self.answered: dict[int, int] = {}  # … and those that were taken.

    async def join(self) -> int:
        fields = {"group_id": "g", "member_id": self.name, "member_epoch": 0, "subscribed_topic_names": [TOPIC]}
        answer = await self.house.ask(frames.request(Key.SHARE_GROUP_HEARTBEAT, 1, fields))
        return int(answer.error_code)

    async def fetch(self) -> dict[int, int]:
        """Delivery counts by offset."""
        fields = {"max_wait_ms": 0, "max_records": 100, "forgotten_topics_data": [], "topics": self._topics([])}
        answer = await self._ask(Key.SHARE_FETCH, fields)
        found = [row for topic in answer.responses for part in topic.partitions for row in part.acquired_records]
        return {offset: row.delivery_count for row in found for offset in range(row.first_offset, row.last_offset + 1)}

    async def judge(self, verdicts: dict[int, int]) -> None:
        self.said |= verdicts
        acks = [
            {"first_offset": offset, "last_offset": offset, "acknowledge_types": [said]}
            for offset, said in verdicts.items()
        ]
        answer = await self._ask(Key.SHARE_ACKNOWLEDGE, {"topics": self._topics(acks)})
        if answer.error_code == 0 and answer.responses[0].partitions[0].error_code == 0:
            self.answered |= verdicts

    async def _ask(self, key: Key, fields: dict[str, Any]) -> Any:
        named = {"group_id": "g", "member_id": self.name, "share_session_epoch": self.epoch}
        self.epoch += 1
        return await self.house.ask(frames.request(key, 1, {**named, **fields}))

    def _topics(self, acks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        topic_id = self.house.opened.context.topics.get(TOPIC).topic.topic_id
        return [{"topic_id": topic_id, "partitions": [{"partition_index": 0, "acknowledgement_batches": acks}]}]


async def prepared(seed: int) -> tuple[TransactionWorld, Member]:
    """A group that has begun, and then some records."""
    house = TransactionWorld(seed)
    await house.open()
    member = Member(house, "a")
    assert await member.join() == 0
    assert await member.fetch() == {}
    await house.partitions()[0].append(batch(*(b"%d" % number for number in range(COUNT))))
    return house, member


@in_loop
async def test_a_power_cut_at_every_call() -> None:
    """K8: what was answered holds, what was not may have happened, and no record is lost or delivered for nothing."""
    taken: Counter[int] = Counter()
    for calls in range(CALLS):
        house, member = await prepared(calls)
        assert await member.fetch() == dict.fromkeys(range(COUNT), 1)
        house.disk.crash_at = house.disk.calls + calls
        for verdicts in ({0: ACCEPT, 1: RELEASE}, {2: REJECT}):
            await member.judge(verdicts)
        house.disk.crash_at = None
        house.disk.power_cut()
        await house.open()
        found = await Member(house, "b").fetch()
        taken[len(member.answered)] += 1
        for offset, verdict in member.answered.items():
            assert found.get(offset) == (2 if verdict == RELEASE else None), (calls, offset, found)
        for offset in set(range(COUNT)) - member.said.keys():
            assert found.get(offset) == 1, "a record that nobody has judged was lost"
    assert taken[0], "the power never went before the first answer"
    assert taken[3], "it always did"


@in_loop
async def test_where_a_group_begins_is_kept() -> None:
    """K8: a group that begins at the end keeps that place over a power cut, though nothing was acknowledged."""
    house, _ = await prepared(1)
    house.disk.power_cut()
    await house.open()
    assert await Member(house, "b").fetch() == dict.fromkeys(range(COUNT), 1)


@in_loop
async def test_a_lock_that_runs_out_counts_as_a_delivery() -> None:
    """K8: also over a power cut; after as many deliveries as are allowed the record is archived."""
    house, member = await prepared(1)
    for delivery in range(1, 6):
        assert await member.fetch() == dict.fromkeys(range(COUNT), delivery)
        house.clock.advance(31)
        house.opened.context.shares.timers.run_due()
        partition = next(iter(house.opened.context.shares.find("g").partitions.values()))
        await partition.durable()
        if delivery == 3:
            house.disk.power_cut()
            await house.open()
            member = Member(house, "b")
    assert await member.fetch() == {}
    assert partition.rules.start == COUNT
    counts = house.opened.context.shares.counts
    assert (counts.timed_out, counts.given_up) == (2 * COUNT, COUNT)  # Since the power cut.


@in_loop
async def test_a_silent_member_gives_back_what_it_had() -> None:
    """K8: when its session is over it is no member any more."""
    house, member = await prepared(1)
    await house.opened.context.topics.change_dynamic("group", "g", lambda _: {"share.record.lock.duration.ms": "60000"})
    assert await member.fetch() == dict.fromkeys(range(COUNT), 1)
    house.clock.advance(46)
    house.opened.context.shares.timers.run_due()
    assert not house.opened.context.shares.find("g").rules.members
    assert await Member(house, "b").fetch() == dict.fromkeys(range(COUNT), 2)


@in_loop
async def test_a_deleted_group_stays_deleted() -> None:
    """K8: with all it knew, over a power cut; its configs belong to the name and stay."""
    house, _ = await prepared(1)
    shares = house.opened.context.shares
    configs = {"share.auto.offset.reset": "earliest"}
    await house.opened.context.topics.change_dynamic("group", "g", lambda _: configs)
    await shares.beat("g", ShareBeat(member_id="a", epoch=-1))
    await shares.delete_group("g")
    house.disk.power_cut()
    await house.open()
    shares = house.opened.context.shares
    with pytest.raises(GroupNotFound):
        shares.find("g")
    assert house.opened.context.topics.dynamic.of("group", "g") == configs
    member = Member(house, "b")
    assert await member.join() == 0
    assert await member.fetch() == dict.fromkeys(range(COUNT), 1)


@in_loop
async def test_a_corrupt_internal_partition_stops_only_its_groups() -> None:
    """K8, D5: who asks for a group in it hears of that; the broker starts, and serves everything else."""
    house, _ = await prepared(1)
    internal = house.opened.context.topics.get(SHARE_STATE_TOPIC)
    for log in internal.logs:
        assert isinstance(log, PartitionLog)
        await log.append(build([Record(b"\0\1g", b"no state", 0)]))
    house.disk.power_cut()
    await house.open()
    with pytest.raises(HoldfastError, match="share groups"):
        house.opened.context.shares.find("g")
    assert await house.partitions()[0].append(batch(b"more"))


@in_loop
async def test_a_flood_of_groups_gives_way() -> None:
    """K8, K10: a full table makes room by what nobody uses; a group that reads something is never given up."""
    house, member = await prepared(1)
    shares = house.opened.context.shares
    shares.settings = replace(shares.settings, groups_max=2)
    for name in ("flood", "new"):
        await shares.beat(name, ShareBeat(member_id="x", epoch=0, topics=frozenset({TOPIC})))
        await shares.beat(name, ShareBeat(member_id="x", epoch=-1))
    assert {each.rules.id for each in shares} == {"g", "new"}
    await shares.beat("new", ShareBeat(member_id="x", epoch=0, topics=frozenset({TOPIC})))
    with pytest.raises(TooManyGroups):
        await shares.beat("more", ShareBeat(member_id="x", epoch=0, topics=frozenset({TOPIC})))
    assert await member.fetch() == dict.fromkeys(range(COUNT), 1)


class Two(NoTopics):
    """Two topics, of one and of three partitions."""

    def find(self, name: str) -> KnownTopic | None:
        return {"one": KnownTopic("one", UUID(int=1), 1), "three": KnownTopic("three", UUID(int=3), 3)}.get(name)


@pytest.mark.parametrize("members", [1, 2, 3, 5, 9])
def test_everybody_reads_and_everything_is_read(members: int) -> None:
    """K8: also where there are more members than partitions; no member has two more than another."""
    wanted = {f"m{number}": frozenset({"one", "three", "absent"}) for number in range(members)}
    found = assign(wanted, Two())
    sizes = [len(each) for each in found.values()]
    assert len(frozenset().union(*found.values())) == 4
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
