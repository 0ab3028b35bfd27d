"""Produce requests that arrive together: appended as one entry, answered one by one, each as if it had come alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from tests.broker.wire import NOW_MS, Wire, batch, create_topic, end_offset, fetch, produce, produce_fields, values
from tests.support.broker_process import BrokerProcess

from holdfast.io.disk import RealDirectory
from holdfast.protocol.api import Key
from holdfast.wal import Wal

VERSION = 9
OUT_OF_ORDER, INVALID_TIMESTAMP, TOO_LARGE, SEND_AGAIN = 45, 32, 10, 19


def send_together(wire: Wire, topics: list[str], records: list[bytes]) -> list[Any]:
    """Requests in one packet, as if read from many connections in one turn; the answers for their partitions."""
    named = enumerate(zip(topics, records, strict=True))
    frames = [
        wire.framed(Key.PRODUCE, VERSION, number, **produce_fields(topic, each)) for number, (topic, each) in named
    ]
    wire.send_bytes(b"".join(frames))
    answers = [wire.answer(Key.PRODUCE, VERSION, number) for number in range(len(frames))]
    return [answer.responses[0].partition_responses[0] for answer in answers]


def from_producer(number: int, sequence: int, value: bytes) -> bytes:
    return batch(value, producer_id=number, producer_epoch=0, base_sequence=sequence)


def stored(wire: Wire, topic: str) -> list[bytes | None]:
    return values(fetch(wire, topic).records)


def test_each_is_told_its_own_place(wire: Wire, topic: str) -> None:
    """K2, L2: of batches with one, two and three records, for two topics in turns."""
    for name in (topic, f"{topic}-b"):
        create_topic(wire, name)
    sent = [[b"%d.%d" % (number, each) for each in range(1 + number % 3)] for number in range(30)]
    topics = [topic if number % 5 else f"{topic}-b" for number in range(30)]
    told = send_together(wire, topics, [batch(*each) for each in sent])
    assert {each.error_code for each in told} == {0}
    for name in set(topics):
        found = stored(wire, name)
        assert len(found) == sum(len(each) for each, named in zip(sent, topics, strict=True) if named == name)
        for each, named, place in zip(sent, topics, told, strict=True):
            if named == name:
                assert found[place.base_offset : place.base_offset + len(each)] == each


def test_they_are_entries_together_and_all_there_after_a_kill(own_broker: Callable[..., BrokerProcess]) -> None:
    """D1, W4: what was told to be there is, and where; in fewer entries than there were requests."""
    broker = own_broker()
    with Wire(broker.port) as wire:
        create_topic(wire, "t")
        sent = [b"%d" % number for number in range(400)]
        told = [
            each.base_offset
            for start in range(0, 400, 20)
            for each in send_together(wire, ["t"] * 20, [batch(each) for each in sent[start : start + 20]])
        ]
        assert told == list(range(400))
    broker.kill()
    wal = Wal.open(RealDirectory(broker.data / "wal"))
    entries = wal.state.next_index
    wal.close()
    assert entries < 200, f"{entries} entries for 400 requests"
    broker.start()
    with Wire(broker.port) as wire:
        assert stored(wire, "t") == sent


def test_what_comes_behind_them_is_appended_behind_them(wire: Wire, topic: str) -> None:
    """K2: also one that goes its own way: too large to join, or for several partitions, or for no answer."""
    create_topic(wire, topic)
    large = bytes(50_000)
    made = [b"a", b"b", large, b"c", large, b"d", b"e"]
    told = send_together(wire, [topic] * len(made), [batch(each) for each in made])
    assert [each.base_offset for each in told] == list(range(len(made)))
    frames = [
        wire.framed(Key.PRODUCE, VERSION, 0, **produce_fields(topic, batch(b"f"))),
        wire.framed(Key.PRODUCE, VERSION, 1, **produce_fields(topic, batch(b"g"), acks=0)),
        wire.framed(Key.PRODUCE, VERSION, 2, **produce_fields(topic, batch(b"h"))),
    ]
    wire.send_bytes(b"".join(frames))
    for number in (0, 2):
        wire.answer(Key.PRODUCE, VERSION, number)
    assert stored(wire, topic) == [*made, b"f", b"g", b"h"]


def test_a_repeat_among_them_is_found(wire: Wire, topic: str) -> None:
    """K4, D6: two of one producer never join one group, and what repeats is told where it was."""
    create_topic(wire, topic)
    first = [from_producer(10_001, 0, b"a"), from_producer(10_002, 0, b"b"), batch(b"c")]
    told = send_together(wire, [topic] * 6, [*first, *first[:2], from_producer(10_001, 1, b"d")])
    assert [(each.error_code, each.base_offset) for each in told] == [(0, 0), (0, 1), (0, 2), (0, 0), (0, 1), (0, 3)]
    assert stored(wire, topic) == [b"a", b"b", b"c", b"d"]


def test_a_gap_among_them_is_refused_alone(wire: Wire, topic: str) -> None:
    """K4: and what follows the last batch is taken, also when its producer comes with others again."""
    create_topic(wire, topic)
    send_together(wire, [topic] * 2, [from_producer(10_011, 0, b"a"), from_producer(10_012, 0, b"b")])
    made = [batch(b"c"), from_producer(10_011, 5, b"x"), from_producer(10_012, 1, b"d"), batch(b"e")]
    told = send_together(wire, [topic] * 4, made)
    assert [each.error_code for each in told] == [0, OUT_OF_ORDER, 0, 0]
    assert stored(wire, topic) == [b"a", b"b", b"c", b"d", b"e"]
    assert send_together(wire, [topic] * 2, [from_producer(10_011, 1, b"f"), batch(b"g")])[0].error_code == 0


def test_what_a_topic_does_not_take_is_refused_alone(wire: Wire, topic: str) -> None:
    """K2: by the rules of its topic: a size, and a time."""
    create_topic(wire, topic, max_message_bytes="1000", message_timestamp_after_max_ms="60000")
    made = [batch(b"a"), batch(bytes(2000)), batch(b"b"), batch(b"x", timestamp=NOW_MS + 86_400_000), batch(b"c")]
    told = send_together(wire, [topic] * 5, made)
    assert [each.error_code for each in told] == [0, TOO_LARGE, 0, INVALID_TIMESTAMP, 0]
    assert stored(wire, topic) == [b"a", b"b", b"c"]


def test_they_are_counted_one_by_one(wire: Wire, topic: str) -> None:
    """K2: the end of the log has moved by all of them when the last is answered."""
    create_topic(wire, topic)
    send_together(wire, [topic] * 50, [batch(b"%d" % number) for number in range(50)])
    assert end_offset(wire, topic) == 50


def test_all_are_answered_while_their_topic_is_altered(wire: Wire, topic: str) -> None:
    """K2: also who came under one codec of its topic, and would be appended under another."""
    create_topic(wire, topic, 8)
    address, ends = wire.socket.getpeername(), time.monotonic() + 2
    told: list[set[int]] = []

    def send(partition: int) -> None:
        codes = set()
        with Wire(address[1]) as own:
            while time.monotonic() < ends:
                codes.add(produce(own, topic, batch(b"v"), partition=partition).error_code)
        told.append(codes)

    threads = [threading.Thread(target=send, args=(partition,)) for partition in range(8)]
    for each in threads:
        each.start()
    number = 0
    while time.monotonic() < ends:
        number += 1
        config = {"name": "compression.type", "config_operation": 0, "value": ("gzip", "producer")[number % 2]}
        resource = {"resource_type": 2, "resource_name": topic, "configs": [config]}
        wire.ask(Key.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False)
    for each in threads:
        each.join()
    assert len(told) == 8, "Somebody was left without an answer."
    assert set().union(*told) <= {0, SEND_AGAIN}
