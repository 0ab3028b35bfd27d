"""Kafka's Java producer with batches that are larger than its topic takes: it splits them, and sends again.

Each burst is a producer of its own, so that the first batch that the broker hears of is one that it must refuse. Only
what it is told counts: a batch whose repeat is called a duplicate though it was never stored is lost.
"""

from __future__ import annotations

import base64
from contextlib import closing
from dataclasses import dataclass

from tests.java.jvm import JavaFailure, Jvm
from tests.torture.clients.reports import Reports
from tests.torture.facts import NO_TXN, value_of
from tests.torture.ground import Ground, Topic

CONFIG = {"batch.size": "20000", "linger.ms": "20", "reconnect.backoff.max.ms": "300", "retry.backoff.ms": "50"}
BURST = 150


@dataclass(frozen=True)
class JavaSender:
    """Writes bursts of records until it is told to stop."""

    name: str
    topic: Topic

    def run(self, ground: Ground) -> None:
        chance = ground.chance(self.name)
        burst = 0
        with Jvm(ground.bootstrap) as java, closing(ground.history(self.name)) as history:
            while not ground.writing.wait(chance.uniform(0, 0.5)):
                producer = f"{self.name}.{burst}"
                burst += 1
                history.info("producer", producer=producer, once=True, in_flight=5)
                reports = Reports(history, producer, self.topic.name)
                facts = {"producer": producer, "topic": self.topic.name, "txn": NO_TXN}
                history.invoke("send", first=0, count=BURST, **facts)
                values = [value_of(producer, each, padding="x" * chance.choice([100, 400])) for each in range(BURST)]
                partition = chance.randrange(self.topic.partitions)
                records = [
                    {
                        "topic": self.topic.name,
                        "partition": partition,
                        "value": base64.b64encode(value.encode()).decode(),
                    }
                    for value in values
                ]
                try:
                    told = java.do("produce", config=CONFIG, records=records)
                except JavaFailure:
                    continue  # Nobody knows what became of them.
                for number, each in enumerate(told):
                    if "error" in each:
                        reports.refused(number, each["error"])
                    else:
                        reports.stored(number, each["partition"], each["offset"])
                reports.write()
