"""X9: whom a quota holds back keeps nothing from others, and is let go when the quota is."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.test_operators import alter, entity
from tests.broker.test_throttle import limit
from tests.broker.wire import Wire, batch, create_topic, fetch_fields, produce, produce_fields, wait_for

from holdfast.broker import throttle
from holdfast.broker.settings import BrokerSettings
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key

KIB = 1 << 10


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 0.0001, 1e12, 1e300, 1.7e308])
@pytest.mark.parametrize("kind", ["producer_byte_rate", "consumer_byte_rate", "request_percentage"])
def test_any_rate_that_is_taken_can_be_kept(tmp_path: Path, kind: str, rate: float) -> None:
    """X9: the smallest and the largest number too, and a change from one to the other."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port, client_id="operator") as operator:
        topic_id = create_topic(operator, "t")
        for each in (rate, 1000.0, rate):
            limit(operator, "extreme", **{kind: each})
            with Wire(inside.port, client_id="extreme") as wire:
                assert produce(wire, "t", batch(b"x")).error_code == 0
            with Wire(inside.port, client_id="extreme") as wire:
                answer = wire.ask(Key.FETCH, 13, **fetch_fields(topic_id, 0))
                assert answer.error_code == 0
                assert answer.throttle_time_ms <= 2**31 - 1
        assert (rate < 1) == (answer.throttle_time_ms > 0 or (kind == "producer_byte_rate" and rate < 1))


@pytest.mark.parametrize("rate", [None, 1e9])
def test_who_is_held_is_let_go_when_the_quota_is(tmp_path: Path, rate: float | None) -> None:
    """X9: a quota that was a mistake is taken back: within seconds whoever it holds goes on, and has no debt left."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port, client_id="operator") as operator:
        create_topic(operator, "t")
        limit(operator, "another", producer_byte_rate=1e9)  # There are quotas all the time.
        limit(operator, "held", producer_byte_rate=1.0)
        with Wire(inside.port, client_id="held") as held:
            assert held.ask(Key.PRODUCE, 9, **produce_fields("t", batch(bytes(10_000)))).throttle_time_ms > 1_000_000
            number = held.send(Key.PRODUCE, 9, **produce_fields("t", batch(b"next")))
            limit(operator, "held", producer_byte_rate=rate)
            held.socket.settimeout(5)
            assert held.answer(Key.PRODUCE, 9, number).throttle_time_ms == 0
        limit(operator, "held", producer_byte_rate=1e9)
        with Wire(inside.port, client_id="held") as again:
            assert again.ask(Key.PRODUCE, 9, **produce_fields("t", batch(b"last"))).throttle_time_ms == 0


def test_what_the_held_have_sent_gives_way_to_others(tmp_path: Path) -> None:
    """X9, K10: requests behind one that is throttled fill all the room; others get it within seconds."""
    settings = BrokerSettings(queued_max_request_bytes=300 * KIB)
    with (
        InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside,
        Wire(inside.port, client_id="operator") as operator,
    ):
        topic_id = create_topic(operator, "t")
        limit(operator, "held", request_percentage=0.0001)
        held = [Wire(inside.port, client_id="held") for _ in range(4)]
        for each in held:
            each.send(Key.FETCH, 13, **fetch_fields(topic_id, 0, max_wait_ms=1000, min_bytes=1 << 20))
            for _ in range(3):
                each.send(Key.PRODUCE, 9, **produce_fields("t", batch(bytes(30 * KIB))))
        wait_for(lambda: not inside.server.requests.has_room)
        time.sleep(1.5)  # Now they are held.
        wait_for(lambda: inside.server.requests.has_room)
        began = time.monotonic()
        for _ in range(10):
            assert produce(operator, "t", batch(bytes(200 * KIB))).error_code == 0
        assert time.monotonic() - began < 10  # Or as long as those who are held.
        for each in held:
            each.close()


def test_who_has_gone_is_not_held_for_long(tmp_path: Path) -> None:
    """X9, K10: what was sent and not read keeps a connection no longer than one that is idle."""
    settings = BrokerSettings(connections_max_idle_ms=2000)
    with (
        InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside,
        Wire(inside.port, client_id="operator") as operator,
    ):
        create_topic(operator, "t")
        limit(operator, "held", producer_byte_rate=1.0)
        held = Wire(inside.port, client_id="held")
        held.ask(Key.PRODUCE, 9, **produce_fields("t", batch(bytes(10_000))))
        held.send(Key.PRODUCE, 9, **produce_fields("t", batch(b"next")))
        held.socket.shutdown(socket.SHUT_WR)
        held.close()
        wait_for(lambda: inside.server.connection_count == 0)  # The operator has been silent, too.


def test_many_names_take_no_quota_from_others(tmp_path: Path) -> None:
    """X9: an overdrawn name and ten thousand more fill the table: who comes then has a quota, and users keep theirs."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port, client_id="operator") as operator:
        topic_id = create_topic(operator, "t")
        assert alter(operator, entity(user="ANONYMOUS"), consumer_byte_rate=1.0).error_code == 0
        assert alter(operator, entity(client_id=None), producer_byte_rate=1000.0).error_code == 0
        with Wire(inside.port, client_id="overdrawn") as wire:
            assert _told(wire, 500_000) > 0
        with Wire(inside.port) as wire:
            assert wire.ask(Key.FETCH, 13, **fetch_fields(topic_id, 0)).responses
        wait_for(lambda: inside.server.connection_count == 1)  # Nobody is held any more who asks for how long.
        with Wire(inside.port) as wire:
            for begin in range(0, throttle._BUCKETS_MAX, 100):
                for number in range(begin, begin + 100):
                    wire._client_id = f"c-{number}"
                    wire.send(Key.PRODUCE, 9, **produce_fields("t", batch(b"x")))
                for _ in range(100):
                    wire.receive()
        with Wire(inside.port, client_id="the attacker's next") as wire:
            assert _told(wire, 500_000) > 0
        with Wire(inside.port, client_id="honest") as wire:
            assert _told(wire, 100) == 0
        with Wire(inside.port) as wire:
            assert not wire.ask(Key.FETCH, 13, **fetch_fields(topic_id, 0)).responses


def _told(wire: Wire, size: int) -> int:
    told: int = wire.ask(Key.PRODUCE, 9, **produce_fields("t", batch(bytes(size)))).throttle_time_ms
    return told
