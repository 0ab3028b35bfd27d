"""A partition that could not be opened at the start, and whose object is put back: no restart is needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from tests.metrics.test_metrics import scrape

from holdfast.io.objects.local.objects import LocalObjects
from holdfast.operate.place import topic_names
from holdfast.testing import running_broker
from holdfast.testing.process import RunningBroker

SETTINGS = {"serve_metrics_listen": "127.0.0.1:0"}


def until(what: Callable[[], object], broker: RunningBroker) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, broker.said[-5:]
        time.sleep(0.1)


def failed(broker: RunningBroker) -> float:
    """What the metrics say of the partitions of orders."""
    found = scrape(broker).samples["holdfast_partition_failed"]
    return sum(value for labels, value in found.items() if "orders" in str(labels))


def test_a_partition_is_served_again_when_its_manifest_is_put_back(tmp_path: Path) -> None:
    """D5, D8, O2: failed while the manifest is damaged, whole without a restart when it is not; said once each, and the
    metric follows."""
    with running_broker(tmp_path, **SETTINGS) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", b"first", partition=0)
        assert producer.flush(60) == 0
        broker.stop()
    [folder] = {each.parent for each in tmp_path.rglob("*.seg") if is_of_orders(each, tmp_path)}
    manifests = Path(str(folder).replace("/segments/", "/manifests/"))
    kept = {each: each.read_bytes() for each in manifests.glob("0*.json")}
    for each, data in kept.items():
        each.write_bytes(data[:-20] + bytes(20))
    with running_broker(tmp_path, **SETTINGS) as broker:
        assert failed(broker) == 1
        for each, data in kept.items():
            each.write_bytes(data)
        until(lambda: any("orders-0 is whole again" in line for line in broker.said), broker)
        assert failed(broker) == 0
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False})
        consumer.assign([TopicPartition("orders", 0, 0)])
        message = consumer.poll(30)
        assert message is not None
        assert message.value() == b"first"
        consumer.close()
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", b"second", partition=0)
        assert producer.flush(60) == 0
        assert len([line for line in broker.said if "orders-0 cannot be opened" in line]) == 1
        broker.stop()


def test_a_partition_with_records_of_its_own_in_the_log_is_in_quarantine(tmp_path: Path) -> None:
    """D5, O2: the line says which of the two it is: one that is tried again, or one that waits for a repair."""
    with running_broker(tmp_path) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", b"first", partition=0)
        assert producer.flush(60) == 0
        broker.kill()
    for each in (tmp_path / "objects" / "manifests").rglob("0*.json"):
        each.write_bytes(each.read_bytes()[:-20] + bytes(20))
    with running_broker(tmp_path) as broker:
        assert len([line for line in broker.said if "orders-0 is in quarantine" in line]) == 1
        assert not [line for line in broker.said if "orders-0 cannot be opened" in line]
        broker.stop()


def is_of_orders(segment: Path, data: Path) -> bool:
    names = {topic_id.hex: name for topic_id, name in topic_names(LocalObjects(data / "objects")).items()}
    return names.get(segment.parent.parent.name) == "orders"
