"""A broker without machine code takes and refuses the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from holdfast.native import VARIABLE
from holdfast.testing.process import RunningBroker

COUNT = 3000


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_broker_without_machine_code_serves_the_same(tmp_path: Path, codec: str) -> None:
    """K1: small batches and large ones, plain and compressed, are taken, and read back whole."""
    with RunningBroker(tmp_path / "data", environment={VARIABLE: "off"}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec, "acks": "all"})
        failed: list[object] = []
        for number in range(COUNT):
            producer.produce("t", str(number).encode(), on_delivery=lambda why, _: failed.append(why) if why else None)
            if number < 20:
                producer.flush(10)
        assert producer.flush(30) == 0
        assert not failed
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        found: list[int] = []
        while len(found) < COUNT:
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
            found.append(int(message.value() or b""))
        consumer.close()
    assert found == list(range(COUNT))
