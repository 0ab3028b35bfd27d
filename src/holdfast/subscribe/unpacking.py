"""From messages to pieces: packed events without a copy, single ones without a way through Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.record.arrow import from_arrow
from holdfast.record.columns import Binary, Columns, Headers
from holdfast.subscribe.gather import SCHEMA
from holdfast.subscribe.piece import Piece
from holdfast.subscribe.schema import subscribe_pb2 as wire

_ZERO: Final = np.zeros(1, np.int64)


def batch_piece(message: wire.EventBatch, numbers: NDArray[np.int32]) -> Piece:
    """Packed events; `numbers` are ours for the sender's lanes. All rows are late, or none is."""
    batch = pa.ipc.read_record_batch(pa.py_buffer(message.arrow), SCHEMA)
    return Piece(
        from_arrow(batch),
        np.arange(batch.num_rows),
        numbers[batch.column("lane").to_numpy()],
        batch.column("order_time").to_numpy(),
        batch.column("epoch").to_numpy(),
        batch.column("timestamp_type").to_numpy(),
        late=bool(batch.column("late")[0].as_py()),
    )


def event_piece(event: wire.Event, numbers: NDArray[np.int32]) -> Piece:
    """A single event."""
    columns = Columns(
        (),
        _ZERO,
        np.array([event.offset], np.int64),
        np.array([event.timestamp], np.int64),
        _strings([event.key if event.HasField("key") else None]),
        _strings([event.value if event.HasField("value") else None]),
        _headers(event.headers),
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


def _strings(texts: Sequence[bytes | None]) -> Binary:
    ends = np.cumsum([0, *(len(text or b"") for text in texts)], dtype=np.int32)
    valid = None
    if None in texts:
        valid = np.packbits([text is not None for text in texts], bitorder="little")
    return Binary(ends, np.frombuffer(b"".join(text or b"" for text in texts), np.uint8), valid)


def _headers(headers: Sequence[wire.Header]) -> Headers:
    keys = [each.key.encode() for each in headers]
    values = [each.value if each.HasField("value") else None for each in headers]
    return Headers(np.array([0, len(keys)], np.int32), _strings(keys), _strings(values))
