"""Share groups over several lives: whoever leads and coordinates, what was accepted is not delivered again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.cluster.leaders_world import NAME, TOPIC
from tests.cluster.shares_world import GROUP, LOCK_MS, ShareLife, SharesWorld
from tests.cluster.transactions_world import STATES, WorldLink
from tests.log.log_world import batch, in_loop, turns

from holdfast.broker.peers.link import PeerSilent
from holdfast.broker.topics import OFFSETS_TOPIC
from holdfast.cluster.lives import BrokerLife, end
from holdfast.coordinator.group.errors import GroupNotFound
from holdfast.coordinator.runtime.errors import NotCoordinator
from holdfast.coordinator.share.errors import InvalidRecordState, ShareLeaderOld, ShareStateOld
from holdfast.coordinator.share.partition import AvailableRange, Image, RecordVerdict
from holdfast.coordinator.share.records import StoredState
from holdfast.errors import Fenced, HoldfastError
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.api import Key
from holdfast.types import Buffer, PartitionId

SEEDS = 6
STEPS = 500
FAR = 0  # The partition that the second life leads; the coordinator is the first one's.
HOME = PartitionId(TOPIC, FAR)
ACCEPT, RELEASE = RecordVerdict.ACCEPT, RecordVerdict.RELEASE


@pytest.mark.parametrize("first", range(0, 18, SEEDS))
@in_loop
async def test_what_was_accepted_is_not_delivered_again(first: int) -> None:
    """K8, C7: coordinators and partitions move, lives are ended and killed, requests get lost and come late."""
    for seed in range(first, first + SEEDS):
        await SharesWorld(seed).run(STEPS)


class Two:
    """The first life coordinates the group, the second leads the partition that it reads."""

    def __init__(self, world: SharesWorld, first: ShareLife, second: ShareLife) -> None:
        self.world, self.first, self.second = world, first, second

    async def follow(self) -> None:
        for life in (self.first, self.second):
            await life.follow()
            await life.follow_shares()

    async def move(self, home: PartitionId, giver: ShareLife, taker: ShareLife) -> None:
        await giver.topics.hand_over(home, taker.life)
        await self.follow()

    async def produce(self, count: int) -> None:
        await self.second.topics.get(NAME).partition(FAR).append(batch(*(b"%d" % each for each in range(count))))

    async def move_coordinator(self) -> None:
        await self.move(PartitionId(STATES, self.first.shares.partition_of(GROUP)), self.first, self.second)

    async def take_over(self) -> None:
        """The first life ends the second, and has everything; the second one does not know."""
        self.first.metadata.commit(end(self.first.metadata.refresh().lives.by_broker[self.second.broker]))
        await self.first.care()
        await self.first.follow()
        await self.first.follow_shares()


async def two() -> Two:
    world = SharesWorld(0)
    world.lost_share = 0.0
    await world.begin(faults=False)
    first, second = world.all_lives[:2]
    await first.care()
    found = Two(world, first, second)
    await found.follow()
    for home in [PartitionId(TOPIC, at) for at in range(3)] + [PartitionId(STATES, at) for at in range(2)]:
        giver, taker = (first, second) if home == HOME else (second, first)
        if giver.metadata.metadata.leads.of(home).life == giver.life:
            await found.move(home, giver, taker)
    await first.beat("a")
    return found


def offsets(given: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Offsets, and how often they were delivered."""
    return [(offset, count) for first, stop, count in given for offset in range(first, stop)]


@in_loop
async def test_the_next_leader_goes_on_where_the_last_one_was() -> None:
    """K8: accepted records are done with; released ones have their count; locks of the last leader are gone."""
    both = await two()
    await both.produce(6)
    assert offsets(await both.second.given("a", FAR, 2)) == [(0, 1), (1, 1)]
    await both.second.judge("a", FAR, [(0, 2, 1)], ACCEPT)
    assert offsets(await both.second.given("a", FAR, 2)) == [(2, 1), (3, 1)]
    await both.second.judge("a", FAR, [(2, 3, 1)], RELEASE)
    await both.move(HOME, both.second, both.first)
    with pytest.raises(Fenced):
        await both.second.given("a", FAR)
    with pytest.raises(Fenced):
        await both.second.judge("a", FAR, [(3, 4, 1)], ACCEPT)
    assert offsets(await both.first.given("b", FAR, 10)) == [(2, 2), (3, 1), (4, 1), (5, 1)]


