"""A whole topic, or a part of it, from plain Python: Arrow batches in the columns of Spark's Kafka source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from holdfast.catalog.catalog import Catalog
from holdfast.catalog.plan import plan
from holdfast.catalog.read import read
from holdfast.catalog.rows import TYPES
from holdfast.catalog.times import ALWAYS, Times
from holdfast.errors import Rejected
from holdfast.types import OffsetRange, TopicPartition


def read_topic(
    catalog: Catalog,
    topic: str,
    *,
    partitions: Iterable[int] | None = None,
    columns: Sequence[str] = tuple(TYPES),
    times: Times = ALWAYS,
    start: int | None = None,
    end: int | None = None,
    committed: bool = True,
    fail_on_data_loss: bool = True,
) -> Iterator[pa.RecordBatch]:
    """The stored records of a topic, partition by partition, each in the order of its offsets.

    `start` and `end` are offsets, for whoever reads one partition; `times` are milliseconds. With `committed`, what was
    aborted is left out, and nothing is read from the first open transaction on.
    """
    metadata = catalog.topics.get(topic)
    if metadata is None:
        raise Rejected(f"there is no topic {topic} in this catalog; there are {', '.join(sorted(catalog.topics))}")
    numbers = range(metadata.partitions) if partitions is None else list(partitions)
    if (start, end) != (None, None) and len(numbers) != 1:
        raise Rejected("start and end are offsets of one partition: name it with partitions=[number]")
    for number in numbers:
        where = TopicPartition(topic, number)
        there = catalog.readable(where, committed=committed)
        wanted = OffsetRange(there.start if start is None else start, there.end if end is None else end)
        for task in plan(catalog, {where: wanted}, times=times, committed=committed):
            yield from read(task, columns, catalog.store, fail_on_data_loss=fail_on_data_loss)
