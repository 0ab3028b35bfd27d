"""The columns of an archive, and records as rows of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from holdfast.catalog.batch_filter import sift
from holdfast.catalog.plan import Task
from holdfast.catalog.read import OnLoss, chunks_of
from holdfast.catalog.rows import cut
from holdfast.catalog.store import Store
from holdfast.record.columnar.arrow import HEADER, to_arrow
from holdfast.record.columnar.decode import Decoder
from holdfast.record.unreadable import SteppedOver, telling
from holdfast.spark.jobs.archive.state import Placement
from holdfast.types import OffsetRange, PartitionId

if TYPE_CHECKING:
    from holdfast.spark.jobs.archive.values import ValueDecoding

ROW_COUNT: Final = 100_000  # Of one Arrow batch: rows stay here, so larger than what goes to the JVM.


def record_schema(placement: Placement, decoding: ValueDecoding | None = None) -> Any:
    """The columns of the table of records: with decoding, those of the values in their place, or beside them."""
    fields: list[Any] = [("topic", pa.string())] if placement.with_topic else []
    fields += _place_fields(placement)
    fields += [("key", pa.binary())]
    fields += [("value", pa.binary())] if decoding is None or decoding.keep_value else []
    fields += [] if decoding is None else decoding.fields()
    return pa.schema([*fields, ("headers", pa.list_(HEADER))])


def dead_letter_schema(placement: Placement) -> Any:
    """The columns of the table of records whose values could not be decoded."""
    fields: list[Any] = [("topic", pa.string())] if placement.with_topic else []
    fields += _place_fields(placement)
    return pa.schema(
        [*fields, ("key", pa.binary()), ("value", pa.binary()), ("headers", pa.list_(HEADER)), ("reason", pa.string())]
    )


def _place_fields(placement: Placement) -> list[Any]:
    unit: Any = placement.time_unit
    return [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp(unit, "UTC")),
        ("timestamp_type", pa.int32()),
    ]


def rows_of(
    task: Task, store: Store, placement: Placement, on_loss: OnLoss, unreadable: dict[str, SteppedOver]
) -> Iterator[tuple[str, PartitionId, Any]]:
    """The task's records, with their topic and partition, as Arrow batches of all columns.

    Batches that nobody can read are stepped over: by partition, `unreadable` says which.
    """
    for chunk in chunks_of(store.open(), task, on_loss=on_loss):
        piece = chunk.piece
        stepped = unreadable.setdefault(f"{piece.topic}-{piece.home.partition}", SteppedOver())
        decoder = Decoder(place=piece.name, skip=telling(stepped.add, piece.start, piece.end))
        for group in decoder.groups(sift(chunk.data, task.times, piece.aborted), ROW_COUNT):
            rows = _with_place(to_arrow(group), piece.topic, piece.home.partition, placement)
            rows = cut(rows, group, OffsetRange(piece.start, piece.end), task.times)
            if rows.num_rows:
                yield piece.topic, piece.home, rows


def _with_place(rows: Any, topic: str, partition: int, placement: Placement) -> Any:
    count = rows.num_rows
    arrays = {
        "topic": pa.repeat(pa.scalar(topic, pa.string()), count),
        "partition": pa.array(np.full(count, partition, np.int32)),
        **{name: rows.column(name) for name in rows.schema.names},
    }
    unit: Any = placement.time_unit
    if unit != "ms":
        arrays["timestamp"] = arrays["timestamp"].cast(pa.timestamp(unit, "UTC"))
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