@in_loop
async def test_a_leader_that_is_not_the_latest_is_refused() -> None:
    """K8: it does not know, and gives out what it has; nobody is told that a verdict is taken."""
    both = await two()
    await both.produce(4)
    given = await both.second.given("a", FAR, 2)
    await both.take_over()
    taken = await both.first.given("b", FAR, 4)
    assert offsets(taken) == [(0, 1), (1, 1), (2, 1), (3, 1)]
    await both.first.judge("b", FAR, taken, ACCEPT)
    with pytest.raises(HoldfastError) as refused:
        await both.second.judge("a", FAR, given, RELEASE)
    assert not isinstance(refused.value, InvalidRecordState)
    assert await both.first.given("a", FAR) == []


@in_loop
async def test_a_later_leader_is_known_to_the_next_coordinator() -> None:
    """K8: that a leader has read a state is durable before it is answered: no earlier one is heard, by whomever."""
    both = await two()
    await both.produce(1)
    await both.second.given("a", FAR)
    state = await both.first.shares.read_state(GROUP, HOME, 1_000)
    await both.move_coordinator()
    for leader, failure in ((999, ShareLeaderOld), (1_000, ShareStateOld)):
        late = StoredState(Image(1, ()), state.state_epoch - 1, leader)
        with pytest.raises(failure):
            await both.second.shares.write_state(GROUP, HOME, late)
    with pytest.raises(ShareLeaderOld):
        await both.second.shares.read_state(GROUP, HOME, 999)
    assert (await both.second.shares.read_state(GROUP, HOME, 1_000)).state_epoch == state.state_epoch + 1


@in_loop
async def test_the_coordinator_moves_while_members_read() -> None:
    """K8: the leader finds it, and what was accepted before and behind the move is done with."""
    both = await two()
    await both.produce(4)
    await both.second.judge("a", FAR, await both.second.given("a", FAR, 2), ACCEPT)
    given = await both.second.given("a", FAR, 1)
    await both.move_coordinator()
    with pytest.raises(NotCoordinator):
        await both.first.beat("a")
    await both.second.beat("a")
    await both.second.judge("a", FAR, given, ACCEPT)
    await both.move(HOME, both.second, both.first)
    assert offsets(await both.first.given("a", FAR, 9)) == [(3, 1)]


class HeldLink(WorldLink):
    """What is told arrives when it may, and whoever tells it hears nothing."""

    def __init__(self, world: SharesWorld) -> None:
        super().__init__(world)
        self.is_held = True

    async def exchange(self, life: BrokerLife, key: Key, frame: Sequence[Buffer], seconds: float) -> memoryview:
        data = b"".join(frame)[4:]
        if key == Key.WRITE_SHARE_GROUP_STATE and self.is_held:
            self.is_held = False
            self._world.late.append((life, data))
            raise PeerSilent(life, "it is still under way")
        return await self.deliver(life, data)


@in_loop
async def test_a_state_that_comes_late_counts_no_more() -> None:
    """K8: its leader has asked anew since. Otherwise what was accepted meanwhile would be delivered again."""
    both = await two()
    await both.produce(4)
    given = await both.second.given("a", FAR, 1)
    both.second.peers._link = link = HeldLink(both.world)
    await both.second.judge("a", FAR, given, ACCEPT)
    assert not link.is_held
    await both.second.judge("a", FAR, await both.second.given("a", FAR, 1), ACCEPT)
    both.first.door._last.clear()  # As where it coordinates again after another did: nobody has counted the requests.
    await both.world.deliver_late()
    await turns(50)
    await both.move(HOME, both.second, both.first)
    assert offsets(await both.first.given("a", FAR, 9)) == [(2, 1), (3, 1)]


