"""Quotas of users and clients on a real broker: who has used too much waits, and nobody else."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.broker.inside import InsideBroker
from tests.broker.members import Member
from tests.broker.test_operators import alter, entity
from tests.broker.wire import Wire, batch, create_topic, fetch_fields, produce, produce_fields, values, wait_for
from tests.support.broker_process import BrokerProcess

from holdfast.broker import throttle
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key

MIB = 1 << 20
BURST_S = 1  # By the settings of these brokers.
QUIET = ("quota.window.num=2", "controller.quota.window.num=2", "quota.window.size.seconds=1")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker"), settings=QUIET) as process:
        yield process


@pytest.fixture
def operator(broker: BrokerProcess) -> Iterator[Wire]:
    with Wire(broker.port, client_id="operator") as connection:
        yield connection


def limit(operator: Wire, client: str, **values: float | None) -> None:
    assert alter(operator, entity(client_id=client), **values).error_code == 0


# Rates


def test_a_producer_gets_its_rate_and_another_is_undisturbed(broker: BrokerProcess, operator: Wire, topic: str) -> None:
    """X9: within 10 % of its rate with librdkafka, over several seconds; another client's acks come meanwhile.

    The test of X9.
    """
    create_topic(operator, topic)
    limit(operator, "slow-producer", producer_byte_rate=1.0 * MIB)
    producer = Producer({"bootstrap.servers": broker.address, "client.id": "slow-producer", "linger.ms": 5})
    done, waits = threading.Event(), []

    def beside() -> None:
        with Wire(broker.port, client_id="other") as other:
            while not done.is_set():
                began = time.monotonic()
                produce(other, topic, batch(b"x"))
                waits.append(time.monotonic() - began)
                time.sleep(0.01)

    thread = threading.Thread(target=beside)
    thread.start()
    began = time.monotonic()
    for _ in range(8 * 16):
        producer.produce(topic, bytes(64 << 10))
    assert producer.flush(60) == 0
    took = time.monotonic() - began
    done.set()
    thread.join()
    # What it was given before it began counts; the last request is answered before it has waited for it.
    sizes = 8 * MIB - 940_000, 8 * MIB
    assert sizes[1] / MIB / (took + BURST_S) > 0.9
    assert sizes[0] / MIB / (took + BURST_S) < 1.1
    assert sorted(waits)[len(waits) * 99 // 100] < 0.3, sorted(waits)[-5:]


def test_a_consumer_gets_its_rate(broker: BrokerProcess, operator: Wire, topic: str) -> None:
    """X9: with librdkafka, which asks for far more at once."""
    create_topic(operator, topic)
    for _ in range(8):
        assert produce(operator, topic, batch(bytes(MIB - 4096))).error_code == 0
    limit(operator, "slow-consumer", consumer_byte_rate=1.0 * MIB)
    settings = {"bootstrap.servers": broker.address, "client.id": "slow-consumer", "group.id": "any"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    began, count = time.monotonic(), 0
    while count < 8:
        message = consumer.poll(30)
        assert message is not None, "a throttled consumer was left with nothing"
        assert message.error() is None
        count += 1
    took = time.monotonic() - began
    consumer.close()
    assert 8 / (took + BURST_S) > 0.9
    assert 7 / (took + BURST_S) < 1.1  # The last one is not waited for.


def test_a_client_gets_its_share_of_the_loop(broker: BrokerProcess, operator: Wire) -> None:
    """X9: request_percentage is a share of the event loop's time, of all requests together."""
    limit(operator, "busy", request_percentage=2.0)
    with Wire(broker.port, client_id="busy") as busy:
        told = []
        until = time.monotonic() + 3
        while time.monotonic() < until:
            told.append(busy.ask(Key.DESCRIBE_CONFIGS, 4, resources=[_BROKER_CONFIGS]).throttle_time_ms)
    limit(operator, "busy", request_percentage=None)
    assert max(told) > 0
    with Wire(broker.port, client_id="busy") as busy:
        count, until = 0, time.monotonic() + 1
        while time.monotonic() < until:
            assert busy.ask(Key.DESCRIBE_CONFIGS, 4, resources=[_BROKER_CONFIGS]).throttle_time_ms == 0
            count += 1
    # A share of 2 % for 3 s, and what was saved in 1 s before, is 8 % of a second.
    assert len(told) < 0.3 * count


def test_a_member_beyond_its_share_stays_in_its_group(own_broker: Callable[..., BrokerProcess]) -> None:
    """X9: for time that was used nobody waits longer than one window at once, as in Kafka: heartbeats are in time."""
    process = own_broker()
    with Wire(process.port) as operator:
        limit(operator, "member", request_percentage=0.01)
    member = Member(process.port, "throttled-group")
    with Wire(process.port, client_id="member") as busy:
        assert member.join(timeout_ms=6000).error_code == 0
        assert member.sync({member.id: b""}).error_code == 0
        told = busy.ask(Key.DESCRIBE_CONFIGS, 4, resources=[_BROKER_CONFIGS] * 8).throttle_time_ms
        assert 0 < told <= 1000
        assert [member.heartbeat() for _ in range(3)] == [0, 0, 0]
    member.close()


