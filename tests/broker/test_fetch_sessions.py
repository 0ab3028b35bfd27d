"""Fetch sessions: their table is bounded, none in use is taken away, and a wake-up reads only what has moved."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from tests.broker.inside import InsideBroker
from tests.broker.test_fetch import Session
from tests.broker.wire import (
    Wire,
    batch,
    create_topic,
    delete_topic,
    end_offset,
    fetch_fields,
    message,
    produce,
    values,
)
from tests.support.broker_process import BrokerProcess

from holdfast.broker.api.fetch import Fetch
from holdfast.broker.fetch.sessions import FetchSessions, SessionLimits
from holdfast.broker.fetch.watch import FetchWatch
from holdfast.broker.net.budget import Budget
from holdfast.broker.net.request import Request
from holdfast.io.address import Address
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.header import decode_request_header, frame_request
from holdfast.protocol.messages import encode_request
from holdfast.security import principal

OwnBroker = Callable[..., BrokerProcess]


def cpu_s(pid: int) -> float:
    """What a process has used so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Told:
    """A partition, as a watch sees it: whoever listens is told once."""

    def __init__(self) -> None:
        self.listeners: set[Callable[[], None]] = set()

    def move(self) -> None:
        told, self.listeners = self.listeners, set()
        for each in told:
            each()


def test_a_watch_hears_of_what_moved_once_and_of_nothing_that_it_left() -> None:
    """K9: a session whose client is gone costs a producer nothing after the first record."""

    async def run() -> None:
        watch, first, second = FetchWatch(), Told(), Told()
        watch.follow(("t", 0), first)  # type: ignore[arg-type]
        watch.follow(("t", 1), second)  # type: ignore[arg-type]
        waiting = asyncio.ensure_future(watch.wait(20))
        await asyncio.sleep(0)
        second.move()
        await waiting
        assert list(watch.moved) == [("t", 1)]
        assert not second.listeners
        watch.close()
        assert not first.listeners
        first.move()
        assert not watch.moved

    asyncio.run(run())


def test_a_long_poll_that_has_too_little_waits_for_the_next_record(
    broker: BrokerProcess, wire: Wire, topic: str
) -> None:
    """K9: it does not go round and round over what it has read already."""
    create_topic(wire, topic, partitions=50)
    produce(wire, topic, batch(b"x" * 100))
    before, began = cpu_s(broker.pid), time.monotonic()
    found = wire.ask(Key.FETCH, 12, **fetch_fields(topic, partitions=range(50), max_wait_ms=2_000, min_bytes=100_000))
    waited = time.monotonic() - began
    [answers] = [each.partitions for each in found.responses]
    assert {each.partition_index for each in answers} == set(range(50))
    assert [values(each.records) for each in answers if each.records] == [[b"x" * 100]]
    assert waited >= 1.9
    assert cpu_s(broker.pid) - before < 0.8


def test_partitions_take_turns_when_not_all_fit(wire: Wire, topic: str) -> None:
    """K2: also for a client that does not say how far it has come."""
    create_topic(wire, topic, partitions=4)
    for number in range(4):
        produce(wire, topic, batch(b"%d" % number * 2000), partition=number)
    for max_bytes in (2_000, 2_100):  # The second partition is not reached, or does not fit.
        session = Session(wire, topic, range(0))
        found = session.partitions(session.next(partitions=range(4), max_bytes=max_bytes))
        order: list[int] = []
        for _ in range(4):
            order += [number for number, each in found.items() if each.records]
            found = session.partitions(session.next(max_bytes=max_bytes))
        assert order == [0, 1, 2, 3]


