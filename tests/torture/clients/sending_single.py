"""A plain producer of kafka-python with one request in flight: its records must stay in order through all retries.

kafka-python makes no request of a partition while one is under way. librdkafka makes the next one, and sends it before
it sends again what was refused; so its plain producers are held to the rule for several requests in flight.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError
from tests.torture.clients.reports import Reports
from tests.torture.facts import NO_TXN, value_of
from tests.torture.ground import PARTITIONS, Ground, Topic
from tests.torture.history import History

_FLUSH_S = 90.0
WAITS = 0.3  # Of all bursts.


@dataclass(frozen=True)
class SingleSender:
    """Writes bursts of records until it is told to stop."""

    name: str
    topic: Topic

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        chance = ground.chance(self.name)
        life = 0
        while not ground.writing.is_set():
            try:
                client = _client(ground)
            except (KafkaError, OSError):
                ground.writing.wait(0.1)
                continue
            self._live(ground, history, chance, client, f"{self.name}.{life}")
            life += 1
        history.close()

    def _live(
        self, ground: Ground, history: History, chance: random.Random, client: KafkaProducer, producer: str
    ) -> None:
        reports = Reports(history, producer, self.topic.name)
        history.info("producer", producer=producer, once=False, in_flight=1)
        number = 0
        while not ground.writing.wait(chance.uniform(0, 0.15)):
            count = chance.randint(1, 40)
            facts = {"producer": producer, "topic": self.topic.name, "txn": NO_TXN}
            history.invoke("send", first=number, count=count, **facts)
            for each in range(number, number + count):
                self._send(client, reports, producer, each, "x" * chance.choice([0, 10, 100, 1000]))
            number += count
            if chance.random() < WAITS:
                with suppress(KafkaTimeoutError):
                    client.flush(_FLUSH_S)
            reports.write()
        try:
            client.flush(_FLUSH_S)
        except KafkaTimeoutError:
            history.info("unfinished", what=f"records of {producer} have no answer")
        reports.write()
        client.close(timeout=5)

    def _send(self, client: KafkaProducer, reports: Reports, producer: str, number: int, padding: str) -> None:
        value = value_of(producer, number, padding=padding).encode()
        try:
            sent = client.send(self.topic.name, value, partition=number % PARTITIONS)
        except KafkaError as failure:  # No metadata, or no room: it was never sent.
            reports.refused(number, type(failure).__name__)
            return
        sent.add_callback(lambda told: reports.stored(number, told.partition, told.offset))
        sent.add_errback(lambda failure: reports.refused(number, type(failure).__name__))


def _client(ground: Ground) -> KafkaProducer:
    return KafkaProducer(
        bootstrap_servers=ground.bootstrap,
        enable_idempotence=False,
        acks="all",
        max_in_flight_requests_per_connection=1,
        delivery_timeout_ms=120_000,
        request_timeout_ms=10_000,
        retry_backoff_ms=50,
        reconnect_backoff_max_ms=300,
        linger_ms=2,
    )
