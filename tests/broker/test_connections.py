"""What a connection may and may not do, whoever is behind it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, batch, create_topic, fetch, fetch_fields, produce, produce_fields, values, wait_for
from tests.support.broker_process import BrokerProcess

from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key
from holdfast.protocol.header import frame_request

STREAMS_GROUP_HEARTBEAT = 88  # Refused, so that clients fall back.


def test_api_versions_in_an_unknown_version_is_answered_as_version_0(wire: Wire) -> None:
    """K1: error 35 and the one row a client needs to ask again, on the same connection."""
    wire.send_bytes(b"".join(frame_request(Key.API_VERSIONS, 99, 7, "new", [b"\x00"])))
    frame = wire.receive()
    assert frame == bytes.fromhex("00000007 0023 00000001 0012 0000 0004")
    assert wire.ask(Key.API_VERSIONS, 4, client_software_name="t", client_software_version="1").error_code == 0


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_what_is_served(wire: Wire, version: int) -> None:
    """K1: in every version; the header of the answer has no tags, also where the body has."""
    answer = wire.ask(Key.API_VERSIONS, version, client_software_name="t", client_software_version="1")
    served = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert served[Key.PRODUCE] == (0, 13)
    assert served[Key.FETCH] == (4, 18)
    assert served[Key.JOIN_GROUP] == (0, 9)
    assert served[Key.CONSUMER_GROUP_HEARTBEAT] == (0, 1)
    assert served[Key.ADD_PARTITIONS_TO_TXN] == (0, 5)
    assert served[Key.SHARE_FETCH] == (1, 2)
    assert STREAMS_GROUP_HEARTBEAT not in served
    named = [each.name for each in answer.supported_features or []]
    assert named == (["group.version", "share.version", "transaction.version"] if version == 4 else [])


def test_a_connection_need_not_begin_with_api_versions(broker: BrokerProcess) -> None:
    """K1: some clients know what they want."""
    with Wire(broker.port, client_id=None) as first:
        assert first.ask(Key.METADATA, 1, topics=[]).brokers[0].port == broker.port


def test_a_version_that_is_not_served_closes_the_connection(broker: BrokerProcess, wire: Wire) -> None:
    """K7: as Kafka does; others are not disturbed."""
    assert wire.ask(Key.API_VERSIONS, 0).error_code == 0
    with Wire(broker.port) as wrong:
        wrong.send_bytes(b"".join(frame_request(Key.PRODUCE, 2, 1, "old", [b"\x00" * 20])))
        assert wrong.is_closed()
    assert wire.ask(Key.API_VERSIONS, 0).error_code == 0


def test_an_api_that_is_not_served_closes_the_connection(broker: BrokerProcess) -> None:
    """K7: its number may be known or not."""
    for number in (STREAMS_GROUP_HEARTBEAT, 999):
        with Wire(broker.port) as wrong:
            wrong.send_bytes(b"".join(frame_request(number, 0, 1, "old", [b"\x00" * 20])))
            assert wrong.is_closed()


def test_a_batch_that_is_too_large_is_refused_and_the_connection_stays(wire: Wire, topic: str) -> None:
    """K2: MESSAGE_TOO_LARGE, and the next one is taken."""
    create_topic(wire, topic, max_message_bytes="1000")
    assert produce(wire, topic, batch(b"x" * 2000)).error_code == 10
    assert produce(wire, topic, batch(b"x" * 200)).error_code == 0


def test_the_default_limit_of_a_batch_is_kafkas(wire: Wire, topic: str) -> None:
    """K2: 1,048,588 bytes, not one more."""
    create_topic(wire, topic)
    empty = len(batch(b"x" * 1_000_000)) - 1_000_000
    assert produce(wire, topic, batch(b"x" * (1_048_588 - empty))).error_code == 0
    assert produce(wire, topic, batch(b"x" * (1_048_589 - empty))).error_code == 10


def test_acks_0_gets_no_answer(wire: Wire, topic: str) -> None:
    """A2: the answer is suppressed, nothing else; what is asked next is answered next."""
    create_topic(wire, topic)
    wire.send(Key.PRODUCE, 9, **produce_fields(topic, batch(b"quiet"), acks=0))
    assert produce(wire, topic, batch(b"loud")).base_offset == 1
    assert values(fetch(wire, topic).records) == [b"quiet", b"loud"]


def test_what_was_sent_before_the_client_left_is_appended(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """A2: acks=0 and gone at once, as Kafka does: also what a thread looks at first, and what is behind it."""
    create_topic(wire, topic)
    with Wire(broker.port) as quiet:
        for number in range(5):
            large = batch(*[b"%d" % number + b"x" * 1000] * 400, codec=1)
            quiet.send(Key.PRODUCE, 9, **produce_fields(topic, large, acks=0))
    wait_for(lambda: fetch(wire, topic).high_watermark == 2000)


def test_what_was_sent_behind_another_request_is_appended(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """A2: the client is gone while a fetch waits for records; what it has produced behind that one is kept."""
    create_topic(wire, topic)
    with Wire(broker.port) as quiet:
        quiet.send(Key.FETCH, 12, **fetch_fields(topic, max_wait_ms=60_000))
        quiet.send(Key.PRODUCE, 9, **produce_fields(topic, batch(b"first"), acks=0))
        quiet.send(Key.METADATA, 9, topics=[{"name": topic}])
        quiet.send(Key.PRODUCE, 9, **produce_fields(topic, batch(b"second"), acks=0))
    wait_for(lambda: values(fetch(wire, topic).records) == [b"first", b"second"])


def test_what_waits_behind_answers_that_nobody_takes_is_appended(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """A2: a client that takes no answers is not served further, but what it has produced is kept when it leaves."""
    create_topic(wire, topic)
    for _ in range(12):
        assert produce(wire, topic, batch(b"x" * 1_000_000)).error_code == 0
    with Wire(broker.port) as quiet:
        asked = quiet.framed(Key.FETCH, 12, **fetch_fields(topic, max_bytes=12 << 20, partition_max_bytes=12 << 20))
        last = quiet.framed(Key.PRODUCE, 9, **produce_fields(topic, batch(b"last"), acks=0))
        quiet.send_bytes(asked * 4 + last)  # In one go, so that all of it is there before nothing more is read.
        quiet.receive()
    wait_for(lambda: fetch(wire, topic).high_watermark == 13)


def test_a_request_that_is_refused_holds_nothing_afterwards(tmp_path: Path) -> None:
    """K10: bytes of requests are counted for all connections together: what is not given back is missing for ever."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside:
        wanted = [{"name": "nowhere", "partition_data": [{"index": 0, "records": batch(b"x")}]}] * 600
        fields = {"transactional_id": None, "acks": 0, "timeout_ms": 5000, "topic_data": wanted}
        with Wire(inside.port) as quiet:
            quiet.send(Key.PRODUCE, 9, **fields)  # So many that they are not looked at in one go.
            assert quiet.is_closed()
        wait_for(lambda: inside.server.requests.size == 0)


