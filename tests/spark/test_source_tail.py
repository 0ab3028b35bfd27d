"""The unflushed tail, read from a real broker: no gap, no double, and no silence when the broker is away."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.java.serving import Serving
from tests.support.spark_driven import Driven

from holdfast.catalog.errors import DataLost
from holdfast.client.errors import BrokerUnreachable
from holdfast.spark.source.options import parse
from holdfast.spark.source.schema import full_schema
from holdfast.spark.source.source import BatchReader
from holdfast.spark.source.tail import TailTask, read_tail


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path) as serving:
        yield serving


def produce(broker: Serving, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5})
    for number in range(count):
        producer.produce("t", f"v{number}", partition=0)
    assert producer.flush(30) == 0


def planned(broker: Serving, path: Path) -> list[Any]:
    options = {"path": str(path), "subscribe": "t", "kafka.bootstrap.servers": broker.address}
    return [(part.task, part.store) for part in reader(options).partitions()]  # type: ignore[attr-defined]


def reader(options: dict[str, str]) -> BatchReader:
    return BatchReader(parse(options, stream=False), full_schema(include_headers=False))


def tail_offsets(task: Any, store: Any, **more: Any) -> list[int]:
    batches = read_tail(task, ["offset", "value"], store, patience_s=1, **more)
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def test_a_stream_over_flushes_and_kills(broker: Serving, tmp_path: Path) -> None:
    """P2: a stream with the tail reads every record once, whatever was flushed, killed or started again meanwhile.
    The test of P2."""
    produce(broker, 100)
    stream = Driven(tmp_path, subscribe="t", **{"kafka.bootstrap.servers": broker.address})
    found = stream.run()
    for stop in (broker.kill, broker.stop, broker.kill):
        produce(broker, 50)
        found += stream.run()
        stop()
        broker.start()
        produce(broker, 10)
        found += stream.run()
    assert found == [("t", offset) for offset in range(280)]


def test_a_tail_that_is_lost_with_its_broker(broker: Serving, tmp_path: Path) -> None:
    """P2: a memory topic loses its tail with its broker: a stream that had read it is told, by the leader epoch."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    for each in admin.create_topics([NewTopic("t", 1, 1, config={"holdfast.durability": "memory"})]).values():
        each.result(30)
    shutil.copytree(tmp_path / "wal", tmp_path / "durable")
    produce(broker, 100)
    stream = Driven(tmp_path, subscribe="t", **{"kafka.bootstrap.servers": broker.address})
    assert len(stream.run()) == 100
    broker.kill()
    shutil.rmtree(tmp_path / "wal")  # A power cut: nobody had waited for the 100 records to be durable.
    (tmp_path / "durable").rename(tmp_path / "wal")
    broker.start()
    produce(broker, 120)
    with pytest.raises(DataLost, match=r"t-0: offsets \[0, 100\) are gone: they were read in leader epoch"):
        stream.run()
    assert stream.run(failOnDataLoss="false") == [("t", offset) for offset in range(120)]


def test_what_was_flushed_since_is_read_from_segments(broker: Serving, tmp_path: Path) -> None:
    """P1: a broker that stopped cleanly after the plan has flushed its tail: it is read there, all of it."""
    produce(broker, 100)
    [(task, store)] = planned(broker, tmp_path)
    assert isinstance(task, TailTask)
    assert broker.stop() == 0
    assert tail_offsets(task, store) == list(range(100))


def test_a_broker_that_is_away_is_an_error(broker: Serving, tmp_path: Path) -> None:
    """P1: what only a broker has cannot be read without it: an error, never fewer rows."""
    produce(broker, 100)
    [(task, store)] = planned(broker, tmp_path)
    broker.kill()
    with pytest.raises(BrokerUnreachable):
        tail_offsets(task, store)


def test_records_that_were_deleted_since(broker: Serving, tmp_path: Path) -> None:
    """P1: offsets of the tail that were deleted after the plan are data loss, told or left out by choice."""
    produce(broker, 100)
    [(task, store)] = planned(broker, tmp_path)
    admin = AdminClient({"bootstrap.servers": broker.address})
    for each in admin.delete_records([TopicPartition("t", 0, 40)]).values():
        each.result(30)
    with pytest.raises(DataLost, match=r"t-0: offsets \[0, 40\) are gone: the log starts at 40 now"):
        tail_offsets(task, store)
    assert tail_offsets(task, store, fail_on_data_loss=False) == list(range(40, 100))


def test_a_topic_that_was_made_again(broker: Serving, tmp_path: Path) -> None:
    """P1, P2: between planning and reading a topic was deleted, and another one of its name made: its records are not
    handed out as those of the first."""
    produce(broker, 10)
    [(task, store)] = planned(broker, tmp_path)
    admin = AdminClient({"bootstrap.servers": broker.address})
    for each in admin.delete_topics(["t"]).values():
        each.result(30)
    for each in admin.create_topics([NewTopic("t", 1, 1)]).values():
        each.result(30)
    produce(broker, 20)
    with pytest.raises(DataLost, match="the topic was deleted"):
        tail_offsets(task, store)
    assert tail_offsets(task, store, fail_on_data_loss=False) == []
