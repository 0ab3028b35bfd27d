"""The rows of a delivery: many as Arrow, a few as Python values. Either can be counted, cut, noted and shown.

What comes live comes in ones and twos: a record batch for each would take longer than everything else on its way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.subscribe.merge.gather import SIZE_MAX, gather
from holdfast.subscribe.merge.merge import MergedRows, Pick
from holdfast.subscribe.merge.piece import Piece

COUNT_MAX = 16  # Of a few.


class Row(NamedTuple):
    """One row as Python values."""

    lane: int
    offset: int
    timestamp: int
    timestamp_type: int
    order_time: int
    epoch: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class RowMarks(NamedTuple):
    """Where each row stands."""

    lanes: NDArray[np.int32]
    offsets: NDArray[np.int64]
    epochs: NDArray[np.int32]
    times: NDArray[np.int64]


class ManyRows:
    """A record batch with lane numbers."""

    __slots__ = ("record_batch",)

    def __init__(self, record_batch: Any) -> None:
        self.record_batch = record_batch

    def __len__(self) -> int:
        count: int = self.record_batch.num_rows
        return count

    @property
    def late(self) -> bool:
        return bool(self.record_batch.column("late")[0].as_py())

    @property
    def last_timestamp(self) -> int:
        return int(self.record_batch.column("timestamp").view("int64")[-1].as_py())

    def first(self, count: int) -> ManyRows:
        return ManyRows(self.record_batch.slice(0, count))

    def marks(self) -> RowMarks:
        return RowMarks(
            *(self.record_batch.column(name).to_numpy() for name in ("lane", "offset", "epoch", "order_time"))
        )


class FewRows:
    """Python values; a record batch when somebody asks for one."""

    __slots__ = ("_taken", "late", "rows")

    def __init__(self, taken: MergedRows, rows: list[Row] | None = None) -> None:
        self._taken = taken
        self.late = taken.late
        self.rows = list(rows_of(taken)) if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def record_batch(self) -> Any:
        (whole,) = gather(self._taken)
        return whole.slice(0, len(self.rows))

    @property
    def last_timestamp(self) -> int:
        return self.rows[-1].timestamp

    def first(self, count: int) -> FewRows:
        return FewRows(self._taken, self.rows[:count])

    def marks(self) -> RowMarks:
        return RowMarks(
            np.array([row.lane for row in self.rows], np.int32),
            np.array([row.offset for row in self.rows], np.int64),
            np.array([row.epoch for row in self.rows], np.int32),
            np.array([row.order_time for row in self.rows], np.int64),
        )


Rows: TypeAlias = ManyRows | FewRows


def are_few(taken: MergedRows) -> bool:
    """Whether the rows are so few that Python values are made faster than Arrow; they fit into one record batch."""
    return len(taken) <= COUNT_MAX and size_of(taken) <= SIZE_MAX


def size_of(taken: MergedRows) -> int:
    """Bytes of keys and values, at most: those of all pieces that rows are taken from."""
    return sum(map(_size, taken.picks))


def _size(pick: Pick) -> int:
    key, value = pick.piece.columns.key, pick.piece.columns.value
    assert key is not None
    assert value is not None
    return len(key.data) + len(value.data)


def rows_of(taken: MergedRows) -> Iterator[Row]:
    """The rows in order."""
    rows = [(pick.piece, number) for pick in taken.picks for number in range(pick.start, pick.end)]
    for turn in range(len(rows)) if taken.turns is None else taken.turns.tolist():
        yield _row(*rows[turn])


def _row(piece: Piece, number: int) -> Row:
    columns, row = piece.columns, int(piece.rows[number])
    assert columns.key is not None
    assert columns.value is not None
    assert columns.headers is not None
    ends, names, values = columns.headers
    return Row(
        int(piece.lanes[number]),
        int(columns.offset[row]),
        int(columns.timestamp[row]),
        int(piece.types[number]),
        int(piece.times[number]),
        int(piece.epochs[number]),
        columns.key.__getitem__(row),  # Not `key[row]`: for a type checker that is a field of the tuple.
        columns.value.__getitem__(row),
        tuple(
            (names.__getitem__(each).decode("utf-8", "replace"), values.__getitem__(each))
            for each in range(ends[row], ends[row + 1])
        ),
    )
