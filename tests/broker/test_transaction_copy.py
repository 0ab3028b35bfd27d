"""Exactly once: a copy loop that reads, writes and commits its offsets in transactions, while everything dies."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.broker.librdkafka import PATIENCE_S, consuming, create, produce_all, take
from tests.support.broker_process import BrokerProcess

RECORDS = 200
AT_ONCE = 17
KILLS = 2


class Copier:
    """One process that copies; it may be given up at any moment, and another one goes on."""

    def __init__(self, broker: BrokerProcess) -> None:
        # When librdkafka begins anew from its bootstrap servers, it sends offsets to a coordinator it no longer knows.
        keep = {"metadata.recovery.strategy": "none"}
        address = {"bootstrap.servers": broker.address, "reconnect.backoff.max.ms": 100, **keep}
        self.consumer = Consumer(
            {**address, "group.id": "copy", "enable.auto.commit": False, "isolation.level": "read_committed"}
        )
        self.producer = Producer({**address, "transactional.id": "copy", "linger.ms": 0, "retry.backoff.ms": 20})
        self.producer.init_transactions(PATIENCE_S)
        [found] = self.consumer.committed([TopicPartition("from", 0)], PATIENCE_S)
        self.offset = max(found.offset, 0)
        self.consumer.assign([TopicPartition("from", 0, self.offset)])

    def copy(self, *, commit: bool) -> None:
        """Some records, all or none of them."""
        start, messages = self.offset, take(self.consumer, min(AT_ONCE, RECORDS - self.offset))
        self.producer.begin_transaction()
        for message in messages:
            self.producer.produce("to", message.value())
        self.offset = start + len(messages)
        offsets = [TopicPartition("from", 0, self.offset)]
        self.producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata(), PATIENCE_S)
        if commit:
            self.producer.commit_transaction(PATIENCE_S)
        else:
            self.producer.abort_transaction(PATIENCE_S)
            self.offset = start
            self.consumer.assign([TopicPartition("from", 0, start)])

    def close(self) -> None:
        self.consumer.close()


def test_a_copy_loop_is_exact(own_broker: Callable[..., BrokerProcess]) -> None:
    """K4, A8: every record is copied once and in order, through aborts, copiers that are given up in the middle of a
    transaction, and kills of the broker. The test of K4."""
    broker = own_broker()
    admin = AdminClient({"bootstrap.servers": broker.address})
    create(admin, "from")
    create(admin, "to")
    produce_all(broker, "from", [{"value": b"%d" % number} for number in range(RECORDS)])
    chance = random.Random(7)
    copier, kills = Copier(broker), 0
    deadline = time.monotonic() + 3 * PATIENCE_S
    while copier.offset < RECORDS:
        assert time.monotonic() < deadline, f"{copier.offset} of {RECORDS}"
        drawn = chance.random()
        if drawn < 0.2:  # Given up: what it has begun is for its successor to end.
            copier.producer.begin_transaction()
            copier.producer.produce("to", b"never")
            copier.producer.flush(PATIENCE_S)
            copier.close()
            copier = Copier(broker)
        elif drawn < 0.4 and kills < KILLS:
            kills += 1
            broker.kill()
            broker.start()
        try:
            copier.copy(commit=chance.random() < 0.7)
        except KafkaException as failure:
            error = failure.args[0]
            assert not error.fatal(), error
            copier.close()
            copier = Copier(broker)
    copier.close()
    with consuming(broker, isolation_level="read_committed") as reader:
        reader.assign([TopicPartition("to", 0, 0)])
        assert [int(message.value()) for message in take(reader, RECORDS)] == list(range(RECORDS))
    assert kills == KILLS
