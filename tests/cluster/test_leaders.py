"""Leaders by partition, on the logs: what was acknowledged is there, whoever leads, hands over, dies or is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import pytest
from tests.cluster.leaders_world import PARTITIONS, TOPIC, LeadersWorld, LifeOfBroker
from tests.log.log_world import batch, fill, in_loop, numbered, read_all, turns

from holdfast.cluster.leads import Lead
from holdfast.cluster.lives import end
from holdfast.errors import Fenced
from holdfast.io.calls import InlineCalls
from holdfast.io.objects.faulty import Call, FailBefore, FailEarly, Fault
from holdfast.log.rounds.series import every_series
from holdfast.segment.errors import HigherEpoch
from holdfast.segment.manifest.load import load_manifest
from holdfast.types import PartitionId

P = ParamSpec("P")
T = TypeVar("T")

SEEDS = 12
STEPS = 300
HOME = PartitionId(TOPIC, 0)


@pytest.mark.parametrize("first", range(0, 36, SEEDS))
@in_loop
async def test_what_was_acknowledged_is_there_once_whoever_led(first: int) -> None:
    """C2, C3, C5, in part: lives come, hand over, are ended and killed; answers get lost, requests arrive late."""
    for seed in range(first, first + SEEDS):
        await LeadersWorld(seed).run(STEPS)


async def two_lives() -> tuple[LeadersWorld, LifeOfBroker, LifeOfBroker]:
    """The first leads everything."""
    world = LeadersWorld(0)
    await world.begin(faults=False)
    first = world.lives[0]
    await first.care()
    await first.follow()
    second = LifeOfBroker(world, 9)
    await second.begin()
    assert len(first.open) == PARTITIONS
    return world, first, second


@in_loop
async def test_what_a_life_left_is_settled_and_led_by_another() -> None:
    """C2, in part: nothing was flushed; whoever gets it opens what is in the store, and goes on in the next epoch."""
    world, lost, heir = await two_lives()
    await fill(lost.open[HOME], 5)
    before = lost.open[HOME].epochs.current
    lost.kill()
    heir.metadata.commit(end(heir.metadata.refresh().lives.by_broker[lost.broker]))
    await heir.care()
    await heir.follow()
    assert load_manifest(world.objects, HOME).flushed == 5
    assert await read_all(heir.open[HOME]) == numbered(0, 5)
    assert heir.metadata.metadata.leads.of(HOME) == Lead(heir.life, before + 1)
    assert heir.leadership.settled_records == 5


@in_loop
async def test_a_life_that_was_settled_acknowledges_nothing() -> None:
    """C3, in part: it has not looked at the metadata, and meets the seal."""
    _, zombie, heir = await two_lives()
    old = zombie.open[HOME]
    await fill(old, 2)
    heir.metadata.commit(end(heir.metadata.refresh().lives.by_broker[zombie.broker]))
    await heir.care()
    await heir.follow()
    with pytest.raises(Fenced):
        await old.append(batch(b"ghost"))
    await fill(heir.open[HOME], 1, start=2)
    assert await read_all(heir.open[HOME]) == numbered(0, 3)


@in_loop
async def test_a_life_that_was_ended_before_its_first_round_writes_none() -> None:
    """C3, in part: it was given partitions, slept, and its series did not exist: the seal is its first number."""
    world, first, _ = await two_lives()
    late = LifeOfBroker(world, 7)
    await late.join()
    first.metadata.commit(end(first.metadata.refresh().lives.by_broker[7]))
    await first.care()
    with pytest.raises(Fenced):
        await late.open_logs()


@in_loop
async def test_a_series_is_forgotten_when_no_row_names_its_life() -> None:
    """C6, in part: and not before; its number is struck off the lives that are over."""
    world, lost, heir = await two_lives()
    await fill(lost.open[HOME], 3)
    lost.kill()
    heir.metadata.commit(end(heir.metadata.refresh().lives.by_broker[lost.broker]))
    assert dict(heir.metadata.metadata.lives.over) == {lost.life: lost.broker}
    await heir.care()
    assert not heir.metadata.metadata.lives.over
    assert [each.id.life for each in every_series(world.objects) if each.is_forgotten] == [lost.life]


class CountedCalls(InlineCalls):
    """Calls that take some turns of the loop, and how many were under way together."""

    under_way = most = 0

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await turns(3)
            return await super().run(call, *args, **kwargs)
        finally:
            self.under_way -= 1


@in_loop
async def test_partitions_that_come_together_are_opened_together() -> None:
    """C2: who takes over a hundred does not wait for the store a hundred times, one after the other."""
    world, lost, _ = await two_lives()
    for each in lost.open.values():
        await fill(each, 2)
    heir, calls = LifeOfBroker(world, 8), CountedCalls()
    heir.calls = calls
    await heir.begin()
    heir.metadata.refresh()
    for each in heir.metadata.metadata.lives.eldest_first:
        if each.life != heir.life:
            heir.metadata.commit(end(each))
    await heir.care()
    calls.most = 0
    await heir.follow()
    assert len(heir.open) == calls.most == PARTITIONS
    for each in heir.open.values():
        assert await read_all(each) == numbered(0, 2)


async def takeover_requests(stored: int, rounds: int) -> int:
    """How often the store is asked, from the end of a life to when another leads what it led."""
    world, lost, heir = await two_lives()
    for number in range(stored):
        await fill(lost.open[HOME], 1, start=number)
        await lost.open[HOME].flush()
        lost.logs.purge()
    for number in range(rounds):
        await fill(lost.open[HOME], 1, start=stored + number)
    lost.kill()
    heir.metadata.commit(end(heir.metadata.refresh().lives.by_broker[lost.broker]))
    calls: list[Call] = []
    world.faults = calls.append  # None: nothing goes wrong.
    await heir.care()
    await heir.follow()
    count = len(calls)
    assert await read_all(heir.open[HOME]) == numbered(0, stored + rounds)
    return count


@in_loop
async def test_a_takeover_asks_for_rounds_and_not_for_what_is_stored() -> None:
    """C6: ten times as many segments cost no request more, more rounds do. The test of C6."""
    little, much = await takeover_requests(3, 4), await takeover_requests(30, 4)
    assert little == much
    assert await takeover_requests(3, 12) > little


@in_loop
async def test_a_handed_over_partition_is_whole_and_goes_on_elsewhere() -> None:
    """C5, in part: what was under way is acknowledged before, the rest is refused; it may come back."""
    _, first, second = await two_lives()
    old = first.open[HOME]
    await fill(old, 3)
    under_way = asyncio.ensure_future(old.append(batch(b"3.")))
    await turns(1)
    await first.topics.hand_over(HOME, second.life)
    await under_way
    with pytest.raises(Fenced, match="led elsewhere"):
        await old.append(batch(b"ghost"))
    await second.follow()
    assert await read_all(second.open[HOME]) == numbered(0, 4)
    await fill(second.open[HOME], 2, start=4)
    await second.topics.hand_over(HOME, first.life)
    await first.follow()
    assert await read_all(first.open[HOME]) == numbered(0, 6)
    await fill(first.open[HOME], 1, start=6)
    first.kill()
    second.metadata.commit(end(second.metadata.refresh().lives.by_broker[first.broker]))
    await second.care()
    await second.follow()
    assert await read_all(second.open[HOME]) == numbered(0, 7)


@in_loop
async def test_partitions_that_are_given_away_together_go_together() -> None:
    """C5, in part: each version takes some requests; the first goes at once, and all that wait behind it are one."""
    _, first, second = await two_lives()
    homes = sorted(first.open)
    before = first.metadata.metadata.version
    await asyncio.gather(*(first.topics.hand_over(home, second.life) for home in homes))
    assert {first.metadata.metadata.leads.of(home).life for home in homes} == {second.life}
    assert first.metadata.metadata.version == before + 2 < before + len(homes)


@in_loop
async def test_a_partition_that_cannot_be_given_keeps_no_other_from_it() -> None:
    """C5, in part: one of them is for a life that is over."""
    _, first, second = await two_lives()
    for each in first.open.values():
        await fill(each, 2)
    *homes, last = sorted(first.open)
    wrong = first.topics.hand_over(last, second.life + 1)
    await asyncio.gather(*(first.topics.hand_over(home, second.life) for home in homes), wrong)
    await first.follow()
    await second.follow()
    assert list(first.open) == [last]
    assert sorted(second.open) == homes
    for each in (*first.open.values(), *second.open.values()):
        assert await read_all(each) == numbered(0, 2)


@in_loop
async def test_a_leader_has_its_epoch_in_the_manifest_before_it_serves() -> None:
    """C3, in part: whoever led before in a lower one changes nothing any more."""
    world, first, second = await two_lives()
    await first.topics.hand_over(HOME, second.life)
    await second.follow()
    epoch = second.metadata.metadata.leads.of(HOME).epoch
    assert load_manifest(world.objects, HOME).epoch == epoch == second.open[HOME].epochs.current == 1


@in_loop
async def test_what_was_not_followed_to_its_end_is_tried_again() -> None:
    """C5, in part: whoever asked went away in the middle; it is known that something is left, and nothing is then."""
    _, first, second = await two_lives()
    await first.topics.hand_over(HOME, second.life)
    second.metadata.refresh()
    following = asyncio.ensure_future(second.topics.follow())
    await turns(1)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert following.cancelled()
    assert HOME not in second.open
    assert second.topics.is_late
    await second.topics.follow()
    assert HOME in second.open
    assert not second.topics.is_late


@in_loop
async def test_nobody_opens_a_partition_in_an_epoch_that_is_past() -> None:
    """C3, in part: it was given away since the metadata was looked at."""
    _, first, second = await two_lives()
    await first.topics.hand_over(HOME, second.life)
    await second.follow()
    with pytest.raises(HigherEpoch):
        await first.logs.partition(HOME, epoch=0)


@in_loop
async def test_a_partition_whose_giving_has_no_answer_is_served_by_nobody() -> None:
    """C3, C5, in part: the version may arrive at any time; until it is known, it is neither's."""
    world, first, second = await two_lives()
    await fill(first.open[HOME], 1)
    world.faults = lambda call: FailEarly() if call.kind == "put_if_absent" and "meta/" in call.name else None
    giving = asyncio.ensure_future(first.topics.hand_over(HOME, second.life))
    await turns(200)
    assert not giving.done()
    await first.follow()
    assert HOME not in first.open
    world.faults = lambda call: None
    first.wire.arrive()
    await giving
    await first.follow()
    await second.follow()
    assert HOME not in first.open
    assert await read_all(second.open[HOME]) == numbered(0, 1)


