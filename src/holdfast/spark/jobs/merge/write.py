"""Second pass of a merge, on executors: the records of one range of keys, sorted, as one Parquet file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.catalog.plan import Task
from holdfast.catalog.store import Store
from holdfast.io.chance import SystemChance
from holdfast.record.columnar.arrow import HEADER, TIMESTAMP
from holdfast.record.unreadable import SteppedOver
from holdfast.spark.jobs.archive.rows import rows_of
from holdfast.spark.jobs.archive.state import Placement
from holdfast.spark.jobs.merge.ranges import KeyRange, is_inside
from holdfast.spark.jobs.merge.source import moved
from holdfast.spark.jobs.merge.survey import Slice

ROW_GROUP_COUNT = 250_000
_FIELDS: list[Any] = [
    ("source", pa.int32()),
    ("source_name", pa.string()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", TIMESTAMP),
    ("timestamp_type", pa.int32()),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("headers", pa.list_(HEADER)),
]
SCHEMA: Any = pa.schema(_FIELDS)


class MergePart(NamedTuple):
    """A slice, and where it is read."""

    slice: Slice
    store: Store
    name: str  # Of the source.


@dataclass(frozen=True)
class MergeTask:
    """One range of keys."""

    number: int
    wanted: KeyRange
    parts: tuple[MergePart, ...]  # In the order of source, partition and offset.
    placement: Placement


class MergedFile(NamedTuple):
    """What a task has written."""

    name: str
    rows: int
    size: int
    first_time: int
    last_time: int


def merge_task(task: MergeTask) -> MergedFile | None:
    """Read, sort, write. Parts come in the order of keys of one time, so a stable sort by time is the whole sort."""
    batches = [batch for part in task.parts for batch in _rows(part, task)]
    if not batches:
        return None
    table = pa.Table.from_batches(batches, schema=SCHEMA)
    times = table.column("timestamp").cast(pa.int64()).to_numpy()
    table = table.take(np.argsort(times, kind="stable"))
    out = pa.BufferOutputStream()
    compression: Any = task.placement.compression
    dictionary: Any = ["source", "source_name", "topic", "partition", "timestamp_type", "key"]
    pq.write_table(table, out, ROW_GROUP_COUNT, compression=compression, use_dictionary=dictionary)
    data = out.getvalue()
    attempt = f"{SystemChance().bits(32):08x}"  # Spark may run a task twice, even at once: no file has two writers.
    name = f"{task.placement.prefix}part-{task.number:08}-{attempt}.parquet"
    task.placement.store.open().put(name, [memoryview(data).cast("B")])
    return MergedFile(name, table.num_rows, data.size, int(times.min()), int(times.max()))


def _rows(part: MergePart, task: MergeTask) -> list[Any]:
    source, piece = part.slice.source, part.slice.piece
    found = []
    told: dict[str, SteppedOver] = {}  # The survey has told of what nobody can read.
    for topic, home, rows in rows_of(Task((piece,)), part.store, task.placement, moved, told):
        offset = rows.column("offset").to_numpy()
        timestamp = rows.column("timestamp").view(pa.int64()).to_numpy()
        inside = is_inside(timestamp, source, home.partition, offset, task.wanted)
        if not inside.any():
            continue
        kept = rows if inside.all() else rows.filter(pa.array(inside))
        arrays = {name: kept.column(name) for name in kept.schema.names}
        arrays["topic"] = pa.repeat(pa.scalar(topic, pa.string()), kept.num_rows)
        arrays["source"] = pa.array(np.full(kept.num_rows, source, np.int32))
        arrays["source_name"] = pa.repeat(pa.scalar(part.name, pa.string()), kept.num_rows)
        found.append(pa.RecordBatch.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA))
    return found