def test_a_partition_that_is_named_twice_counts_once(wire: Wire, topic: str) -> None:
    """K9: as in Kafka the last one counts."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"a"))
    produce(wire, topic, batch(b"b"))
    fields = fetch_fields(topic, partitions=[0] * 2_000)
    fields["topics"][0]["partitions"][-1]["fetch_offset"] = 1
    [found] = wire.ask(Key.FETCH, 12, **fields).responses
    assert [values(each.records) for each in found.partitions] == [[b"b"]]


def test_a_session_goes_on_with_a_topic_that_was_made_again(wire: Wire, topic: str) -> None:
    """K6: it is told that the topic is gone, and gets the records of the new one."""
    create_topic(wire, topic)
    session = Session(wire, topic, range(1))
    delete_topic(wire, topic)
    assert {each.error_code for each in session.partitions(session.next()).values()} == {3}
    create_topic(wire, topic)
    produce(wire, topic, batch(b"new"))
    assert [values(each.records) for each in session.partitions(session.next()).values()] == [[b"new"]]
    assert session.partitions(session.next(partitions=[0], offset=1)) == {}


def test_a_session_wakes_by_the_partition_that_moves(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """L4: whichever of many it is, and again after it has been read."""
    create_topic(wire, topic, partitions=20)
    session = Session(wire, topic, range(20))
    for number, offset in [(7, 0), (19, 0), (7, 1)]:
        with Wire(broker.port) as producer:
            fields = fetch_fields(
                topic, partitions=(), session_id=session.id, session_epoch=session.epoch, max_wait_ms=15_000
            )
            session.epoch += 1
            waiting = wire.send(Key.FETCH, 12, **fields)
            assert end_offset(producer, topic, partition=number) == offset
            produce(producer, topic, batch(b"x"), partition=number)
            found = session.partitions(wire.answer(Key.FETCH, 12, waiting))
        assert {each: values(answer.records) for each, answer in found.items()} == {number: [b"x"]}
        assert session.partitions(session.next(partitions=[number], offset=offset + 1)) == {}


# The table


def test_a_session_that_is_used_makes_room_for_nobody(own_broker: OwnBroker, topic: str) -> None:
    """K10: who finds the table full gets no session, and is served all the same."""
    broker = own_broker("max.incremental.fetch.session.cache.slots=2")
    with Wire(broker.port) as wire:
        create_topic(wire, topic)
        kept = [Session(wire, topic, range(1)), Session(wire, topic, range(1))]
        late = Session(wire, topic, range(1))
        assert (late.id, set(late.first)) == (0, {0})
        produce(wire, topic, batch(b"x"))
        for session in kept:
            assert [values(each.records) for each in session.partitions(session.next()).values()] == [[b"x"]]


def test_a_session_that_was_silent_for_long_makes_room(own_broker: OwnBroker, topic: str) -> None:
    """K10: the one that was silent longest."""
    broker = own_broker("max.incremental.fetch.session.cache.slots=2", "min.incremental.fetch.session.eviction.ms=0")
    with Wire(broker.port) as wire:
        create_topic(wire, topic)
        first, second = Session(wire, topic, range(1)), Session(wire, topic, range(1))
        assert first.next().error_code == 0
        assert Session(wire, topic, range(1)).id != 0
        assert second.next().error_code == 70
        assert first.next().error_code == 0


def test_sessions_are_counted_by_what_they_remember(own_broker: OwnBroker, topic: str) -> None:
    """K10: also of partitions that do not exist, and also those that a session adds later."""
    broker = own_broker("max.incremental.fetch.session.partitions=100")
    with Wire(broker.port) as wire:
        create_topic(wire, topic)
        assert Session(wire, topic, range(101)).id == 0
        session = Session(wire, topic, range(60))
        assert session.id != 0
        assert Session(wire, topic, range(60)).id == 0
        assert session.next(partitions=range(60, 101)).error_code == 70
        assert Session(wire, topic, range(100)).id != 0  # It gave its room back.


# Without a session


def fetch_request(topic: str, count: int, min_bytes: int) -> Request:
    """A long poll of so many partitions of a topic, without a session."""
    fields = fetch_fields(topic, partitions=range(count), max_wait_ms=60_000, min_bytes=min_bytes)
    body = encode_request(Key.FETCH, 12, message(request_class(Key.FETCH), fields))
    frame = memoryview(b"".join(frame_request(Key.FETCH, 12, 1, "c", body))[4:])
    session = principal.Session(principal.ANONYMOUS, "127.0.0.1", "PLAINTEXT")
    return Request(decode_request_header(frame), frame, session, Address("127.0.0.1", 0))


def test_a_fetch_without_a_session_misses_nothing_before_it_waits(tmp_path: Path, topic: str) -> None:
    """L4: it listens only when it has to wait: what moved after it was looked at, and before that, ends the wait."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port) as wire:
        create_topic(wire, topic, partitions=2)
        produce(wire, topic, batch(b"first"), partition=1)

        async def fetched() -> bytes:
            context, budget = inside.context, Budget(1 << 20)
            sessions = FetchSessions(SessionLimits(), context.clock, context.chance)
            fetch = Fetch(
                context.topics, sessions, context.clock, context.heavy, 1 << 20, budget, context.gate, context.throttle
            )
            budget.hold(budget.size_max)  # It looks at the first partition, and waits for room to read the second.
            both = len(batch(b"first")) + len(batch(b"second"))
            answer = asyncio.ensure_future(fetch.handle(fetch_request(topic, 2, min_bytes=both)))
            await asyncio.sleep(0)
            await context.topics.get(topic).partition(0).append(batch(b"second"))
            budget.release(budget.size_max)
            return b"".join(await asyncio.wait_for(answer, 10))

        found = asyncio.run_coroutine_threadsafe(fetched(), inside.server_loop).result(20)
        assert b"first" in found
        assert b"second" in found