_BROKER_CONFIGS = {"resource_type": 4, "resource_name": "0", "configuration_keys": None}


# What the client is told


@pytest.mark.parametrize("version", range(3, 14))
def test_an_answer_to_produce_tells_the_wait_in_every_version(
    broker: BrokerProcess, operator: Wire, topic: str, version: int
) -> None:
    """X9: and the connection is not read until then, while the client's id alone is limited."""
    topic_id = create_topic(operator, topic)
    client = f"told-{version}"
    limit(operator, client, producer_byte_rate=100_000.0)
    named = topic_id if version >= 13 else topic
    with Wire(broker.port, client_id=client) as wire:
        answer = wire.ask(Key.PRODUCE, version, **produce_fields(named, batch(bytes(130_000))))
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert 200 <= answer.throttle_time_ms <= 320
        began = time.monotonic()
        wire.ask(Key.API_VERSIONS, 3, client_software_name="x", client_software_version="1")
        assert time.monotonic() - began >= answer.throttle_time_ms / 1000 - 0.05
        began = time.monotonic()
        operator.ask(Key.API_VERSIONS, 3, client_software_name="x", client_software_version="1")
        assert time.monotonic() - began < 0.2


def test_what_was_sent_ahead_waits_too(broker: BrokerProcess, operator: Wire, topic: str) -> None:
    """X9: a client that does not wait for answers does not get more, also of what has arrived already."""
    create_topic(operator, topic)
    limit(operator, "ahead", producer_byte_rate=10_000.0)
    with Wire(broker.port, client_id="ahead") as wire:
        sizes = [15_000, *[5_000] * 4]
        frames = [
            wire.framed(Key.PRODUCE, 9, number, **produce_fields(topic, batch(bytes(size))))
            for number, size in enumerate(sizes)
        ]
        wire.send_bytes(b"".join(frames))  # All of it in one piece.
        began = time.monotonic()
        for number in range(len(sizes)):
            wire.answer(Key.PRODUCE, 9, number)
    assert time.monotonic() - began > 1.8  # 0.5 s for what was too much, and 0.5 s for each of the next three.


def test_whoever_waits_is_not_read(broker: BrokerProcess, operator: Wire, topic: str) -> None:
    """X9: what they send meanwhile stays where it is, and takes none of the broker's memory."""
    create_topic(operator, topic)
    limit(operator, "eager", producer_byte_rate=10_000.0)
    with Wire(broker.port, client_id="eager") as wire:
        assert _told(wire, topic, 500_000) > 40_000
        wire.socket.settimeout(1)
        frame, sent = wire.framed(Key.PRODUCE, 9, 1, **produce_fields(topic, batch(bytes(MIB - 4096)))), 0
        with contextlib.suppress(TimeoutError):
            while sent < 28 * MIB:  # The broker would hold 32 MiB of a connection that it reads.
                sent += wire.socket.send(frame)
    assert sent < 16 * MIB  # What the kernel takes.


def test_a_fetch_beyond_the_quota_is_empty_and_its_session_goes_on(
    broker: BrokerProcess, operator: Wire, topic: str
) -> None:
    """X9: nothing is skipped: what was not sent comes when the quota has room."""
    topic_id = create_topic(operator, topic)
    for number in range(6):
        produce(operator, topic, batch(b"%d" % number * 60_000))
    limit(operator, "reader", consumer_byte_rate=100_000.0)
    read, waits, empty = [], [], 0
    with Wire(broker.port, client_id="reader") as wire:
        first = wire.ask(Key.FETCH, 13, **fetch_fields(topic_id, 0, session_epoch=0, max_bytes=60_000))
        session, epoch = first.session_id, 1
        read += values(first.responses[0].partitions[0].records)
        while len(read) < 6:
            fields = fetch_fields(topic_id, len(read), session_id=session, session_epoch=epoch, max_bytes=60_000)
            answer = wire.ask(Key.FETCH, 13, **fields)
            assert answer.error_code == 0
            epoch += 1
            waits.append(answer.throttle_time_ms)
            found = [values(each.partitions[0].records) for each in answer.responses]
            empty += not any(found)
            read += [value for each in found for value in each]
        whole = wire.ask(Key.FETCH, 13, **fetch_fields(topic_id, 0))
    assert read == [b"%d" % number * 60_000 for number in range(6)]
    assert max(waits) > 0
    assert whole.throttle_time_ms > 0 or whole.responses


