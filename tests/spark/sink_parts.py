"""The parts of the sink without Spark: rows staged, committed, and read back by another client."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from holdfast.catalog.store import Store
from holdfast.client import Client, ClientSettings
from holdfast.io.chance import SeededChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.io.objects import Objects
from holdfast.spark.sink.commit import Commit
from holdfast.spark.sink.options import SinkOptions
from holdfast.spark.sink.staging import Job, StagedObject, Stager, Targets

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def rows(start: int, end: int, **more: Any) -> pa.RecordBatch:
    """Rows with keys and values by their numbers."""
    numbers = range(start, end)
    columns = {
        "key": pa.array([b"k%d" % number for number in numbers], pa.binary()),
        "value": pa.array([b"v%d" % number for number in numbers], pa.binary()),
    }
    return pa.RecordBatch.from_pydict({**columns, **{name: pa.array(values) for name, values in more.items()}})


def stage(
    client: Client, objects: Objects, job: Job, *batches: pa.RecordBatch, task: int = 0, **options: Any
) -> list[StagedObject]:
    """What one task does."""
    settings = SinkOptions(ClientSettings(()), Store(""), **options)
    name = f"{job.prefix}{task:06}-0"
    return Stager(settings, objects, Targets(client), SystemClock(), SeededChance(task), name).stage(batches)


def commit(client: Client, objects: Objects, sink: str, clock: Clock | None = None, **limits: int) -> Commit:
    settings = {"timeout_ms": 60_000, "size_max": 1 << 30, **limits}
    return Commit(client, objects, clock or SystemClock(), sink, **settings)


def read_committed(address: str, topic: str, partitions: int) -> list[Any]:
    """Every record up to the last stable offset, as librdkafka reads it; in order within each partition."""
    settings = {
        "bootstrap.servers": address,
        "group.id": "reader",
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found: list[Any] = []
    ended: set[int] = set()
    while len(ended) < partitions:
        message = consumer.poll(30)
        assert message is not None, "nothing came for 30 seconds"
        error = message.error()
        if error is None:
            found.append(message)
        elif error.name() == "_PARTITION_EOF":
            ended.add(message.partition())
        else:
            raise AssertionError(error)
    consumer.close()
    return found
