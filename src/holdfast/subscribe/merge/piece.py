"""A piece: some records of one lane, decoded, the rows that are to be delivered, and where the lane stands after it.

The order time of a record is the largest timestamp of its partition up to and with it. So it never falls from one
record to the next, whatever the producers' clocks say. Markers and aborted records count, so that a segment's largest
timestamp, which the manifest knows, says where the order time stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.record.columnar.columns import Columns
from holdfast.record.columnar.decode import Decoder
from holdfast.record.unreadable import Unreadable, telling
from holdfast.segment.aborted import AbortedIndex
from holdfast.segment.manifest.info import Aborted
from holdfast.subscribe.filter import Filter
from holdfast.types import Buffer

NO_TIME = -1  # Before the first record of a partition.
NO_EPOCH = -1
OLD_MS = 120_000  # What is older is history; what is not is news.


NO_COLUMNS = Columns((), np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


class Position(NamedTuple):
    """Where a lane stands."""

    offset: int  # The next one.
    epoch: int = NO_EPOCH  # Of the record before it.
    order_time: int = NO_TIME  # Of the record before it.


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one lane, or of many that are merged already, in their order."""

    columns: Columns
    rows: NDArray[np.int64]  # Which rows of the columns are delivered; all arrays below have one item for each.
    lanes: NDArray[np.int32]
    times: NDArray[np.int64]  # Order times.
    epochs: NDArray[np.int32]
    types: NDArray[np.int32]  # `TimestampType`s.
    after: Mapping[int, Position] = field(default_factory=dict)  # Where lanes stand once all rows are taken.
    late: bool = False  # The sender says so: deliver at once.
    arrived: float = 0.0
    size: int = 0  # Bytes, once it is held for the merge.
    unreadable: tuple[Unreadable, ...] = ()  # What was stepped over.

    def __len__(self) -> int:
        return len(self.rows)

    def raised(self, order_time: int) -> Piece:
        """The piece behind others that reach this order time."""
        if all(each.order_time >= order_time for each in self.after.values()) and (
            not len(self.times) or self.times[0] >= order_time
        ):
            return self  # Mostly: times grow.
        times = np.maximum(self.times, order_time)
        after = {lane: each._replace(order_time=max(each.order_time, order_time)) for lane, each in self.after.items()}
        return replace(self, times=times, after=after)


@dataclass(frozen=True, slots=True)
class Range:
    """What to take of the bytes that were read, and under which number."""

    lane: int
    start: int
    end: int
    aborted: Sequence[Aborted] = ()
    filter: Filter | None = None
    place: str = "batch"  # Errors name it.


def decode_piece(buffers: Iterable[Buffer], wanted: Range) -> Piece:
    """Decode batches, whose crcs are held against their bytes, to a piece. For threads: the loops let others run."""
    unreadable: list[Unreadable] = []
    skip = telling(unreadable.append, wanted.start, wanted.end)
    columns = Decoder(place=wanted.place, control=True, skip=skip).decode(buffers)
    times, order_time = _order_times(columns, wanted)
    rows = np.flatnonzero(_mask(columns, wanted))
    counts = np.diff(columns.starts)
    epochs = np.repeat(np.array([each.leader_epoch for each in columns.batches], np.int32), counts)
    types = np.repeat(np.array([each.is_log_append_time for each in columns.batches], np.int32), counts)
    return Piece(
        columns,
        rows,
        np.full(len(rows), wanted.lane, np.int32),
        times[rows],
        epochs[rows],
        types[rows],
        {wanted.lane: Position(wanted.end, _last_epoch(columns, wanted), order_time)},
        unreadable=tuple(unreadable),
    )


def _order_times(columns: Columns, wanted: Range) -> tuple[NDArray[np.int64], int]:
    """The order time of each row, and behind all that are wanted.

    What a header says of its batch counts from its end on. What was read beyond the wanted offsets counts for nothing:
    it comes again with the next piece, and must not raise what lies before it.
    """
    if not columns.batches:
        return columns.timestamp, NO_TIME
    spans = [(each.end_offset > wanted.start, each.end_offset <= wanted.end) for each in columns.batches]
    highest = np.maximum.accumulate(
        [
            NO_TIME,
            *(each.max_timestamp if all(span) else NO_TIME for each, span in zip(columns.batches, spans, strict=True)),
        ]
    )
    begun = np.repeat([begun for begun, _ in spans], np.diff(columns.starts))
    times = np.where(begun & (columns.offset < wanted.end), columns.timestamp, NO_TIME)
    filled = np.flatnonzero(np.diff(columns.starts))
    first = columns.starts[:-1][filled]
    times[first] = np.maximum(times[first], highest[:-1][filled])
    times = np.maximum.accumulate(times)
    return times, max(int(highest[-1]), int(times[-1]) if len(times) else NO_TIME)


def _last_epoch(columns: Columns, wanted: Range) -> int:
    """The epoch before the end; behind a hole another one may have begun, so there it is left open."""
    for each in reversed(columns.batches):
        if each.base_offset < wanted.end:
            return each.leader_epoch if each.end_offset >= wanted.end else NO_EPOCH
    return NO_EPOCH


def _mask(columns: Columns, wanted: Range) -> NDArray[np.bool_]:
    mask: NDArray[Any] = (columns.offset >= wanted.start) & (columns.offset < wanted.end)
    aborted = AbortedIndex(wanted.aborted)
    hidden = [aborted.hides(each) for each in columns.batches]
    if any(hidden):
        mask &= ~np.repeat(np.array(hidden, np.bool_), np.diff(columns.starts))
    if wanted.filter is not None:
        assert columns.key is not None
        mask &= wanted.filter.mask(columns.key)
    return mask
