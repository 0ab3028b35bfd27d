"""Kafka's clients at a broker that was started without its store: they read what only the write-ahead log has."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from tests.metrics.test_metrics import scrape, url
from tests.operate.test_start_without_store import until

from holdfast.cli.doctor.command import look_at_store
from holdfast.operate.doctor.finding import FindingState
from holdfast.operate.doctor.storage import store_waited_for
from holdfast.testing.process import RunningBroker

EARLY, LATE = 40, 25  # Records that are in the store, and records that are only in the log.
ORDERS = {"topic": "orders", "partition": "0"}


def options(store: Path) -> list[str]:
    return ["--store", str(store), "--metrics", "127.0.0.1:0"]


def produce(broker: RunningBroker, start: int, end: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(start, end):
        producer.produce("orders", b"%d" % number, partition=0)
    assert producer.flush(60) == 0


def consumer_at(broker: RunningBroker, offset: int) -> Consumer:
    """With librdkafka's own isolation level, which is read_committed; a reset would be an error."""
    settings = {"group.id": "g", "auto.offset.reset": "error", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, **settings})
    consumer.assign([TopicPartition("orders", 0, offset)])
    return consumer


def take(consumer: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    end = time.monotonic() + 60
    while len(found) < count and time.monotonic() < end:
        message = consumer.poll(1)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message.value())
    return found


def get(address: str, path: str) -> tuple[int, str]:
    """What somebody is told who looks after the process."""
    host, _, port = address.rpartition(":")
    link = HTTPConnection(host, int(port), timeout=20)
    link.request("GET", path)
    answer = link.getresponse()
    return answer.status, answer.read().decode()


def waits(broker: RunningBroker, seconds: str) -> int:
    """The exit code of `holdfast wait`."""
    command = [sys.executable, "-m", "holdfast", "wait", "--timeout", seconds, "--bootstrap", broker.bootstrap]
    return subprocess.run(command, capture_output=True, timeout=120, check=False).returncode


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    """Its first records were flushed, its last are in the log only; killed."""
    with RunningBroker(tmp_path / "data", options=options(tmp_path / "store")) as broker:
        produce(broker, 0, EARLY)
        assert broker.stop() == 0
        broker.start()
        produce(broker, EARLY, EARLY + LATE)
        broker.kill()
        broker.said.clear()
        yield broker


def test_the_log_is_read_while_the_store_is_away(broker: RunningBroker, tmp_path: Path) -> None:
    """D4: a consumer gets the unflushed records, one of older records waits, a producer is held; metrics, `status`,
    `doctor` and the log say so. When the store is back everything is there, in order, once."""
    store, away = tmp_path / "store", tmp_path / "away"
    store.rename(away)
    broker.start()
    said = f"1 partition is read from the write-ahead log: orders-0 [{EARLY}, {EARLY + LATE})"
    assert any("store away" in line and said in line for line in broker.said), broker.said[-3:]
    late, early = consumer_at(broker, EARLY), consumer_at(broker, 0)
    assert take(late, LATE) == numbers(EARLY, EARLY + LATE)
    assert late.get_watermark_offsets(TopicPartition("orders", 0), 30, cached=True)[1] == EARLY + LATE
    assert early.poll(0.5) is None
    delivered: list[tuple[KafkaError | None, int | None]] = []

    def note(error: KafkaError | None, message: Message) -> None:
        delivered.append((error, message.offset()))

    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    producer.produce("orders", b"%d" % (EARLY + LATE), partition=0, on_delivery=note)
    assert producer.flush(0.3) == 1
    now = scrape(broker)
    assert now.get("holdfast_store_waiting") == now.get("holdfast_store_waiting_partitions") == 1
    assert now.get("holdfast_store_waiting_seconds") > 0
    assert now.get("holdfast_partition_high_watermark", **ORDERS) == EARLY + LATE
    address = url(broker).removeprefix("http://").partition("/")[0]
    command = [sys.executable, "-m", "holdfast.cli", "status", address, "--json"]
    status = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert status.returncode == 1
    shown = json.loads(status.stdout)
    assert (shown["well"], shown["waits_for_store"], shown["served_from_log"]) == (False, True, ["orders-0"])
    assert get(address, "/healthz") == (200, "alive\n")
    assert get(address, "/readyz") == (503, "the store has not answered since the start: writes are refused\n")
    assert waits(broker, "0.5") == 1
    (finding,) = store_waited_for(address)
    assert "waits for its store" in finding.found
    assert "orders-0" in finding.found
    assert look_at_store(str(store), is_known=True).state is FindingState.MISSING
    assert not store.exists()  # Nobody has made anything where the store was.
    away.rename(store)
    until(lambda: any("store back" in line for line in broker.said), broker)
    assert waits(broker, "60") == 0
    until(lambda: get(address, "/readyz") == (200, "ready\n"), broker)
    assert producer.flush(60) == 0
    assert delivered == [(None, EARLY + LATE)]
    assert take(late, 1) == numbers(EARLY + LATE, EARLY + LATE + 1)
    assert take(early, EARLY + LATE + 1) == numbers(0, EARLY + LATE + 1)
    until(lambda: scrape(broker).samples.get("holdfast_owner"), broker)  # The whole broker answers there, too.
    assert scrape(broker).get("holdfast_store_waiting") == 0
    late.close()
    early.close()
    assert broker.stop() == 0


def test_a_store_that_hangs_keeps_nobody_waiting(broker: RunningBroker) -> None:
    """D4: it takes connections, and never answers. The port opens long before a call has run out of time, what is in
    the log is read, and the broker can be stopped."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "here"}
        keys["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        given = ["--store", "s3://bucket", "--set", "store.request_timeout_ms=600000"]
        with RunningBroker(broker.data, options=given, environment=keys) as hanging:
            assert any("store away: it does not answer" in line for line in hanging.said), hanging.said[-3:]
            consumer = consumer_at(hanging, EARLY + 3)
            assert take(consumer, LATE - 3) == numbers(EARLY + 3, EARLY + LATE)
            consumer.close()
            assert hanging.stop() == 0