def test_an_overdrawn_full_fetch_begins_no_session(tmp_path: Path) -> None:
    """X9: as with Kafka it is answered with nothing but the wait; the table of sessions is not filled by it."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port, client_id="reader") as wire:
        topic_id = create_topic(wire, "t")
        for _ in range(30):
            produce(wire, "t", batch(bytes(100_000)))
        limit(wire, "reader", consumer_byte_rate=100_000.0)
        large = fetch_fields(topic_id, 0, max_bytes=50_000_000, partition_max_bytes=50_000_000)
        for _ in range(2):  # What ten seconds allow, and as much again.
            with Wire(inside.port, client_id="reader") as another:
                assert 800_000 < len(another.ask(Key.FETCH, 13, **large).responses[0].partitions[0].records) <= MIB
        with Wire(inside.port, client_id="reader") as another:
            answer = another.ask(Key.FETCH, 13, **fetch_fields(topic_id, 0, session_epoch=0))
        assert (answer.session_id, list(answer.responses), answer.error_code) == (0, [], 0)
        assert answer.throttle_time_ms > 0
        assert len(inside.broker.sessions) == 0


# Changes of topics


def make(wire: Wire, name: str, partitions: int, version: int) -> Any:
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}
    return wire.ask(Key.CREATE_TOPICS, version, topics=[topic], timeout_ms=5000, validate_only=False)


def test_topic_changes_beyond_the_quota_are_refused(broker: BrokerProcess, operator: Wire, topic: str) -> None:
    """X9: THROTTLING_QUOTA_EXCEEDED where clients know it, a wait where they do not; nothing of it is done."""
    limit(operator, "changer", controller_mutation_rate=5.0)
    with Wire(broker.port, client_id="changer") as wire:
        first = make(wire, f"{topic}-0", 9, 7)
        assert first.topics[0].error_code == 0
        assert first.throttle_time_ms > 0
        second = make(wire, f"{topic}-1", 1, 7)
        assert second.topics[0].error_code == 0  # It has waited as it was told.
        third = wire.ask(Key.CREATE_TOPICS, 7, topics=[_row(f"{topic}-2", 9), _row(f"{topic}-3", 1)], timeout_ms=5000)
        assert [each.error_code for each in third.topics] == [0, 89]
        assert "try again" in third.topics[1].error_message
    with Wire(broker.port, client_id="changer") as wire:
        gone = wire.ask(Key.DELETE_TOPICS, 6, topics=[{"name": f"{topic}-0", "topic_id": None}], timeout_ms=5000)
        assert gone.responses[0].error_code == 89
        old = make(wire, f"{topic}-4", 1, 5)  # A version whose clients do not know it.
        assert old.topics[0].error_code == 0
        assert old.throttle_time_ms > 0
    shown = operator.ask(Key.METADATA, 9, topics=[{"name": f"{topic}-{each}"} for each in range(5)])
    assert [each.error_code for each in shown.topics] == [0, 0, 0, 3, 0]


def _row(name: str, partitions: int) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}


# Edges


def test_a_quota_counts_at_once_and_goes_at_once(broker: BrokerProcess, operator: Wire, topic: str) -> None:
    """X9: on connections that are open."""
    create_topic(operator, topic)
    with Wire(broker.port, client_id="changing") as wire:
        assert _told(wire, topic, 200_000) == 0
        limit(operator, "changing", producer_byte_rate=1_000_000.0)
        assert _told(wire, topic, 900_000) == 0  # What one second allows may come in one go.
        assert _told(wire, topic, 900_000) > 0
        limit(operator, "changing", producer_byte_rate=None)
        assert _told(wire, topic, 900_000) == 0


def _told(wire: Wire, topic: str, size: int) -> int:
    answer = wire.ask(Key.PRODUCE, 9, **produce_fields(topic, batch(bytes(size))))
    told: int = answer.throttle_time_ms
    return told


def test_whoever_waits_may_go(tmp_path: Path) -> None:
    """X9: a connection that is held and lost leaves nothing behind, and a stop does not wait for it."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside:
        with Wire(inside.port, client_id="gone") as wire:
            create_topic(wire, "t")
            limit(wire, "gone", producer_byte_rate=1000.0)
            assert _told(wire, "t", 500_000) > 300_000
        until = time.monotonic() + 10
        while inside.server.connection_count and time.monotonic() < until:
            time.sleep(0.01)
        assert inside.server.connection_count == 0
        stays = Wire(inside.port, client_id="gone")
        _told(stays, "t", 1000)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    stays.close()


def test_throttling_is_counted_and_told(own_broker: Callable[..., BrokerProcess], topic: str) -> None:
    """X9: nothing is silent: the metric by quota, and a line with user and client."""
    process = own_broker(*QUIET)
    with Wire(process.port, client_id="told") as wire:
        create_topic(wire, topic)
        limit(wire, "told", producer_byte_rate=100_000.0)
        assert _told(wire, topic, 150_000) > 0
    words = "throttled: user 'ANONYMOUS', client 'told': producer_byte_rate"
    wait_for(lambda: any(words in line for line in process.said))


def test_the_table_of_clients_is_bounded(tmp_path: Path) -> None:
    """X9: a client that calls itself something else each time fills no memory."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port) as wire:
        assert alter(wire, entity(client_id=None), request_percentage=50.0).error_code == 0
        wire.socket.settimeout(60)
        for number in range(throttle._BUCKETS_MAX + 500):
            wire._client_id = f"c-{number}"
            wire.ask(Key.API_VERSIONS, 0)
        found = inside.context.throttle
        assert len(found._of_clients) <= throttle._BUCKETS_MAX
        assert len(found._rates) <= throttle._CLIENTS_MAX
