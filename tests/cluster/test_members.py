"""Who leads, while brokers die, stop, are cut off and come back: whole clusters in one loop, in simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.cluster.world import SETTINGS, Broker, World

from holdfast.cluster.errors import BrokerLives, SpreadAlready
from holdfast.cluster.leads import spread
from holdfast.cluster.lives import Lives
from holdfast.cluster.member import LifeEnded
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.chance import SeededChance
from holdfast.io.objects import StoreFailed
from holdfast.io.versions import VersionRetries

SEEDS = 40
TAKEOVER_S = 8.0  # A silent leader has been taken over by then, whoever does it.


def lives_in(world: World) -> Lives:
    patience = VersionRetries(world.clock, SeededChance(99), lambda _: None)
    return MetadataLog(world.objects, "c", "", patience, "").metadata.lives


async def three(world: World) -> list[Broker]:
    brokers = []
    for number in (1, 2, 3):
        brokers.append(Broker(world, number))
        await world.pass_time(2.0)
    return brokers


def run(test: Callable[[World], Awaitable[None]], seed: int = 0) -> None:
    async def inside() -> None:
        await test(World(seed))

    asyncio.run(inside())


def test_the_eldest_leads_when_the_leader_is_silent() -> None:
    """C2: one of them, within seconds, and nobody has to be asked whether it is alive."""

    async def go(world: World) -> None:
        first, second, third = await three(world)
        assert [each.leads for each in (first, second, third)] == [True, False, False]
        assert first.was_seen is False
        first.stop()
        await world.pass_time(TAKEOVER_S)
        assert [each.leads for each in (second, third)] == [True, False]
        assert second.was_seen
        assert set(lives_in(world).by_broker) == {2, 3}

    run(go)


def test_brokers_tell_where_their_subscribers_are() -> None:
    """C12, S1: each what it has said, without those who have said nothing yet, or are gone."""

    async def go(world: World) -> None:
        first, second, third = await three(world)
        assert first.member is not None
        assert second.member is not None
        assert third.member is not None
        assert first.member.subscribers() == {}
        first.member.subscribe, second.member.subscribe = "a:1", ""
        assert first.member.subscribers() == {1: "a:1"}
        await world.pass_time(TAKEOVER_S)
        assert first.member.subscribers() == {1: "a:1", 2: ""}
        assert third.member.subscribers() == {1: "a:1"}  # Who waits looks at the leader alone.
        first.stop()
        await world.pass_time(TAKEOVER_S)
        assert 1 not in third.member.subscribers()

    run(go)


def test_a_leader_that_was_stopped_has_no_lease_when_it_goes_on() -> None:
    """C3: it answers nobody before it has seen that others have ended it."""

    async def go(world: World) -> None:
        first, _, _ = await three(world)
        assert first.member is not None
        assert first.member.has_lease(world.clock.boottime())
        first.stop()
        await world.pass_time(SETTINGS.lease_ms / 1000 + 0.1)
        assert not first.member.has_lease(world.clock.boottime())
        await world.pass_time(TAKEOVER_S)
        first.go_on()
        await world.pass_time(3.0)
        assert isinstance(first.failure, LifeEnded)

    run(go)


def test_who_is_not_seen_to_own_the_store_has_no_lease() -> None:
    """C3: that it can say that it lives is not enough."""

    async def go(world: World) -> None:
        first, _, _ = await three(world)
        assert first.member is not None
        seen_at = world.clock.boottime()
        await world.pass_time(SETTINGS.lease_ms / 1000 + 0.1)
        assert not first.member.has_lease(seen_at)

    run(go)


def test_a_leader_that_leaves_is_followed_within_two_looks() -> None:
    """C2: its end is in the metadata."""

    async def go(world: World) -> None:
        first, second, _ = await three(world)
        await first.leave()
        await world.pass_time(2.5)
        assert second.leads
        assert second.was_seen

    run(go)


def test_nobody_takes_over_from_a_store_that_answers_nobody() -> None:
    """C2: the leader is the same when it is back."""

    async def go(world: World) -> None:
        brokers = await three(world)
        for each in brokers:
            each.wire.is_cut = True
        await world.pass_time(600.0)
        for each in brokers:
            each.wire.is_cut = False
        await world.pass_time(TAKEOVER_S)
        assert [each.leads for each in brokers] == [True, False, False]
        assert not any(each.failure for each in brokers)

    run(go)


def test_a_leader_that_hears_nothing_of_the_store_is_taken_over() -> None:
    """C2: what it says arrives, but it does not know, and answers nobody: it must not count as alive."""

    async def go(world: World) -> None:
        first, second, _ = await three(world)
        first.wire.is_deaf = True
        await world.pass_time(TAKEOVER_S)
        assert first.member is not None
        assert not first.member.has_lease(world.clock.boottime())
        assert second.leads

    run(go)


def test_an_observer_that_slept_takes_nobody_over() -> None:
    """C2: the leader said nothing to it for an hour, because it did not listen."""

    async def go(world: World) -> None:
        first, second, _ = await three(world)
        second.stop()
        await world.pass_time(3.0)
        second.go_on()
        await world.pass_time(TAKEOVER_S)
        assert first.leads
        assert not second.leads

    run(go)


def test_a_broker_that_comes_back_to_its_place_does_not_wait_for_itself() -> None:
    """C2: its directory's lock says that its last life is over."""

    async def go(world: World) -> None:
        first = Broker(world, 1)
        await world.pass_time(1.0)
        first.stop()
        again = Broker(world, 1)
        await world.pass_time(1.0)
        assert again.leads
        assert lives_in(world).leader == 2

    run(go)


