"""Kafka's Java producer and consumer, and what another client makes of what they wrote and the other way round."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition
from tests.java.jvm import Jvm
from tests.java.serving import Serving

T0 = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
HEADERS = [("trace", b"\x00\xff"), ("empty", b""), ("null", None), ("trace", b"again")]
WAIT_MS = 10_000


@contextmanager
def python_producer(broker: Serving, **settings: Any) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(bootstrap_servers=broker.address, **settings)
    try:
        yield producer
    finally:
        producer.close()


def read_by_python(broker: Serving, topic: str, count: int) -> list[Any]:
    """The records of a topic's first partition."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.address, auto_offset_reset="earliest", consumer_timeout_ms=WAIT_MS
    )
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return [next(consumer) for _ in range(count)]
    finally:
        consumer.close()


def read_by_java(java: Jvm, topic: str, count: int, **more: Any) -> list[dict[str, Any]]:
    """The same, with keys, values and headers as bytes."""
    records: list[dict[str, Any]] = java.do("consume", partitions=[[topic, 0]], count=count, **more)
    for record in records:
        record["key"], record["value"] = binary(record["key"]), binary(record["value"])
        record["headers"] = [(name, binary(value)) for name, value in record["headers"]]
    return records


def binary(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def values(topic: str, *each: bytes | None, **more: Any) -> list[dict[str, Any]]:
    """Records for Java to send."""
    return [{"topic": topic, "partition": 0, "value": value, **more} for value in each]


@pytest.mark.parametrize("codec", CODECS)
def test_java_writes(java: Jvm, broker: Serving, name: str, codec: str) -> None:
    """K2: with every codec, what Java's idempotent producer wrote is what Python reads."""
    java.do("topics.create", topic=name, partitions=1)
    sent = [b"%d-" % number * 50 for number in range(100)]
    records = [
        {"topic": name, "key": b"k%d" % number, "value": value, "timestamp": T0 + number, "headers": HEADERS}
        for number, value in enumerate(sent)
    ]
    config = {"acks": "all", "enable.idempotence": "true", "compression.type": codec, "linger.ms": "20"}
    placed = java.do("produce", config=config, records=records)
    assert [each["offset"] for each in placed] == list(range(100))
    read = read_by_python(broker, name, 100)
    assert [record.value for record in read] == sent
    assert [record.key for record in read] == [b"k%d" % number for number in range(100)]
    assert [record.timestamp for record in read] == [T0 + number for number in range(100)]
    assert read[0].headers == HEADERS


@pytest.mark.parametrize("codec", CODECS)
def test_java_reads(java: Jvm, broker: Serving, name: str, codec: str) -> None:
    """K2: with every codec, what Python wrote is what Java reads."""
    java.do("topics.create", topic=name, partitions=1)
    sent = [b"%d-" % number * 50 for number in range(100)]
    headers = [pair for pair in HEADERS if pair[1] is not None]  # Python's client takes no null there.
    with python_producer(broker, compression_type=None if codec == "none" else codec, linger_ms=20) as producer:
        for number, value in enumerate(sent):
            producer.send(name, value, key=b"k", partition=0, timestamp_ms=T0 + number, headers=headers)
        producer.flush()
    read = read_by_java(java, name, 100)
    assert [record["value"] for record in read] == sent
    assert [record["timestamp"] for record in read] == [T0 + number for number in range(100)]
    assert {record["timestamp_type"] for record in read} == {"CreateTime"}
    assert read[-1]["headers"] == headers


def test_nulls(java: Jvm, broker: Serving, name: str) -> None:
    """K2: no key, no value (a tombstone) and neither are kept apart from empty ones."""
    java.do("topics.create", topic=name, partitions=1)
    pairs = [(None, b"v"), (b"k", None), (None, None), (b"", b"")]
    java.do("produce", records=[{"topic": name, "partition": 0, "key": key, "value": value} for key, value in pairs])
    assert [(record["key"], record["value"]) for record in read_by_java(java, name, 4)] == pairs
    assert [(record.key, record.value) for record in read_by_python(broker, name, 4)] == pairs


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_log_append_time(java: Jvm, broker: Serving, name: str, codec: str) -> None:
    """K2: a topic with log-append time has the broker's time, in the answer and in what is read."""
    java.do("topics.create", topic=name, partitions=1, configs={"message.timestamp.type": "LogAppendTime"})
    records = values(name, b"a", b"b", timestamp=T0)
    placed = java.do("produce", config={"compression.type": codec, "linger.ms": "50"}, records=records)
    read = read_by_java(java, name, 2)
    assert {record["timestamp_type"] for record in read} == {"LogAppendTime"}
    assert [record["timestamp"] for record in read] == [each["timestamp"] for each in placed]
    assert placed[0]["timestamp"] > T0
    assert [record.timestamp for record in read_by_python(broker, name, 2)] == [each["timestamp"] for each in placed]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(java: Jvm, name: str, acks: str) -> None:
    """A1: whatever was asked for, the record is there for whoever asks next."""
    java.do("topics.create", topic=name, partitions=1)
    config = {"acks": acks, "enable.idempotence": "false"}
    [placed] = java.do("produce", config=config, records=values(name, b"v"))
    assert placed["offset"] == (-1 if acks == "0" else 0)
    assert [record["value"] for record in read_by_java(java, name, 1)] == [b"v"]


def test_seek(java: Jvm, name: str) -> None:
    """L1: a read begins at any offset that there is."""
    java.do("topics.create", topic=name, partitions=1)
    java.do("produce", config={"linger.ms": "50"}, records=values(name, *(b"%d" % number for number in range(10))))
    read = read_by_java(java, name, 3, **{"from": 7})
    assert [(record["offset"], record["value"]) for record in read] == [(7, b"7"), (8, b"8"), (9, b"9")]


def test_offsets(java: Jvm, name: str) -> None:
    """K2: the beginning, the end, and the first offset at or after a time."""
    java.do("topics.create", topic=name, partitions=2)
    for number in range(4):
        java.do("produce", records=values(name, b"v", timestamp=T0 + 10 * number))
    found = java.do("offsets", partitions=[[name, 0], [name, 1]], timestamp=T0 + 11)
    assert found["beginning"] == {f"{name}-0": 0, f"{name}-1": 0}
    assert found["end"] == {f"{name}-0": 4, f"{name}-1": 0}
    assert found["at"] == {f"{name}-0": [2, T0 + 20], f"{name}-1": None}
    after_all = java.do("offsets", partitions=[[name, 0]], timestamp=T0 + 31)
    assert after_all["at"] == {f"{name}-0": None}


def test_too_large(java: Jvm, name: str) -> None:
    """K2: a record that a topic does not take is refused by name, and the next one is taken."""
    java.do("topics.create", topic=name, partitions=1, configs={"max.message.bytes": "1000"})
    assert java.do("produce", records=values(name, b"x" * 2000)) == [{"error": "RecordTooLargeException"}]
    [placed] = java.do("produce", records=values(name, b"fits"))
    assert placed["offset"] == 0


def test_a_long_poll_ends_with_the_record(java: Jvm, broker: Serving, name: str) -> None:
    """L4: a consumer that waits is woken by the record, long before its wait would end."""
    java.do("topics.create", topic=name, partitions=1)
    with python_producer(broker) as producer:
        later = threading.Timer(0.5, lambda: producer.send(name, b"v", partition=0))
        start = time.monotonic()
        later.start()
        config = {"fetch.max.wait.ms": "8000"}
        assert [record["value"] for record in read_by_java(java, name, 1, config=config)] == [b"v"]
        assert 0.5 < time.monotonic() - start < 6
        later.join()


def test_a_large_backlog_in_small_pieces(java: Jvm, name: str) -> None:
    """L1: every fetch makes progress, also when a batch is larger than all its limits."""
    java.do("topics.create", topic=name, partitions=1)
    java.do("produce", config={"linger.ms": "50"}, records=values(name, *(b"x" * 10_000 for _ in range(40))))
    config = {"fetch.max.bytes": "100", "max.partition.fetch.bytes": "100"}
    assert len(read_by_java(java, name, 40, config=config)) == 40
