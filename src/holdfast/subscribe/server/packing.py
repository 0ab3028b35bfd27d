"""From rows in order to messages: what goes together shares one, if its client takes batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.subscribe.merge.merge import MergedRows
from holdfast.subscribe.merge.rows import rows_of
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

EVENTS_MAX = 256  # In one message.
SIZE_MAX = 1 << 20  # Of one message; a single event may be larger.
ROWS_MAX = 16_384  # Packed at a time.
SINGLES_MAX = 64  # Made into messages of their own at a time.
_FIXED_SIZE = 48  # About what one row takes besides its key, value and headers.
_ENVELOPE_SIZE = 4096  # About what one message takes besides its rows.
_EVENT_TAG, _BATCH_TAG, _ARROW_TAG = b"\x2a", b"\x32", b"\x0a"  # Message.event, Message.batch, EventBatch.arrow.
_SINGLE = ("lane", "offset", "timestamp", "timestamp_type", "key", "value", "late", "epoch", "order_time")


def pack(batch: Any, *, batches: bool) -> Iterator[bytes]:
    """Messages for all rows of a record batch."""
    for part in runs(batch, ROWS_MAX if batches else SINGLES_MAX):
        yield from packed(part) if batches else one_by_one(part)


def runs(batch: Any, count: int) -> Iterator[Any]:
    """The rows in parts of so many at most, so that the first need not wait long for the last."""
    for first in range(0, batch.num_rows, count):
        yield batch.slice(first, min(count, batch.num_rows - first))


def packed(batch: Any) -> Iterator[bytes]:
    """As few messages as the two limits allow."""
    if not batch.num_rows:
        return
    for start, end in _cuts(_sizes(batch)):
        arrow = batch.slice(start, end - start).serialize()
        inner = _head(_ARROW_TAG, arrow.size)
        yield b"".join((_head(_BATCH_TAG, len(inner) + arrow.size), inner, arrow))


def _head(tag: bytes, size: int) -> bytes:
    """What stands before a field of bytes in protocol buffers: their classes would copy the bytes twice."""
    head = bytearray(tag)
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return bytes(head)


def _message(event: wire.Event) -> bytes:
    data: bytes = event.SerializeToString()
    return _head(_EVENT_TAG, len(data)) + data


def _cuts(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    total = np.cumsum(sizes)
    start, sent = 0, 0
    while start < len(total):
        fits = int(np.searchsorted(total, sent + SIZE_MAX - _ENVELOPE_SIZE, side="right"))
        end = min(max(fits, start + 1), start + EVENTS_MAX, len(total))
        yield start, end
        start, sent = end, int(total[end - 1])


def _sizes(batch: Any) -> NDArray[np.int64]:
    """About the bytes of each row."""
    import pyarrow.compute as pc

    sizes = np.full(batch.num_rows, _FIXED_SIZE, np.int64)
    for name in ("key", "value"):
        sizes += pc.binary_length(batch.column(name)).fill_null(0).to_numpy(zero_copy_only=False)
    headers = batch.column("headers")
    if len(headers.values):
        ends = headers.offsets.to_numpy()
        entries = headers.values
        each = np.zeros(len(entries) + 1, np.int64)
        for name in ("key", "value"):
            each[1:] += 8 + pc.binary_length(entries.field(name)).fill_null(0).to_numpy(zero_copy_only=False)
        total = np.cumsum(each)
        sizes += total[ends[1:]] - total[ends[:-1]]
    return sizes


def singles(taken: MergedRows) -> Iterator[bytes]:
    """One message for each row, straight from the columns: for the few that come live."""
    for row in rows_of(taken):
        fields = row._asdict()
        headers = [wire.Header(key=key, value=value) for key, value in fields.pop("headers")]
        yield _message(wire.Event(**fields, headers=headers, late=taken.late))


def one_by_one(batch: Any) -> Iterator[bytes]:
    """One message for each row: for clients that ask for nothing else."""
    columns = [batch.column(name) for name in _SINGLE]
    columns[2] = columns[2].view("int64")
    rows = zip(*(each.to_pylist() for each in columns), strict=True)
    for (lane, offset, timestamp, kind, key, value, late, epoch, time), headers in zip(
        rows, _headers(batch), strict=True
    ):
        event = wire.Event(
            lane=lane,
            offset=offset,
            timestamp=timestamp,
            timestamp_type=kind,
            key=key,
            value=value,
            headers=headers,
            late=late,
            epoch=epoch,
            order_time=time,
        )
        yield _message(event)


def _headers(batch: Any) -> Iterable[list[wire.Header]]:
    """Those of each row; most have none."""
    column = batch.column("headers")
    if not len(column.flatten()):
        return [[]] * len(column)
    return ([wire.Header(**each) for each in row] for row in column.to_pylist())
