"""Columns in the names and types of Spark's own Kafka source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from holdfast.catalog.times import Times
from holdfast.errors import Rejected, nearest
from holdfast.record.columnar.arrow import to_arrow
from holdfast.record.columnar.columns import Column, Columns
from holdfast.types import OffsetRange

HEADER: Final[Any] = pa.struct([("key", pa.string()), ("value", pa.binary())])
TYPES: Final[dict[str, Any]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
    "headers": pa.list_(HEADER),
}
_DECODED: Final = {"key": Column.KEY, "value": Column.VALUE, "headers": Column.HEADERS}
_NAMES: Final = {"timestampType": "timestamp_type"}  # What differs in `record.columnar.arrow`.


def check_columns(names: Sequence[str]) -> None:
    """Raise unless records have all these columns."""
    for name in names:
        if name not in TYPES:
            raise Rejected(f"there is no column {name}{nearest(name, TYPES)}; there are {', '.join(TYPES)}")


def needed(names: Sequence[str]) -> Column:
    """What must be decoded to have these columns."""
    found = Column.NONE
    for name in names:
        found |= _DECODED.get(name, Column.NONE)
    return found


def to_rows(columns: Columns, names: Sequence[str], topic: str, partition: int) -> pa.RecordBatch:
    """Decoded columns as one Arrow batch of just these names, in this order."""
    decoded = to_arrow(columns)
    count = len(columns)
    arrays = []
    for name in names:
        if name == "topic":
            array: Any = pa.repeat(pa.scalar(topic, pa.string()), count)
        elif name == "partition":
            array = pa.array(np.full(count, partition, np.int32))
        else:
            array = decoded.column(_NAMES.get(name, name))
        if name == "headers":
            array = _none_is_null(array)
        arrays.append(array.cast(TYPES[name]) if array.type != TYPES[name] else array)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([(name, TYPES[name]) for name in names]))


def cut(rows: pa.RecordBatch, columns: Columns, offsets: OffsetRange, times: Times) -> pa.RecordBatch:
    """Only the rows, made of these columns, that lie in a range of offsets and of times. Offsets grow."""
    first, last = (int(each) for each in np.searchsorted(columns.offset, offsets))
    if (first, last) != (0, len(columns)):
        rows = rows.slice(first, max(0, last - first))
    if not times.is_bounded:
        return rows
    timestamp = columns.timestamp[first:last]
    wanted = (timestamp >= times.start) & (timestamp < times.end)
    return rows if wanted.all() else rows.filter(pa.array(wanted))


def _none_is_null(headers: Any) -> Any:
    """A record without headers has null, as Spark's own source says it."""
    ends = headers.offsets.to_numpy()
    empty = ends[1:] == ends[:-1]
    if not empty.any():
        return headers
    return pa.ListArray.from_arrays(headers.offsets, headers.values, mask=pa.array(empty))
