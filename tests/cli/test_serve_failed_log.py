"""A broker whose write-ahead log has failed, as a process: it has nothing left to wait for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.torture.controls import Controls

from holdfast.testing import RunningBroker

ENTRY = Path(__file__).parents[1] / "torture" / "faulty_serve.py"
TOPIC = "t"
_ENDS_S = 4.0  # About one, and some more on a busy machine; a clean stop waits for the store for eight.


@contextmanager
def broker_with(controls: Controls, data: Path) -> Iterator[RunningBroker]:
    options = ["--set", "log.flush_age_ms_max=50", "--set", "num.partitions=1"]
    environment = {"TORTURE_CONTROLS": str(controls.path)}
    with RunningBroker(data, environment=environment, options=options, entry=[str(ENTRY)]) as broker:
        yield broker


def send(producer: Producer, value: bytes) -> KafkaError | None:
    """What the broker says to one record."""
    told: list[KafkaError | None] = []
    producer.produce(TOPIC, value, on_delivery=lambda error, _: told.append(error))
    assert producer.flush(60) == 0
    return told[0]


def reader(broker: RunningBroker) -> Consumer:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "nobody", "log_level": 0})
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    return consumer


@pytest.mark.timeout(120)
def test_a_broker_whose_fsync_failed_waits_for_no_store(tmp_path: Path) -> None:
    """W4, D4: a flush, a fetch and a new topic hang in the store; it ends at once, and acknowledges nothing."""
    controls = Controls(tmp_path / "controls")
    with broker_with(controls, tmp_path / "data") as broker:
        settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0, "message.timeout.ms": 2000}
        producer, admin = Producer(settings), AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        assert send(producer, b"stored") is None
        broker.restart()  # All is in the store, and nothing in a cache.
        controls["store_hangs"] = 1
        assert send(producer, b"in a flush that hangs") is None
        admin.create_topics([NewTopic("another", 1)])
        consumer = reader(broker)
        assert consumer.poll(1.0) is None, "it was not read from the store"
        began = time.monotonic()
        controls["sync_fails"] = 1
        assert send(producer, b"not durable") is not None
        code, took_s = broker.wait(60), time.monotonic() - began
        consumer.close()
    assert (code, broker.said[-1].startswith("holdfast: the logs have stopped")) == (1, True), broker.said[-5:]
    assert took_s < _ENDS_S, f"{took_s:.1f} s"


@pytest.mark.timeout(120)
def test_a_stop_whose_last_fsync_fails_is_not_called_clean(tmp_path: Path) -> None:
    """W4, A4: what was acknowledged is on the disk; that the log's end is not is told, and the process ends with 1."""
    controls = Controls(tmp_path / "controls")
    with broker_with(controls, tmp_path / "data") as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        assert send(producer, b"acknowledged") is None
        controls["sync_fails"] = 1
        assert broker.stop() == 1
        controls["sync_fails"] = 0
        broker.restart()
        found = reader(broker).poll(30)
        assert found is not None
        assert found.value() == b"acknowledged"