def test_acks_0_that_fails_closes_the_connection(broker: BrokerProcess, topic: str) -> None:
    """A2: there is no other way to tell."""
    with Wire(broker.port) as quiet:
        quiet.send(Key.PRODUCE, 9, **produce_fields(topic, batch(b"nowhere"), acks=0))
        assert quiet.is_closed()


def test_acks_that_mean_nothing_are_refused(wire: Wire, topic: str) -> None:
    """K2: INVALID_REQUIRED_ACKS."""
    create_topic(wire, topic)
    assert produce(wire, topic, batch(b"x"), acks=2).error_code == 21


def test_answers_come_in_the_order_of_the_requests(wire: Wire, topic: str) -> None:
    """K1: many requests in flight, of different kinds."""
    create_topic(wire, topic)
    sent = []
    for number in range(50):
        key, version = (Key.PRODUCE, 9) if number % 3 else (Key.METADATA, 9)
        fields = produce_fields(topic, batch(b"x")) if number % 3 else {"topics": [{"name": topic}]}
        sent.append((key, version, wire.send(key, version, **fields)))
    answers = [wire.answer(*each) for each in sent]
    offsets = [each.responses[0].partition_responses[0].base_offset for each in answers if hasattr(each, "responses")]
    assert offsets == list(range(len(offsets)))


def test_the_end_of_a_large_answer_does_not_wait_for_the_clients_delayed_ack(tmp_path: Path) -> None:
    """K2: every connection sends at once; with Nagle's algorithm one fetch in ten took 40 ms longer."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port) as wire:
        wire.ask(Key.API_VERSIONS, 0)
        (connection,) = inside.server._connections
        link = connection._transport.get_extra_info("socket")
        assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
