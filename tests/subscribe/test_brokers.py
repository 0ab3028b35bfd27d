"""Subscriptions over several brokers: each serves what it leads, while partitions move and brokers are killed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.subscribe.simulated import simulate
from tests.subscribe.simulated_brokers import NOBODY_LEADS, SimulatedBrokers
from tests.subscribe.test_simulated import check as check_simulated

from holdfast.errors import Rejected
from holdfast.log.errors import PartitionDeleted
from holdfast.subscribe import Event
from holdfast.subscribe.client.routing import Routing
from holdfast.subscribe.client.servers import Servers
from holdfast.subscribe.cursor import Cursor
from holdfast.subscribe.errors import BadRequest, PartitionMoved, ServerGone, SourceGone
from holdfast.subscribe.server.routes import KNOWN_S, RouteStream
from holdfast.subscribe.settings import SubscribeSettings
from holdfast.subscribe.wire.messages import RoutedPartition
from holdfast.subscribe.wire.request import Source, Start, SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.types import ClusterPartition

NAMES = ["a", "b", "c"]  # Those that `check` looks at.
ALL = SubscribeRequest(sources=(Source("*"),), start=Start(0), routes=True)


async def world(seed: int, *, written: bool = True) -> SimulatedBrokers:
    simulation = SimulatedBrokers(seed)
    await simulation.open_brokers(NAMES, 3)
    simulation.breaks_left = 0
    for name in NAMES if written else ():
        await simulation.write(name, 2, live=False)
    return simulation


async def run(seed: int) -> tuple[list[Event], int]:
    """Backlog, then live, while partitions move, a broker is killed, and the wire breaks."""
    simulation = SimulatedBrokers(seed)
    await simulation.open_brokers(NAMES, 3)
    chance = simulation.chance
    for name in NAMES:
        await simulation.write(name, chance.bits(2), live=False)
    asked = replace(ALL, batches=bool(chance.bits(1)), segment_refs=bool(chance.bits(1)))
    found: list[Event] = []
    subscription = simulation.follow_all(asked)

    async def follow() -> None:
        async for event in subscription:
            found.append(event)  # noqa: PERF401, the test looks at it meanwhile

    async def moves() -> None:
        for _ in range(3):
            await asyncio.sleep(chance.fraction() * 0.2)
            name = NAMES[chance.bits(4) % 3]
            if simulation.leads[name] != NOBODY_LEADS:
                await simulation.move(name, chance.bits(4) % 3)
        if chance.bits(1):
            await simulation.kill(chance.bits(4) % 3)

    following = asyncio.ensure_future(follow())
    await asyncio.gather(*(simulation.write(name, 4, live=True) for name in NAMES), moves())
    for name in NAMES:
        await simulation.write(name, 1, live=True)
    for _ in range(1200):
        if len(found) == sum(simulation.written.values()) or following.done():
            break
        await asyncio.sleep(0.05)
    await subscription.close()
    await asyncio.wait_for(following, 1)
    assert simulation.streams == 0
    assert not any(each.on_change for each in simulation.brokers), "A stream left something behind."
    assert asyncio.all_tasks() == {asyncio.current_task()}, "A task is left."
    check_simulated(simulation, found)
    await simulation.logs.close()
    return found, subscription.stats.moved


def test_whatever_moves_everything_comes_once_and_in_order() -> None:
    """C1, S1, S5: over hundreds of seeds of moves, kills and breaks: nothing lost, doubled, out of order, unmarked."""
    moved = 0
    for seed in range(200):
        try:
            moved += simulate(run(seed))[1]
        except BaseException as failure:
            failure.add_note(f"seed {seed}")
            raise
    assert moved > 100


def with_world(seed: int, work: Any, *, written: bool = True) -> None:
    async def inside() -> None:
        simulation = await world(seed, written=written)
        async with asyncio.timeout(600):  # Simulated ones.
            await work(simulation)
        await simulation.logs.close()

    simulate(inside())


@pytest.mark.parametrize("refs", [False, True])
def test_what_is_stored_comes_as_one_broker_gives_it(refs: bool) -> None:
    """S1: the same events in the same order, and the same cursor behind each of them."""

    async def compare(simulation: SimulatedBrokers) -> None:
        asked = replace(ALL, until_now=True, segment_refs=refs, batches=True)

        async def all_of(cursors: list[Cursor]) -> list[Event]:
            found = []
            subscription = simulation.follow_all(asked)
            async for event in subscription:
                found.append(event)
                cursors.append(subscription.cursor)
            assert subscription.stats.errors == subscription.stats.moved == 0
            return found

        over_three: list[Cursor] = []
        spread = await all_of(over_three)
        for name in NAMES:
            await simulation.move(name, 0)
        by_one: list[Cursor] = []
        assert spread == await all_of(by_one)
        assert len(spread) == sum(simulation.written.values())
        assert over_three[-1] == by_one[-1]

    for seed in range(20):
        with_world(seed, compare)


def test_a_cursor_of_several_brokers_goes_on_at_any_event() -> None:
    """S1: one cursor over all: with it the rest comes, whoever leads by then."""

    async def stop_and_go_on(simulation: SimulatedBrokers) -> None:
        asked = replace(ALL, until_now=True, batches=True)
        whole = [event async for event in simulation.follow_all(asked)]
        for count in range(1, len(whole), 3):
            subscription = simulation.follow_all(asked)
            begun = []
            async for event in subscription:
                begun.append(event)
                if len(begun) == count:
                    break
            cursor = Cursor.parse(str(subscription.cursor))
            await subscription.close()
            await simulation.move(NAMES[count % 3], (count // 3) % 3)
            rest = simulation.follow_all(replace(asked, start=Start(None, cursor)))
            assert begun + [event async for event in rest] == whole

    with_world(3, stop_and_go_on)


def test_a_topic_that_comes_later_at_another_broker_is_followed_from_its_beginning() -> None:
    """S1: a pattern means it, too, though the broker that was asked does not lead it."""

    async def add(simulation: SimulatedBrokers) -> None:
        hidden = simulation.topics.topics.pop("c")
        subscription = simulation.follow_all(replace(ALL, start=Start()))  # From now on.
        found = aiter(subscription)
        first = asyncio.ensure_future(anext(found))
        await asyncio.sleep(1)
        simulation.topics.topics["c"] = hidden
        for each in simulation.brokers:
            each.see("c", 2)
        event = await asyncio.wait_for(first, 30)
        assert (event.topic, event.offset) == ("c", 0)
        assert subscription.stats.moved == 1
        assert subscription.stats.errors == 0
        await subscription.close()

    with_world(5, add)


def test_a_broker_that_was_away_at_first_starts_where_it_was_asked_to() -> None:
    """S1: what the others have told before does not make its partitions start at their beginning."""

    async def away(simulation: SimulatedBrokers) -> None:
        simulation.brokers[2].die()
        subscription = simulation.follow_all(replace(ALL, start=Start()))
        found = aiter(subscription)
        first = asyncio.ensure_future(anext(found))
        await asyncio.sleep(3)
        assert not first.done()
        simulation.brokers[2].lives = True
        await asyncio.sleep(12)
        before = simulation.written["c"]
        await simulation.write("c", 1, live=True)
        event = await asyncio.wait_for(first, 30)
        assert (event.topic, event.offset) == ("c", before)
        await subscription.close()

    with_world(6, away)


def test_who_cannot_be_asked_is_named() -> None:
    """S1, C12: a leader without a port is refused at once; nobody who leads, or an unknown port, is waited for."""

    async def ask(simulation: SimulatedBrokers) -> None:
        first = simulation.brokers[0]
        first.known[1] = ""
        with pytest.raises(Rejected, match="b-0 is led by broker 1, which serves no subscriptions"):
            await anext(aiter(simulation.follow_all(ALL, "b0")))
        first.known[1] = "b1"
        for leader, why in ((NOBODY_LEADS, "nobody leads it"), (7, "nobody knows where broker 7 serves")):
            first.see("b", leader)
            clock = simulation.clock
            began = clock.monotonic()
            with pytest.raises(ServerGone, match=f"b-0 cannot be followed yet: {why}"):
                await anext(simulation.connect("b0", ALL))
            assert KNOWN_S <= clock.monotonic() - began < KNOWN_S + 1

    with_world(8, ask)


def test_a_client_that_follows_one_server_is_told_who_leads_the_rest() -> None:
    """S1: by a status that says who and where; what one broker leads it gets, until that moves."""

    async def ask(simulation: SimulatedBrokers) -> None:
        plain = replace(ALL, routes=False)
        with pytest.raises(Rejected, match=r"b-0 is led by broker 1 at b1: each broker serves what it leads"):
            await anext(simulation.connect("b0", plain))
        stream = simulation.connect("b0", replace(plain, sources=(Source("a"),)))
        assert [each.topic for each in (await anext(stream)).opened.lanes] == ["a"]
        moving = asyncio.ensure_future(simulation.move("a", 1))
        with pytest.raises(PartitionMoved, match="a-0 is led by another broker now"):
            async for _ in stream:
                pass
        await moving

    with_world(9, ask)


def test_a_stream_without_a_lease_ends() -> None:
    """C3: a broker that cannot say that it lives serves no subscriptions, and tells no routes."""

    async def lose(simulation: SimulatedBrokers) -> None:
        requests = [
            replace(ALL, start=Start()),
            replace(ALL, sources=(Source("a", (0,)),), start=Start(), routed=True),
        ]
        for asked in requests:
            simulation.brokers[0].holds_lease = True
            stream = simulation.connect("b0", asked)
            assert (await anext(stream)).HasField("opened")
            simulation.brokers[0].holds_lease = False
            with pytest.raises(ServerGone, match="could not say for a while that it lives"):
                await asyncio.wait_for(_through(stream), 3)

    with_world(10, lose)


async def _through(stream: Any) -> None:
    async for _ in stream:
        pass


def test_a_named_topic_that_is_deleted_ends_it_and_one_of_a_pattern_does_not() -> None:
    """S1: as with one broker."""

    async def delete(simulation: SimulatedBrokers) -> None:
        named = simulation.connect("b0", replace(ALL, sources=(Source("a"), Source("b"))))
        pattern = simulation.connect("b0", ALL)
        for each in (named, pattern):
            assert (await anext(each)).opened.routes
        simulation.topics.topics.pop("b")
        for each in simulation.brokers:
            each.see("a", 0)
        with pytest.raises(SourceGone, match="b was deleted"):
            await asyncio.wait_for(_through(named), 5)
        assert (await anext(pattern)).HasField("marker")
        await pattern.aclose()

    with_world(11, delete)


def test_a_routed_topic_that_is_deleted_is_told_as_gone() -> None:
    """S1: whoever follows routes knows whether it was named; the broker that is asked for it by number does not."""

    async def delete(simulation: SimulatedBrokers) -> None:
        stream = simulation.connect("b0", replace(ALL, sources=(Source("a", (0,)),), routed=True))
        assert [each.topic for each in (await anext(stream)).opened.lanes] == ["a"]
        simulation.log("a").fail(PartitionDeleted("a"))
        async for message in stream:
            if message.HasField("gone"):
                break
        assert message.gone.lane == 0
        await stream.aclose()

    with_world(13, delete)


def test_a_partition_that_was_dropped_under_a_read_has_moved() -> None:
    """S1, C3: what is left of it here is not what was acknowledged: nothing of such a read is sent."""

    async def drop(simulation: SimulatedBrokers) -> None:
        log = simulation.log("a")
        read = log.read

        async def dropped(*args: Any, **kwargs: Any) -> Any:
            found = await read(*args, **kwargs)
            simulation.logs.drop(log)
            return found

        log.read = dropped  # type: ignore[method-assign]
        stream = simulation.connect("b0", replace(ALL, sources=(Source("a", (0,)),), routed=True))
        kinds = []
        async for message in stream:
            kinds.append(message.WhichOneof("kind"))
            if kinds[-1] == "moved":
                break
        assert "event" not in kinds
        await stream.aclose()

    with_world(14, drop)


def test_a_silent_stream_looks_at_its_lease_each_second() -> None:
    """C3: also where heartbeats are rare."""

    async def lose(simulation: SimulatedBrokers) -> None:
        site = simulation.sites[0]
        simulation.sites[0] = replace(site, settings=SubscribeSettings(heartbeat_ms=60_000))
        asked = replace(ALL, sources=(Source("a", (0,)),), start=Start(), routed=True)
        stream = simulation.connect("b0", asked)
        assert (await anext(stream)).HasField("opened")
        await asyncio.sleep(10)
        simulation.brokers[0].holds_lease = False
        with pytest.raises(ServerGone, match="could not say for a while that it lives"):
            await asyncio.wait_for(_through(stream), 3)

    with_world(15, lose)


def test_a_route_that_changes_while_it_is_told_is_told_again() -> None:
    """S1: a client that reads slowly does not stay with routes that were old when it read them."""

    async def change(simulation: SimulatedBrokers) -> None:
        found: list[wire.Message] = []

        async def write(message: bytes) -> None:
            found.append(wire.Message.FromString(message))
            if found[-1].HasField("opened"):
                simulation.brokers[0].see("b", 2)

        stream = RouteStream(simulation.sites[0], simulation.brokers[0], ALL, write)
        await asyncio.wait_for(stream.run(), 10)
        assert [each.WhichOneof("kind") for each in found if not each.HasField("marker")] == ["opened", "rerouted"]

    with_world(16, change)


def test_the_one_that_was_asked_may_be_gone_for_good() -> None:
    """S7: another one that it has told of is asked, and everything comes."""

    async def lose(simulation: SimulatedBrokers) -> None:
        subscription = simulation.follow_all(ALL, "b0")
        events = aiter(subscription)
        found = [await anext(events)]
        killing = asyncio.ensure_future(simulation.kill(0, back=False))
        total = sum(simulation.written.values())
        async with asyncio.timeout(120):
            while len(found) < total:
                found.append(await anext(events))
            await simulation.write("a", 1, live=True)
            while len(found) < sum(simulation.written.values()):
                found.append(await anext(events))
        await killing
        await subscription.close()
        check_simulated(simulation, found)

    with_world(17, lose)


# Who is asked for what


def route(topic: str, partition: int, broker: int) -> RoutedPartition:
    return RoutedPartition(topic, UUID(int=ord(topic)), partition, broker)


def test_each_partition_starts_where_it_should() -> None:
    """S1, S5: from the cursor, where the application asked to, or at the beginning."""
    key = ClusterPartition("x", UUID(int=ord("t")), 0)
    cursor = Cursor.at({key: ("t", 7)})
    routing = Routing(Start(since_ms=55))
    now = SubscribeRequest(sources=(Source("*"),), start=Start(None, cursor), routes=True, until_ms=99)
    servers = {1: "one", 2: "two"}
    first = [route("t", 0, 1), route("t", 1, 1), route("u", 0, 2)]
    asked_first = SubscribeRequest(sources=(Source("*"),), start=Start(since_ms=55), routes=True, until_ms=99)
    found = routing.requests("x", first, servers, asked_first, ())
    assert [(each.address, each.asked.sources, each.asked.start.since_ms) for each in found] == [
        ("one", (Source("t", (0, 1)),), 55),
        ("two", (Source("u", (0,)),), 55),
    ]
    later = [*first, route("v", 3, 2)]
    found = routing.requests("x", later, servers, now, {key})
    assert [(each.address, each.asked.sources, each.asked.start) for each in found] == [
        ("one", (Source("t", (0,)),), Start(None, cursor)),
        ("one", (Source("t", (1,)),), Start(since_ms=55)),
        ("two", (Source("u", (0,)),), Start(since_ms=55)),
        ("two", (Source("v", (3,)),), Start(since_ms=0)),
    ]
    assert all(each.asked.routed and each.asked.until_ms == 99 for each in found)
    assert frozenset().union(*(each.partitions for each in found)) == {
        ClusterPartition("x", each.topic_id, each.partition) for each in later
    }


def test_another_one_is_asked_when_one_is_gone() -> None:
    """S7: of those that were given, and of those that they have told of."""
    servers = Servers({"eu": "a:1, b:1", "us": "c:1"})
    assert (servers.asked("eu"), servers.asked("us")) == ("a:1", "c:1")
    servers.gone("z:1")
    assert servers.asked("eu") == "a:1"
    servers.gone("a:1")
    assert servers.asked("eu") == "b:1"
    servers.tell("eu", ["b:1", "d:1"])
    assert servers.asked("eu") == "b:1"
    servers.gone("b:1")
    assert servers.asked("eu") == "d:1"
    assert (servers.source_of("d:1"), servers.source_of("c:1")) == ("eu", "us")
    servers.gone("d:1")
    assert servers.asked("eu") == "a:1"
    servers.gone("c:1")
    assert servers.asked("us") == "c:1"
    with pytest.raises(BadRequest, match="no list of them"):
        Servers({"": "a:1,"})


def test_a_server_with_other_partitions_than_it_was_asked_for_is_not_believed() -> None:
    """S1: an address may be another server's by now: nothing of it is taken for what was asked for."""

    async def lie(simulation: SimulatedBrokers) -> None:
        honest = simulation.connect

        async def connect(address: str, asked: SubscribeRequest) -> Any:
            async for message in honest(address, asked):
                if asked.routed and address == "b1" and message.HasField("opened") and lies:
                    lies.pop()
                    del message.opened.lanes[:]
                    del message.opened.starts[:]
                    yield wire.Message(opened=message.opened)
                else:
                    yield message

        lies = [1]
        simulation.connect = connect  # type: ignore[method-assign]
        subscription = simulation.follow_all(replace(ALL, until_now=True))
        found = [event async for event in subscription]
        assert not lies
        assert len(found) == sum(simulation.written.values())
        assert "other partitions than it was asked for" in subscription.stats.last_error

    with_world(12, lie)
