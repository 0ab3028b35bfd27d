"""What a cluster leaves in its store when all its brokers are killed and their disks are gone."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.cluster.test_many import PATIENT, leaders, many, start, until_led_by
from tests.cluster.test_pair import Cluster
from tests.kill.numbers import QUIET
from tests.support.broker_process import COMMAND
from tests.support.s3_server import S3Server

from holdfast.catalog import open_catalog
from holdfast.types import TopicPartition

TOPIC = "t"
PARTITIONS = 3
HELD = 2  # The partition with a transaction that is never ended.
UNFLUSHED = ("log.flush_age_ms_max=3600000",)

Record = tuple[int, bytes]


@dataclass
class Left:
    """A store that nobody serves, and what its clients were told."""

    store: str
    everything: dict[int, list[Record]] = field(default_factory=lambda: {number: [] for number in range(PARTITIONS)})
    undone: set[tuple[int, int]] = field(default_factory=set)
    held_from: int = 0

    @property
    def committed(self) -> dict[int, list[Record]]:
        return {
            number: [
                each
                for each in records
                if (number, each[0]) not in self.undone and (number != HELD or each[0] < self.held_from)
            ]
            for number, records in self.everything.items()
        }

    def produce(self, producer: Producer, name: str, count: int, *partitions: int) -> list[tuple[int, int]]:
        """Records, each with a value of its own; where they are."""
        places: list[tuple[int, int]] = []

        def told(error: Any, message: Message) -> None:
            assert error is None, error
            where, offset = int(message.partition()), int(message.offset())  # type: ignore[arg-type]
            self.everything[where].append((offset, bytes(message.value())))  # type: ignore[arg-type]
            places.append((where, offset))

        for number in range(count):
            for partition in partitions:
                producer.produce(TOPIC, f"{name}-{partition}-{number}", partition=partition, on_delivery=told)
        assert producer.flush(60) == 0
        assert len(places) == count * len(partitions)
        return places


def fresh_url(server: S3Server) -> str:
    """A place that no other server had: a process keeps the stores that it has opened, by their addresses."""
    return f"s3://{server.fresh_bucket()}/{uuid4().hex}"


def transactional(bootstrap: str, name: str) -> Producer:
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    return producer


def flush(store: str, cluster: Cluster) -> None:
    """Give each partition to the other broker: what it has is flushed before."""
    deadline = time.monotonic() + 60
    for number in range(PARTITIONS):
        where, other = TopicPartition(TOPIC, number), 3 - leaders(cluster, 1, TOPIC)[number]
        while not open_catalog(store, topics=[TOPIC], rounds=False).readable(where, committed=False).end:
            assert time.monotonic() < deadline, "a partition was not moved"
            subprocess.run([COMMAND, "cluster", "move", store, f"{TOPIC}:{number}", str(other)], check=True)
            time.sleep(0.1)


def write(left: Left, cluster: Cluster) -> None:
    """Flushed and not; committed, aborted with records in segments and a marker in rounds, and left open."""
    known = cluster.bootstrap
    admin = AdminClient({**QUIET, "bootstrap.servers": known})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
    until_led_by(cluster, 1, {1, 2}, topic=TOPIC)
    plain = Producer({**QUIET, "bootstrap.servers": known, "enable.idempotence": True})
    left.produce(plain, "stored", 20, 0, 1, 2)
    failing = transactional(known, "failing")
    left.undone.update(left.produce(failing, "undone", 5, 0, 1))
    flush(left.store, cluster)
    left.produce(plain, "tail", 20, 0, 1, 2)
    left.undone.update(left.produce(failing, "undone-tail", 5, 0, 1))
    failing.abort_transaction(60)
    done = transactional(known, "done")
    left.produce(done, "done", 5, 0, 1)
    done.commit_transaction(60)
    held = transactional(known, "held")
    left.held_from = left.produce(held, "held", 3, HELD)[0][1]
    left.produce(plain, "last", 5, 0, 1, 2)


@contextmanager
def all_lost(folder: Path, store: str) -> Iterator[Left]:
    """Two brokers, each of which leads; then none."""
    left = Left(store)
    with many(folder, *PATIENT, *UNFLUSHED, store=store) as cluster:
        start(cluster, 1, 2)
        write(left, cluster)
        for number in (1, 2):
            cluster.lose(number)
    yield left
