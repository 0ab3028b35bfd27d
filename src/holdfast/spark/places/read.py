"""The parts of a table on executors: archived files by pyarrow, records of the log with their values decoded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute

from holdfast.catalog.read import ROW_COUNT
from holdfast.catalog.rows import TYPES
from holdfast.catalog.store import Store
from holdfast.catalog.times import ALWAYS, Times
from holdfast.errors import Unavailable
from holdfast.io.objects import NotFound
from holdfast.spark.jobs.archive.parquet_file import open_file
from holdfast.spark.jobs.archive.values import VALUE, ValueDecoding
from holdfast.spark.places.archived import ArchivedFile
from holdfast.spark.places.shape import IN_ARCHIVE
from holdfast.types import OffsetRange

pc: Any = arrow_compute
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ArchivedTask:
    """Some files, and which offsets of each topic's partitions are wanted of them."""

    files: tuple[ArchivedFile, ...]
    ranges: Mapping[tuple[str, int], OffsetRange]
    times: Times = ALWAYS


def packed(files: Iterable[ArchivedFile], split_size: int) -> list[tuple[ArchivedFile, ...]]:
    """Files for one task each: about so many bytes."""
    made: list[list[ArchivedFile]] = []
    size = split_size
    for each in files:
        if size + each.size > split_size:
            made.append([])
            size = 0
        made[-1].append(each)
        size += each.size
    return [tuple(each) for each in made]


def read_archived(task: ArchivedTask, names: Sequence[str], target: Any, store: Store) -> Iterator[pa.RecordBatch]:
    """The rows of a task in the columns of an Arrow schema."""
    for file in task.files:
        ranges = {number: each for (topic, number), each in task.ranges.items() if topic == file.topic}
        try:
            yield from _file(file, ranges, task.times, names, target, store)
        except NotFound:
            raise Unavailable(
                f"{file.name} is in the archive no more: it was replaced longer ago than old files are kept, while "
                "this read waited; load it again"
            ) from None


def _file(
    file: ArchivedFile, ranges: Mapping[int, OffsetRange], times: Times, names: Sequence[str], target: Any, store: Store
) -> Iterator[pa.RecordBatch]:
    opened: Any = open_file(store.open(), file.name)
    footer = opened.metadata
    places = {footer.schema.column(index).path: index for index in range(footer.num_columns)}
    there = set(opened.schema_arrow.names)
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        bounds = {name: _bounds(group, places[name]) for name in ("partition", "offset", "timestamp")}
        touched = _touched(bounds, ranges)
        if not touched or not _may_hold(times, bounds["timestamp"]):
            continue
        is_cut = not _is_whole(bounds, touched)
        wanted = [IN_ARCHIVE.get(name, name) for name in names]
        columns = {name for name in wanted if name in there} | ({"partition", "offset"} if is_cut else set())
        columns = columns or {"partition"}  # Something has to be counted.
        for batch in opened.iter_batches(ROW_COUNT, row_groups=[number], columns=sorted(columns)):
            rows = _cut(batch, touched) if is_cut else batch
            if rows.num_rows:
                yield _shaped(rows, file.topic, names, target)


def _bounds(group: Any, index: int) -> tuple[Any, Any] | None:
    statistics = group.column(index).statistics
    return (statistics.min, statistics.max) if statistics is not None and statistics.has_min_max else None


def _touched(bounds: Mapping[str, Any], ranges: Mapping[int, OffsetRange]) -> dict[int, OffsetRange]:
    """The wanted ranges that a row group may hold something of."""
    partition, offset = bounds["partition"], bounds["offset"]
    return {
        number: each
        for number, each in ranges.items()
        if (partition is None or partition[0] <= number <= partition[1])
        and (offset is None or (offset[0] < each.end and offset[1] >= each.start))
    }


def _is_whole(bounds: Mapping[str, Any], touched: Mapping[int, OffsetRange]) -> bool:
    """Whether all rows of a row group are wanted."""
    partition, offset = bounds["partition"], bounds["offset"]
    if partition is None or offset is None or not set(range(partition[0], partition[1] + 1)) <= set(touched):
        return False
    return all(each.start <= offset[0] and offset[1] < each.end for each in touched.values())


def _may_hold(times: Times, bounds: tuple[Any, Any] | None) -> bool:
    if bounds is None or not times.is_bounded:
        return True
    low, high = (int(each.timestamp() * 1000) for each in bounds)
    return low < times.end and high + 1 >= times.start


def _cut(batch: Any, ranges: Mapping[int, OffsetRange]) -> Any:
    partition, offset = batch.column("partition").to_numpy(), batch.column("offset").to_numpy()
    keep = np.zeros(batch.num_rows, bool)
    for number, (start, end) in ranges.items():
        keep |= (partition == number) & (offset >= start) & (offset < end)
    return batch.filter(pa.array(keep))


def _shaped(rows: Any, topic: str, names: Sequence[str], target: Any) -> pa.RecordBatch:
    arrays = []
    for name, field in zip(names, target, strict=True):
        inside = IN_ARCHIVE.get(name, name)
        if name == "topic":
            array: Any = pa.repeat(pa.scalar(topic, pa.string()), rows.num_rows)
        elif inside not in rows.schema.names:
            array = pa.nulls(rows.num_rows, field.type)
        else:
            array = rows.column(inside)
        if name == "headers":
            array = pc.if_else(pc.equal(pc.list_value_length(array), 0), pa.scalar(None, array.type), array)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def log_columns(names: Sequence[str], decoding: ValueDecoding | None) -> list[str]:
    """The columns that the log must give, so that these can be made."""
    if decoding is None:
        return list(names)
    own = {each.name for each in decoding.fields()}
    found = [name for name in names if name in TYPES and (name not in own)]
    return list(dict.fromkeys([*found, "partition", "offset", VALUE]))


def decoded(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], target: Any, decoding: ValueDecoding
) -> Iterator[pa.RecordBatch]:
    """Rows of the log with their values as columns. What does not fit is a dead letter, and no row of the table."""
    left_out = 0
    first = ""
    for batch in batches:
        good, bad = decoding.decode(batch)
        if bad.num_rows:
            one = bad.slice(0, 1).to_pylist()[0]
            first = first or f"partition {one['partition']}, offset {one['offset']}: {one['reason']}"
            left_out += bad.num_rows
        if good.num_rows:
            there = set(good.schema.names)
            arrays = [
                good.column(name).cast(field.type) if name in there else pa.nulls(good.num_rows, field.type)
                for name, field in zip(names, target, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=target)
    if left_out:
        _log.warning("%d records do not fit the columns, and are left out, as in the archive: %s", left_out, first)
