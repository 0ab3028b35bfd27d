"""Brokers with data in them: the same records for both, by the same producer."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.broker import brokers
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from holdfast.testing import free_port

PARTITIONS = 4
T0 = 1_700_000_000_000
STEP_MS = 10  # Between two records.
_POOL_SIZE = 1 << 20
_STRIDE = 10_007  # From one value to the next: they share nothing that lies near.


@contextmanager
def ours(folder: Path, *settings: str) -> Iterator[brokers.Running]:
    """`holdfast serve`; its data stays when it ends."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "holdfast"), "serve", "--data", str(folder)]
    command += ["--listen", f"127.0.0.1:{port}", *(part for each in settings for part in ("--set", each))]
    yield from brokers.run("holdfast", command, port, folder, keep=True)


def fill(address: str, topic: str, size: int, rows: int) -> None:
    """Row n has time T0 + 10 n and goes to partition n % 4, in batches of lz4."""
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1, config={"retention.ms": "-1"})]).values():
        future.result()
    add(address, topic, size, 0, rows)


def flush(address: str, topic: str) -> None:
    """Everything into segments."""
    from holdfast.client import Client

    with Client(address) as client:
        client.flush_topic(topic)


def add(address: str, topic: str, size: int, first: int, rows: int) -> None:
    """So many rows from this one on."""
    settings = {"bootstrap.servers": address, "compression.type": "lz4", "linger.ms": 20, "batch.size": 262_144}
    producer = Producer({**settings, "queue.buffering.max.messages": 200_000, "enable.idempotence": True})
    pool = _pool(size)
    for number in range(first, first + rows):
        start = number * _STRIDE % _POOL_SIZE
        while True:
            try:
                producer.produce(
                    topic,
                    pool[start : start + size],
                    b"key-%d" % (number % 100_000),
                    number % PARTITIONS,
                    timestamp=T0 + STEP_MS * number,
                )
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def _pool(size: int) -> bytes:
    """Words and numbers: lz4 makes about half of it."""
    chance = random.Random(7)
    made = bytearray()
    while len(made) < _POOL_SIZE + size:
        made += b'{"id":%d,"name":"%x","state":"open"},' % (chance.randrange(10**9), chance.randrange(2**64))
    return bytes(made)
