"""A producer that writes to many partitions, a little to each: what fills a log with tails that are hard to store."""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import KafkaException, Producer
from tests.torture.clients.reports import Reports
from tests.torture.facts import NO_TXN, value_of
from tests.torture.ground import Ground, Topic

_FLUSH_S = 90.0
BURST = 500
SIZE = 2000


@dataclass(frozen=True)
class ManySender:
    """Writes as fast as it is acknowledged, until it is told to stop."""

    name: str
    topic: Topic

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        reports = Reports(history, self.name, self.topic.name)
        producer = Producer(ground.settings(message_timeout_ms=120_000, linger_ms=2, enable_idempotence=False))
        history.info("producer", producer=self.name, once=False, in_flight=5)
        number = 0
        while not ground.writing.wait(0.02):
            facts = {"producer": self.name, "topic": self.topic.name, "txn": NO_TXN}
            history.invoke("send", first=number, count=BURST, **facts)
            for each in range(number, number + BURST):
                value = value_of(self.name, each, padding="x" * SIZE)
                try:
                    told = reports.for_number(each)
                    producer.produce(self.topic.name, value, partition=each % self.topic.partitions, on_delivery=told)
                except (BufferError, KafkaException):
                    producer.poll(0.1)  # Left out: it was never sent.
            number += BURST
            producer.flush(_FLUSH_S)
            reports.write()
        if producer.flush(_FLUSH_S):
            history.info("unfinished", what=f"records of {self.name} have no answer")
        reports.write()
        history.close()
