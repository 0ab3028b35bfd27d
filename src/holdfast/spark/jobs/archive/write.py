"""A task of an archive on an executor: segments decoded, values decoded on wish, Parquet files written by date."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.catalog.errors import DataLost
from holdfast.catalog.plan import Task
from holdfast.catalog.store import Store
from holdfast.io.chance import SystemChance
from holdfast.record.unreadable import SteppedOver
from holdfast.spark.jobs.archive.errors import ExpiredFirst
from holdfast.spark.jobs.archive.rows import dead_letter_schema, record_schema, rows_of
from holdfast.spark.jobs.archive.state import DEAD_LETTERS, RECORDS, NewFile, Offsets, Placement
from holdfast.spark.jobs.archive.values import ValueDecoding

FILES_OPEN_MAX = 32  # Records of more days at a time make more files, not more memory.
DAY_MS = 24 * 60 * 60 * 1000
_BOUNDED = ("partition", "offset", "timestamp")


@dataclass(frozen=True)
class ArchiveTask:
    """What one executor archives."""

    number: int
    store: Store
    task: Task
    placement: Placement
    decoding: ValueDecoding | None = None
    dead_letters_from: Offsets = field(default_factory=dict)  # Below, they are in their table already.
    skip_expired: bool = False


class WrittenFiles(NamedTuple):
    """What a task has written; how many offsets of each partition were gone before it could, or cannot be read."""

    files: list[NewFile]
    skipped: dict[str, int]
    unreadable: dict[str, SteppedOver]


def archive_task(todo: ArchiveTask) -> WrittenFiles:
    """Write the files of a task; what is visible is decided by the commit alone."""
    attempt = f"{SystemChance().bits(32):08x}"  # Spark may run a task twice, even at once: no file has two writers.
    records = _Files(todo, RECORDS, record_schema(todo.placement, todo.decoding), attempt)
    letters = _Files(todo, DEAD_LETTERS, dead_letter_schema(todo.placement), attempt)
    skipped: dict[str, int] = {}
    unreadable: dict[str, SteppedOver] = {}

    def on_loss(lost: DataLost) -> None:
        if not todo.skip_expired:
            raise ExpiredFirst(lost.where, lost.start, lost.end, lost.reason)
        skipped[lost.where] = skipped.get(lost.where, 0) + lost.end - lost.start

    for topic, home, rows in rows_of(todo.task, todo.store, todo.placement, on_loss, unreadable):
        good, bad = (rows, None) if todo.decoding is None else todo.decoding.decode(rows)
        records.add(topic, good)
        if bad is not None and bad.num_rows:
            fresh = bad.column("offset").to_numpy() >= todo.dead_letters_from.get(home, 0)
            letters.add(topic, bad.filter(pa.array(fresh)))
    return WrittenFiles([*records.finish(), *letters.finish()], skipped, unreadable)


class _Files:
    """The open files of one table, one for each topic and date."""

    def __init__(self, todo: ArchiveTask, table: str, schema: Any, attempt: str) -> None:
        self._todo = todo
        self._attempt = attempt
        self._table = table
        self._schema = schema
        self._open: OrderedDict[tuple[str, str], _File] = OrderedDict()
        self._done: list[NewFile] = []

    def add(self, topic: str, rows: Any) -> None:
        for date, part in by_date(rows):
            if not part.num_rows:
                continue
            key = topic, date
            if key not in self._open:
                if len(self._open) >= FILES_OPEN_MAX:
                    self._close(next(iter(self._open)))
                self._open[key] = _File(self._schema, self._todo.placement)
            self._open.move_to_end(key)
            self._open[key].write(part)

    def finish(self) -> list[NewFile]:
        for key in list(self._open):
            self._close(key)
        return self._done

    def _close(self, key: tuple[str, str]) -> None:
        file = self._open.pop(key)
        place = self._todo.placement
        number = f"{self._todo.number:06}-{len(self._done):04}"
        name = place.name(self._table, f"{self._table}-{number}-{self._attempt}.parquet")
        data = file.finish()
        place.store.open().put(name, [memoryview(data).cast("B")])
        self._done.append(NewFile(self._table, name, *key, file.rows, len(data), file.bounds))


def file_options(schema: Any, compression: str) -> dict[str, Any]:
    """How all files of archives are written."""
    dictionary = [name for name in schema.names if name not in ("offset", "timestamp", "value", "headers")]
    return {
        "compression": compression,
        "use_dictionary": [name for name in dictionary if not pa.types.is_nested(schema.field(name).type)],
        "write_statistics": [name for name in schema.names if name not in ("key", "value", "headers")],
    }


class _File:
    """One Parquet file in memory: a task is small, so its files are."""

    def __init__(self, schema: Any, placement: Placement) -> None:
        self._buffer = pa.BufferOutputStream()
        options = file_options(schema, placement.compression)
        self._writer = pq.ParquetWriter(self._buffer, schema, **options)
        self._schema = schema
        self.rows = 0
        self.bounds: dict[str, tuple[int, int]] = {}

    def write(self, rows: Any) -> None:
        self._writer.write_batch(rows.select(self._schema.names))
        self.rows += rows.num_rows
        for name in _BOUNDED:
            column = rows.column(name)
            values = (column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_numpy()
            per_unit = 1000 if pa.types.is_timestamp(column.type) and column.type.unit == "us" else 1
            low, high = int(values.min()) // per_unit, int(values.max()) // per_unit
            before = self.bounds.get(name, (low, high))
            self.bounds[name] = min(low, before[0]), max(high, before[1])

    def finish(self) -> Any:
        self._writer.close()
        return self._buffer.getvalue()


def by_date(rows: Any) -> Iterator[tuple[str, Any]]:
    """The rows of each day (UTC), in their order."""
    if not rows.num_rows:
        return
    column = rows.column("timestamp")
    per_day = DAY_MS * (1000 if column.type.unit == "us" else 1)
    days = np.floor_divide(column.view(pa.int64()).to_numpy(), per_day)
    if days[0] == days[-1] and (days == days[0]).all():
        yield str(np.datetime64(int(days[0]), "D")), rows
        return
    grows = bool((days[1:] >= days[:-1]).all())
    for day in np.unique(days).tolist():
        if grows:  # Nearly always: then nothing is copied.
            first, last = np.searchsorted(days, (day, day + 1)).tolist()
            part = rows.slice(first, last - first)
        else:
            part = rows.take(pa.array(np.flatnonzero(days == day)))
        yield str(np.datetime64(day, "D")), part
