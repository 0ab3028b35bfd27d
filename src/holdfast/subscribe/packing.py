"""From rows in order to messages: events older than two minutes share one, recent ones go one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.subscribe.merge import Pick, Taken
from holdfast.subscribe.piece import Piece
from holdfast.subscribe.schema import subscribe_pb2 as wire

EVENTS_MAX = 256  # In one message.
SIZE_MAX = 1 << 20  # Of one message; a single event may be larger.
OLD_MS = 120_000
_FIXED_SIZE = 48  # About what one row takes besides its key, value and headers.
_ENVELOPE_SIZE = 4096  # About what one message takes besides its rows.


def pack(batch: Any, now_ms: int, *, batches: bool) -> Iterator[bytes]:
    """Messages for all rows of a record batch."""
    if not batches:
        yield from one_by_one(batch)
        return
    old = batch.column("timestamp").cast("int64").to_numpy() < now_ms - OLD_MS
    borders = np.flatnonzero(np.diff(old)) + 1
    for start, end in zip([0, *borders], [*borders, len(old)], strict=True):
        part = batch.slice(int(start), int(end - start))
        yield from packed(part) if old[start] else one_by_one(part)


def packed(batch: Any) -> Iterator[bytes]:
    """As few messages as the two limits allow."""
    if not batch.num_rows:
        return
    for start, end in _cuts(_sizes(batch)):
        arrow = batch.slice(start, end - start).serialize()
        yield wire.Message(batch=wire.EventBatch(arrow=memoryview(arrow).tobytes())).SerializeToString()


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


def are_recent(taken: Taken, now_ms: int) -> bool:
    """Whether none of the rows is old enough to be packed."""
    return all((_times(pick) >= now_ms - OLD_MS).all() for pick in taken.picks)


def _times(pick: Pick) -> NDArray[np.int64]:
    return pick.piece.columns.timestamp[pick.piece.rows[pick.start : pick.end]]


def singles(taken: Taken) -> Iterator[bytes]:
    """One message for each row, straight from the columns: for the few that come live."""
    rows = [(pick.piece, number) for pick in taken.picks for number in range(pick.start, pick.end)]
    for turn in range(len(rows)) if taken.turns is None else taken.turns.tolist():
        piece, number = rows[turn]
        yield _single(piece, number, late=taken.late).SerializeToString()


def _single(piece: Piece, number: int, *, late: bool) -> wire.Message:
    columns, row = piece.columns, int(piece.rows[number])
    assert columns.key is not None
    assert columns.value is not None
    assert columns.headers is not None
    key, value, (ends, names, values) = columns.key, columns.value, columns.headers
    return wire.Message(
        event=wire.Event(
            lane=int(piece.lanes[number]),
            offset=int(columns.offset[row]),
            timestamp=int(columns.timestamp[row]),
            timestamp_type=int(piece.types[number]),
            key=key.__getitem__(row),  # Not `key[row]`: for a type checker that is a field of the tuple.
            value=value.__getitem__(row),
            headers=[
                wire.Header(key=names.__getitem__(each).decode("utf-8", "replace"), value=values.__getitem__(each))
                for each in range(ends[row], ends[row + 1])
            ],
            late=late,
            epoch=int(piece.epochs[number]),
            order_time=int(piece.times[number]),
        )
    )


def one_by_one(batch: Any) -> Iterator[bytes]:
    """One message for each row: for recent events, and for clients that ask for nothing else."""
    plain = batch.set_column(2, "timestamp", batch.column("timestamp").view("int64"))
    for row in plain.to_pylist():
        headers = [wire.Header(key=each["key"], value=each["value"]) for each in row.pop("headers")]
        yield wire.Message(event=wire.Event(headers=headers, **row)).SerializeToString()
