"""A task of a replay on an executor: rows of a range, in the order of their offsets, staged as batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.catalog.store import Store
from holdfast.client import Client
from holdfast.errors import Corrupt
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.spark.jobs.archive.parquet_file import open_file
from holdfast.spark.jobs.replay.archive import COLUMNS
from holdfast.spark.jobs.replay.plan import ReplayRange
from holdfast.spark.sink.options import SinkOptions
from holdfast.spark.sink.staging import StagedObject, Stager, Targets


@dataclass(frozen=True)
class ReplayTask:
    """What one executor stages."""

    archive: Store
    range: ReplayRange
    options: SinkOptions
    prefix: str


def stage_range(task: ReplayTask) -> list[StagedObject]:
    """Read and stage; nobody sees it before the commit."""
    rows = read_range(task.archive, task.range)
    with Client(task.options.kafka, "holdfast-replay") as client:
        objects, clock, chance = task.options.staging.open(), SystemClock(), SystemChance()
        return Stager(task.options, objects, Targets(client), clock, chance, task.prefix).stage(rows)


def read_range(archive: Store, wanted: ReplayRange) -> list[pa.RecordBatch]:
    """The records of a range in the order of their offsets."""
    objects = archive.open()
    by_file: dict[str, list[int]] = {}
    for each in wanted.groups:
        by_file.setdefault(each.file, []).append(each.number)
    tables = []
    for name, numbers in by_file.items():
        table: Any = open_file(objects, name).read_row_groups(numbers, columns=list(COLUMNS))
        tables.append(table.filter(_inside(table, wanted)))
    rows: Any = pa.concat_tables(tables).combine_chunks()
    offsets = rows.column("offset").to_numpy()
    order = np.argsort(offsets, kind="stable")
    twice = np.flatnonzero(np.diff(offsets[order]) == 0)
    if len(twice):
        where = f"offset {int(offsets[order][twice[0]])} of partition {wanted.partition}"
        raise Corrupt(f"the archive holds {where} twice: it was changed by somebody else")
    return list(rows.take(pa.array(order)).to_batches())


def _inside(table: Any, wanted: ReplayRange) -> Any:
    compute: Any = pc
    offset = table.column("offset")
    here = compute.equal(table.column("partition"), wanted.partition)
    after = compute.greater_equal(offset, wanted.start)
    return compute.and_(here, compute.and_(after, compute.less(offset, wanted.end)))