def test_a_number_that_lives_elsewhere_is_refused_and_one_that_is_silent_is_not() -> None:
    """C12: whoever has it is heard."""

    async def go(world: World) -> None:
        first = Broker(world, 1)
        await world.pass_time(1.0)
        other = Broker(world, 1, "elsewhere")
        await world.pass_time(TAKEOVER_S)
        assert isinstance(other.failure, BrokerLives)
        first.stop()
        other = Broker(world, 1, "elsewhere")
        await world.pass_time(TAKEOVER_S + 3.0)
        assert other.leads

    run(go)


def test_the_leader_ends_others_that_fall_silent() -> None:
    """C12: clients are not told of them for ever."""

    async def go(world: World) -> None:
        first, second, third = await three(world)
        third.stop()
        await world.pass_time(60.0)
        assert first.leads
        assert set(lives_in(world).by_broker) == {1, 2}
        assert first.member is not None
        assert [number for number, _ in first.member.others("L")] == [2]
        assert second.failure is None

    run(go)


def numbers_told_by(broker: Broker) -> set[int]:
    """Of the other brokers, as clients of this one are told of them; after whoever shares its metadata has looked."""
    assert broker.member is not None
    patience = VersionRetries(broker.world.clock, SeededChance(98), lambda _: None)
    broker.member.share(MetadataLog(broker.world.objects, "c", "", patience, ""))
    return {number for number, _ in broker.member.others("L")}


@pytest.mark.parametrize("ends", ["leaves", "is silent"])
def test_no_answer_is_without_a_broker_that_has_just_gone(ends: str) -> None:
    """C2, C5: all tell of it for a while, from the version on that ends it, and so does who starts then."""

    async def go(world: World) -> None:
        first, second, third = await three(world)
        if ends == "leaves":
            await third.leave()
        else:
            third.stop()
            while 3 in lives_in(world).by_broker:
                await world.pass_time(0.2)
        assert numbers_told_by(first) == {2, 3}
        assert numbers_told_by(second) == {1, 3}
        fourth = Broker(world, 4)
        await world.pass_time(1.0)
        assert numbers_told_by(fourth) == {1, 2, 3}
        await world.pass_time(40.0)
        assert numbers_told_by(first) == {2, 4}
        assert numbers_told_by(fourth) == {1, 2}

    run(go)


def test_a_broker_that_is_back_elsewhere_is_told_of_where_it_is() -> None:
    """C5: not where it was."""

    async def go(world: World) -> None:
        first, _, third = await three(world)
        await third.leave()
        assert numbers_told_by(first) == {2, 3}
        again = Broker(world, 3, "elsewhere", port=33)
        await world.pass_time(1.0)
        assert again.failure is None
        assert numbers_told_by(first) == {2, 3}
        assert first.member is not None
        assert dict(first.member.others("L"))[3].port == 33

    run(go)


def test_an_idle_cluster_costs_what_it_says() -> None:
    """C10: a leader two requests a second here, and two more to look whether it owns the store; others three."""

    async def go(world: World) -> None:
        brokers = await three(world)
        before = [each.wire.count for each in brokers]
        await world.pass_time(600.0)
        rates = [(each.wire.count - count) / 600 for each, count in zip(brokers, before, strict=True)]
        assert rates[0] <= 2.0
        assert max(rates[1:]) <= 3.0

    run(go)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_happens_one_leads_in_the_end(seed: int) -> None:
    """C2, C3: brokers stop, are cut off, go on and come anew; two never lead with a lease."""

    async def go(world: World) -> None:
        brokers = await three(world)
        for _ in range(30):
            each = world.random.choice(brokers)
            drawn = world.random.random()
            if drawn < 0.3:
                each.stop()
            elif drawn < 0.6:
                each.wire.is_cut = not each.wire.is_cut
            elif drawn < 0.9:
                each.go_on()
            await world.pass_time(world.random.choice((0.5, 3.0, 20.0)))
            for number, broker in enumerate(brokers):
                if broker.failure is not None:
                    assert isinstance(broker.failure, LifeEnded | StoreFailed), repr(broker.failure)
                    broker.stop()
                    brokers[number] = Broker(world, broker.number)
            current = lives_in(world).leader
            for broker in brokers:
                if broker.leads and broker.member is not None and broker.member.life.life != current:
                    seen_at = world.clock.boottime() - SETTINGS.lease_ms / 1000  # It has not seen itself as the owner.
                    assert not broker.member.has_lease(seen_at)
        for each in brokers:
            each.go_on()
            each.wire.is_cut = False
        await world.pass_time(60.0)
        alive = [each for each in brokers if each.failure is None]
        leading = [each for each in alive if each.leads]
        if alive:
            assert len(leading) == 1
            assert leading[0].member is not None
            assert lives_in(world).leader == leading[0].member.life.life

    run(go, seed)


def test_who_would_lead_alone_does_not_join_those_who_lead_together() -> None:
    """C3, in part: it is refused before it has a life, to which others would give partitions."""

    async def go(world: World) -> None:
        patience = VersionRetries(world.clock, SeededChance(99), lambda _: None)
        MetadataLog(world.objects, "c", "", patience, "").commit(spread(0, -1))
        alone = Broker(world, 1)
        await world.pass_time(3.0)
        assert isinstance(alone.failure, SpreadAlready)
        assert not lives_in(world).by_broker

    run(go)
