"""Spark's own Kafka source and sink against the broker, with a Python client on the other side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition
from tests.java.serving import Serving

T0 = 1_700_000_000_000
PARTITIONS = 2


pytestmark = pytest.mark.usefixtures("connector")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("broker"), f"num.partitions={PARTITIONS}") as serving:
        yield serving


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.node.name.removeprefix("test_"))


def produce(broker: Serving, topic: str, start: int, end: int) -> None:
    """Record n goes to partition n % 2, with a time of its own and a header."""
    producer = KafkaProducer(bootstrap_servers=broker.address)
    for number in range(start, end):
        value = None if number == 7 else b"v%d" % number
        headers = [("n", b"%d" % number)]
        where = {"partition": number % PARTITIONS, "timestamp_ms": T0 + number}
        producer.send(topic, value, key=b"k%d" % number, headers=headers, **where)
    producer.flush()
    producer.close()


def consume(broker: Serving, topic: str, count: int) -> list[Any]:
    consumer = KafkaConsumer(bootstrap_servers=broker.address, auto_offset_reset="earliest", consumer_timeout_ms=9000)
    consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
    records = [next(consumer) for _ in range(count)]
    consumer.close()
    return records


def reader(spark: Any, broker: Serving, topic: str, **options: str) -> Any:
    return spark.read.format("kafka").options(
        **{"kafka.bootstrap.servers": broker.address, "subscribe": topic, "includeHeaders": "true", **options}
    )


def test_batch_read(spark: Any, broker: Serving, topic: str) -> None:
    """K1: Spark reads every record that there is, with all that belongs to it."""
    produce(broker, topic, 0, 100)
    rows = reader(spark, broker, topic).load().orderBy("timestamp").collect()
    assert [(row.partition, row.offset) for row in rows] == [divmod(n, 2)[::-1] for n in range(100)]
    assert [bytes(row.value) if row.value is not None else None for row in rows[6:9]] == [b"v6", None, b"v8"]
    assert {(row.topic, row.timestampType) for row in rows} == {(topic, 0)}
    assert [row.timestamp.timestamp() * 1000 for row in rows[:2]] == [T0, T0 + 1]
    assert [(header.key, bytes(header.value)) for header in rows[42].headers] == [("n", b"42")]


def test_batch_read_of_a_range(spark: Any, broker: Serving, topic: str) -> None:
    """K1: a range is given by offsets, or by times, which the broker turns into offsets."""
    produce(broker, topic, 0, 20)
    ends = {"startingOffsets": {topic: {"0": 2, "1": -2}}, "endingOffsets": {topic: {"0": 4, "1": -1}}}
    by_offset = reader(spark, broker, topic, **{name: json.dumps(value) for name, value in ends.items()}).load()
    assert sorted((row.partition, row.offset) for row in by_offset.select("partition", "offset").collect()) == [
        (0, 2),
        (0, 3),
        *((1, offset) for offset in range(10)),
    ]
    times = {"startingTimestamp": str(T0 + 6), "endingTimestamp": str(T0 + 11)}
    by_time = reader(spark, broker, topic, **times).load().selectExpr("cast(key as string) key").collect()
    assert sorted(row.key for row in by_time) == ["k10", "k6", "k7", "k8", "k9"]


def test_batch_write(spark: Any, broker: Serving, topic: str) -> None:
    """K1: what Spark writes, Python reads: keys, values, headers, and a tombstone."""
    rows = spark.range(50).selectExpr(
        "concat('k', id) key",
        "if(id = 7, null, concat('v', id)) value",
        "array(named_struct('key', 'n', 'value', cast(cast(id as string) as binary))) headers",
        "cast(id % 2 as int) partition",
    )
    writer = rows.write.format("kafka").option("kafka.bootstrap.servers", broker.address)
    writer.option("topic", topic).option("includeHeaders", "true").save()
    records = consume(broker, topic, 50)
    expected = [(b"k%d" % n, None if n == 7 else b"v%d" % n, n % 2, [("n", b"%d" % n)]) for n in range(50)]
    found = [(record.key, record.value, record.partition, record.headers) for record in records]
    assert sorted(found, key=lambda each: each[0]) == sorted(expected, key=lambda each: each[0])


def test_stream(spark: Any, broker: Serving, topic: str, tmp_path: Path) -> None:
    """K1: a stream from one topic to another, stopped and started again, carries every record over once."""
    copy = f"{topic}-copy"
    for start in (0, 30):
        produce(broker, topic, start, start + 30)
        source = spark.readStream.format("kafka").options(
            **{
                "kafka.bootstrap.servers": broker.address,
                "subscribe": topic,
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": "20",
            }
        )
        sink = source.load().select("key", "value", "partition").writeStream.format("kafka")
        sink = sink.options(
            **{"kafka.bootstrap.servers": broker.address, "topic": copy, "checkpointLocation": str(tmp_path)}
        )
        query = sink.trigger(availableNow=True).start()
        assert query.awaitTermination(60)
        assert query.exception() is None
    carried = consume(broker, copy, 60)
    assert sorted(record.key for record in carried) == sorted(b"k%d" % n for n in range(60))
    ends = reader(spark, broker, copy).load().count()
    assert ends == 60
