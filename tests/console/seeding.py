"""Data with something to show: what is flushed and what is not, transactions open and aborted, a group behind."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

ORDERS = 600  # Records in partition 0 of `orders` before its open transaction.
LATE = 5  # Records of the open transaction, and
HELD = 7  # of others behind it.
COMMITTED = 350  # How far the group has read.


def seed(conf: dict[str, Any]) -> Producer:
    """Fill a broker; a producer whose transaction may be opened, and which must live on, or it ends."""
    admin = AdminClient(conf)
    topics = [
        NewTopic("orders", 3, config={"retention.ms": "86400000", "segment.bytes": "20000"}),
        NewTopic("payments", 1),
        NewTopic("customers", 2, config={"cleanup.policy": "compact"}),
        NewTopic("clicks", 4, config={"holdfast.durability": "memory"}),
    ]
    for made in admin.create_topics(topics).values():
        made.result(20)
    plain = Producer(conf | {"linger.ms": 5, "batch.num.messages": 50})
    for number in range(ORDERS):
        value = {"order": number, "customer": f"c{number % 17}", "amount": number * 3 % 101, "open": number % 2 == 0}
        headers = [("trace", f"t-{number}".encode())]
        plain.produce("orders", json.dumps(value), f"key-{number}", partition=0, headers=headers)
        plain.produce("orders", json.dumps(value), f"key-{number}", partition=1 + number % 2)
        if number % 5 == 0:
            plain.produce("customers", json.dumps({"name": f"customer {number % 17}"}), f"c{number % 17}")
            plain.produce("clicks", f"click {number}", f"c{number % 17}")
        plain.poll(0)
    plain.flush(20)
    _aborted(conf)
    opened = Producer(conf | {"transactional.id": "billing-1", "transaction.timeout.ms": 600_000, "linger.ms": 1})
    opened.init_transactions(20)
    _behind(conf)
    return opened


def open_transaction(conf: dict[str, Any], opened: Producer) -> None:
    """A transaction that nobody ends, and records behind it."""
    opened.begin_transaction()
    for number in range(LATE):
        opened.produce("orders", f"undecided {number}", "billing", partition=0)
    opened.flush(20)
    plain = Producer(conf)
    for number in range(HELD):
        plain.produce("orders", f"late {number}", f"late-{number}", partition=0)
    plain.flush(20)


def _aborted(conf: dict[str, Any]) -> None:
    producer = Producer(conf | {"transactional.id": "refunds-1", "linger.ms": 1})
    producer.init_transactions(20)
    for is_kept in (True, False):
        producer.begin_transaction()
        for number in range(4):
            producer.produce("payments", f"{'kept' if is_kept else 'aborted'} {number}", "refund")
        producer.flush(20)
        producer.commit_transaction(20) if is_kept else producer.abort_transaction(20)


def _behind(conf: dict[str, Any]) -> None:
    consumer = Consumer(conf | {"group.id": "billing", "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    offsets = [TopicPartition("orders", 0, COMMITTED), TopicPartition("orders", 1, 10)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()