@in_loop
async def test_verdicts_wait_until_the_coordinator_has_them() -> None:
    """K8: while it cannot be reached nobody is told that they are taken."""
    both = await two()
    await both.produce(1)
    given = await both.second.given("a", FAR, 1)
    both.world.lost_share = 1.0
    judging = asyncio.ensure_future(both.second.judge("a", FAR, given, ACCEPT))
    await turns(200)
    assert not judging.done()
    both.world.lost_share = 0.0
    both.world.late.clear()
    await judging
    assert both.first.shares.find(GROUP).partitions[HOME].rules.start == 1


@in_loop
async def test_nothing_is_given_out_on_the_way_to_another() -> None:
    """K8: a read that began before the partition was given away gives out nothing behind it."""
    both = await two()
    await both.produce(1)
    log = both.second.topics.get(NAME).partition(FAR)
    partition = await both.second.led.partition(GROUP, HOME, log)
    await both.second.topics._show(HOME, both.second.topics._led_by(HOME))
    assert log.is_alive
    assert partition.acquire("a", AvailableRange(0, 1), 1, whole=False) == []


@in_loop
async def test_a_lock_runs_out_at_the_leader() -> None:
    """K8: what a member holds for too long is free, and the delivery counts, also for the next leader."""
    both = await two()
    await both.produce(1)
    given = await both.second.given("a", FAR)
    both.world.clock.advance(LOCK_MS / 1000 + 1)
    await both.second.tick()
    with pytest.raises(InvalidRecordState):
        await both.second.judge("a", FAR, given, ACCEPT)
    await both.second.led.partition(GROUP, HOME, both.second.topics.get(NAME).partition(FAR))
    await both.move(HOME, both.second, both.first)
    assert offsets(await both.first.given("b", FAR)) == [(0, 2)]


@in_loop
async def test_an_operator_lets_a_group_begin_elsewhere() -> None:
    """K8: the leader hears of it with the next session, and no verdict from before counts."""
    both = await two()
    await both.produce(4)
    given = await both.second.given("a", FAR, 1)
    for member in list(both.first.shares.find(GROUP).rules.members):
        both.first.shares.find(GROUP).rules.remove([member])
    await both.first.shares.alter_offsets(GROUP, {HOME: 2})
    with pytest.raises(ShareStateOld):
        await both.second.judge("a", FAR, given, ACCEPT)
    assert offsets(await both.second.given("a", FAR, 9)) == [(2, 1), (3, 1)]
    log = both.second.topics.get(NAME).partition(FAR)
    both.second.led.release(GROUP, "a")
    await both.second.led.partition(GROUP, HOME, log)  # That is durable.
    await both.first.shares.alter_offsets(GROUP, {HOME: 1})
    await both.second.led.expect(GROUP, [log])
    assert offsets(await both.second.given("a", FAR, 9)) == [(1, 1), (2, 1), (3, 1)]


@in_loop
async def test_a_group_that_is_gone_reads_nothing() -> None:
    """K8: neither does one that never was; a new one of the same name begins anew."""
    both = await two()
    await both.produce(2)
    await both.second.judge("a", FAR, await both.second.given("a", FAR, 1), ACCEPT)
    both.first.shares.find(GROUP).rules.remove(["a"])
    await both.first.shares.delete_group(GROUP)
    log = both.second.topics.get(NAME).partition(FAR)
    await both.second.led.expect(GROUP, [log])
    for group in (GROUP, "never"):
        with pytest.raises(GroupNotFound):
            await both.second.led.partition(group, HOME, log)
    await both.first.beat("b")
    assert offsets(await both.second.given("b", FAR, 9)) == [(0, 1), (1, 1)]


@in_loop
async def test_groups_are_read_back_beside_the_others() -> None:
    """K8: by whoever has their internal partition next, and by nobody else."""
    both = await two()
    await both.produce(1)
    await both.second.judge("a", FAR, await both.second.given("a", FAR, 1), ACCEPT)
    epoch = both.first.shares.find(GROUP).rules.epoch
    await both.move_coordinator()
    found = both.second.shares.find(GROUP)
    assert (found.rules.epoch, found.rules.members) == (epoch, {})
    assert found.partitions[HOME].rules.start == 1
    assert list(both.first.shares) == []
    number = both.second.shares.partition_of(GROUP)
    assert isinstance(both.second.topics.get(OFFSETS_TOPIC).logs[number], PartitionLog)
