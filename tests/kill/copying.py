"""Copy loops: transfers are read, written to another topic and counted as read in one transaction, exactly once."""

from __future__ import annotations

import random
import threading
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition
from tests.kill import transfers
from tests.kill.numbers import group_settings
from tests.kill.transactors import Librdkafka, persist
from tests.support.reading import Found, read_whole, values_of

TOPIC = "copies"
GROUP = "copiers"
_AT_ONCE = 100
_ABORTED = 0.1


class Copier:
    """One member of the group. After a failure it is given up, and another one begins at what is committed."""

    def __init__(self, address: str, protocol: str, transactional_id: str) -> None:
        self._transactor = Librdkafka(address, transactional_id)
        settings = {**group_settings(address, GROUP, protocol), "isolation.level": "read_committed"}
        self._consumer = Consumer(settings)
        self._consumer.subscribe([transfers.TOPIC])

    def copy(self, *, commit: bool) -> None:
        messages = [each for each in self._consumer.consume(_AT_ONCE, 0.05) if each.error() is None]
        if not messages:
            return
        producer = self._transactor.producer
        producer.begin_transaction()
        before: dict[int, int] = {}
        after: dict[int, int] = {}
        for each in messages:
            producer.produce(TOPIC, each.value(), partition=each.partition())
            before.setdefault(each.partition(), each.offset())
            after[each.partition()] = each.offset() + 1
        offsets = [TopicPartition(transfers.TOPIC, *place) for place in after.items()]
        who = self._consumer.consumer_group_metadata()
        persist(lambda seconds: producer.send_offsets_to_transaction(offsets, who, seconds))
        persist(producer.commit_transaction if commit else producer.abort_transaction)
        if not commit:
            for place in before.items():
                self._consumer.seek(TopicPartition(transfers.TOPIC, *place))

    def close(self) -> None:
        self._transactor.close()
        self._consumer.close()


def copy(protocol: str, address: str, failures: list[str], stop: threading.Event, seed: int) -> None:
    """Copy until it is time to stop."""
    chance = random.Random(seed)
    copier: Copier | None = None
    while not stop.is_set():
        try:
            copier = copier or Copier(address, protocol, f"copier-{protocol}")
            copier.copy(commit=chance.random() >= _ABORTED)
        except (KafkaException, TimeoutError) as failure:
            failures.append(f"copier {protocol}: {failure!r}")
            if copier is not None:
                copier.close()
            copier = None
    if copier is not None:
        copier.close()


def wait_for_copies(address: str, count: int, seconds_max: float = 90) -> None:
    """Until there are as many as there should be, or they have had their time."""
    deadline = time.monotonic() + seconds_max
    while time.monotonic() < deadline:
        if len(read_whole(address, TOPIC, transfers.PARTITIONS, committed=True)) >= count:
            return
        time.sleep(0.05)


def check(source: Found, copies: Found) -> list[str]:
    """What is wrong: each partition must be the same, record by record."""
    problems = []
    for partition in range(transfers.PARTITIONS):
        wanted, found = values_of(source, partition), values_of(copies, partition)
        if wanted != found:
            at = next((n for n, (a, b) in enumerate(zip(wanted, found, strict=False)) if a != b), None)
            problems.append(f"copy of partition {partition}: {len(found)} of {len(wanted)}, first difference at {at}")
    return problems
