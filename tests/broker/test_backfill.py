"""A backfill whose answer is lost on the way: real librdkafka, a network that holds one answer back, a real upkeep."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from tests.broker.wire import Wire, batch, create_topic, end_offset, fetch, produce, values, wait_for
from tests.support.broker_process import BrokerProcess
from tests.support.slow_proxy import SlowProxy

from holdfast.testing import free_port

DAY_MS = 24 * 60 * 60 * 1000
EARLIEST = -2
PATIENCE_S = 30


def test_the_repeat_of_a_two_day_old_record_is_known_after_upkeep(tmp_path: Path) -> None:
    """D6, K4: the broker takes the record, its answer is held back, upkeep goes round, the client sends it again:
    it is there once. The test of D6."""
    port = free_port()
    with SlowProxy(port) as network:
        settings = ["log.retention_check_ms=50", f"serve.advertise={network.address}"]
        with BrokerProcess(tmp_path / "data", port=port, settings=settings), Wire(port) as wire:
            _backfill(network, wire, int(time.time() * 1000) - 2 * DAY_MS)


def _backfill(network: SlowProxy, wire: Wire, old_ms: int) -> None:
    create_topic(wire, "backfill", retention_ms="-1")
    create_topic(wire, "probe", retention_ms=str(DAY_MS))
    told: list[Any] = []
    producer = Producer({"bootstrap.servers": network.address, "enable.idempotence": True, "linger.ms": 0})

    def send(value: bytes) -> None:
        producer.produce(
            "backfill", value, partition=0, timestamp=old_ms, on_delivery=lambda error, _: told.append(error)
        )

    send(b"first")
    assert producer.flush(PATIENCE_S) == 0
    network.hold_answers(on=True)
    send(b"second")
    wait_for(lambda: end_offset(wire, "backfill") == 2)
    produce(wire, "probe", batch(b"old", timestamp=old_ms))
    wait_for(lambda: end_offset(wire, "probe", timestamp=EARLIEST) == 1)  # Retention comes right behind producers.
    network.cut()
    network.hold_answers(on=False)
    assert producer.flush(PATIENCE_S) == 0
    send(b"third")
    assert producer.flush(PATIENCE_S) == 0
    assert told == [None] * 3
    assert values(fetch(wire, "backfill").records) == [b"first", b"second", b"third"]