@in_loop
async def test_a_partition_that_cannot_be_settled_keeps_its_row_and_nobody_else_waiting() -> None:
    """C2, in part: its manifest cannot be read; it is tried again, at a pace that stays bounded, and then whole."""
    world, lost, heir = await two_lives()
    other = PartitionId(TOPIC, 1)
    await fill(lost.open[HOME], 3)
    await fill(lost.open[other], 2)
    lost.kill()
    heir.metadata.commit(end(heir.metadata.refresh().lives.by_broker[lost.broker]))
    tries = []

    def no_manifest(call: Call) -> Fault | None:
        is_its = call.name.startswith(HOME.manifests)
        tries.extend([call] if is_its else [])
        return FailBefore() if is_its else None

    world.faults = no_manifest
    await heir.care()
    count = len(tries)
    for _ in range(5):
        await heir.care()
    assert len(tries) == count > 0
    await heir.follow()
    assert await read_all(heir.open[other]) == numbered(0, 2)
    assert heir.metadata.metadata.leads.of(HOME).life == lost.life
    assert lost.life in heir.metadata.metadata.lives.over
    world.faults = lambda call: None
    world.clock.advance(60.0)
    await heir.care()
    await heir.follow()
    assert await read_all(heir.open[HOME]) == numbered(0, 3)
    assert not heir.metadata.metadata.lives.over
