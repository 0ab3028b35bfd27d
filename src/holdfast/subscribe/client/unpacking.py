"""From messages to pieces: packed events without a copy, single ones without a way through Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.record.columnar.columns import Binary, Columns, Headers
from holdfast.subscribe.merge.gather import SCHEMA
from holdfast.subscribe.merge.piece import Piece
from holdfast.subscribe.merge.small_batch import header_columns, strings
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

_ZERO: Final = np.zeros(1, np.int64)
_EMPTY: Final = np.empty(0, np.uint8)


def batch_piece(message: wire.EventBatch, numbers: NDArray[np.int32]) -> Piece:
    """Packed events; `numbers` are ours for the sender's lanes. All rows are late, or none is."""
    batch = pa.ipc.read_record_batch(pa.py_buffer(message.arrow), SCHEMA)
    lane, offset, timestamp, kind, order_time, epoch, late, key, value, headers = batch.columns
    return Piece(
        Columns(
            (),
            _ZERO,
            _numbers(offset, np.int64),
            _numbers(timestamp, np.int64),
            _binary(key),
            _binary(value),
            _headers_of(headers),
        ),
        np.arange(batch.num_rows),
        numbers[_numbers(lane, np.int32)],
        _numbers(order_time, np.int64),
        _numbers(epoch, np.int32),
        _numbers(kind, np.int32),
        late=bool(late[0].as_py()),
    )


def _numbers(array: Any, kind: type[np.int32 | np.int64]) -> NDArray[Any]:
    """The memory of a column: what was read from a message starts at its first byte, and holds no null."""
    return np.frombuffer(array.buffers()[1], kind, len(array))


def _binary(array: Any) -> Binary:
    validity, ends, data = array.buffers()
    return Binary(
        np.frombuffer(ends, np.int32, len(array) + 1),
        np.frombuffer(data, np.uint8) if data else _EMPTY,
        np.frombuffer(validity, np.uint8) if array.null_count else None,
    )


def _headers_of(array: Any) -> Headers:
    """Most records have none."""
    entries = array.values
    if not len(entries):
        return header_columns([()] * len(array))
    keys, values = (_binary(entries.field(name)) for name in ("key", "value"))
    return Headers(np.frombuffer(array.buffers()[1], np.int32, len(array) + 1), keys, values)


def event_piece(event: wire.Event, numbers: NDArray[np.int32]) -> Piece:
    """A single event."""
    columns = Columns(
        (),
        _ZERO,
        np.array([event.offset], np.int64),
        np.array([event.timestamp], np.int64),
        strings([event.key if event.HasField("key") else None]),
        strings([event.value if event.HasField("value") else None]),
        header_columns([_headers(event.headers)]),
    )
    return Piece(
        columns,
        _ZERO,
        numbers[event.lane : event.lane + 1],
        np.array([event.order_time], np.int64),
        np.array([event.epoch], np.int32),
        np.array([event.timestamp_type], np.int32),
        late=event.late,
    )


def _headers(headers: Sequence[wire.Header]) -> list[tuple[str, bytes | None]]:
    return [(each.key, each.value if each.HasField("value") else None) for each in headers]
