"""Fetches that name very many partitions, read and answered as columns: no object for each partition.

Clients without fetch sessions name all their partitions each time, and have to be answered for all, although most of
them have nothing new. Their rows all have one size, so numpy reads and writes them together.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from holdfast.protocol.errors import Malformed
from holdfast.protocol.hot.fetch import FLEXIBLE_FROM, TOPIC_IDS_FROM, FetchPartition, FetchRequest, decode_with
from holdfast.protocol.wire import Form, WireRoom

Rows: TypeAlias = npt.NDArray[np.void]
Numbers: TypeAlias = npt.NDArray[np.int64]

ROWS_FROM: Final = 9  # Versions before it are of clients that few have left.
_ASKED_PLAIN = np.dtype([("partition", ">i4"), ("epoch", ">i4"), ("offset", ">i8"), ("start", ">i8"), ("size", ">i4")])
_ASKED_FLEXIBLE = np.dtype(
    [
        ("partition", ">i4"),
        ("epoch", ">i4"),
        ("offset", ">i8"),
        ("last_epoch", ">i4"),
        ("start", ">i8"),
        ("size", ">i4"),
        ("tags", "u1"),
    ]
)
_MARKS = [("partition", ">i4"), ("error", ">i2"), ("high_watermark", ">i8"), ("stable", ">i8"), ("start", ">i8")]
_ANSWER_UNTIL_10 = np.dtype([*_MARKS, ("aborted", ">i4"), ("records", ">i4")])
_ANSWER_11 = np.dtype([*_MARKS, ("aborted", ">i4"), ("replica", ">i4"), ("records", ">i4")])
_ANSWER_FLEXIBLE = np.dtype([*_MARKS, ("aborted", "u1"), ("replica", ">i4"), ("records", "u1"), ("tags", "u1")])
assert (_ASKED_PLAIN.itemsize, _ASKED_FLEXIBLE.itemsize, _ANSWER_FLEXIBLE.itemsize) == (28, 33, 37)


class AskedRows(NamedTuple):
    """Partitions of one topic, by name or by id."""

    topic: str | bytes
    numbers: Numbers
    offsets: Numbers
    epochs: Numbers
    last_epochs: Numbers | None  # None: they are not given.
    rows: Rows

    @property
    def places(self) -> Numbers:
        return np.arange(len(self.rows))

    def are_plain(self, count: int) -> bool:
        """Whether a topic of so many partitions has all of them, and none is named twice."""
        if len(self.numbers) and not 0 <= self.numbers.min() <= self.numbers.max() < count:
            return False
        seen = np.zeros(count, np.bool_)
        seen[self.numbers] = True
        return int(np.count_nonzero(seen)) == len(self.numbers)

    def some(self, places: Numbers) -> Iterator[tuple[int, FetchPartition]]:
        """Some of the rows by themselves, with their numbers."""
        columns = ("partition", "epoch", "offset", "last_epoch", "start", "size")
        if self.last_epochs is not None:
            found = self.rows[list(columns)][places]
            return ((row[0], FetchPartition(*row)) for row in np.atleast_1d(found).tolist())
        found = np.atleast_1d(self.rows[places])
        return ((row[0], FetchPartition(row[0], row[1], row[2], -1, row[3], row[4])) for row in found.tolist())


def decode_rows(version: int, body: memoryview) -> tuple[FetchRequest, list[AskedRows]] | None:
    """A request without its topics, and those as columns; None where it is not as plain as most, or malformed."""
    if version < ROWS_FROM:
        return None
    found: dict[str | bytes, list[Rows]] = {}

    def topics(data: memoryview, position: int, form: Form, room: WireRoom) -> int:
        count, position = form.required_array(data, position, room)
        for _ in range(count):
            name: str | bytes
            if version >= TOPIC_IDS_FROM:
                name, position = bytes(data[position : position + 16]), position + 16
            else:
                name, position = form.required_string(data, position)
            partitions, position = form.required_array(data, position, room)
            rows = np.frombuffer(data, _asked(version), partitions, position)
            if version >= FLEXIBLE_FROM and rows["tags"].any():
                raise Malformed("tags", position)
            found.setdefault(name, []).append(rows)
            position = form.skip_tags(data, position + rows.nbytes)
        return position

    try:
        request = decode_with(version, body, topics)
    except (IndexError, ValueError, struct.error, Malformed):
        return None
    return None if request.forgotten else (request, [_columns(version, *each) for each in found.items()])


def _asked(version: int) -> np.dtype[np.void]:
    return _ASKED_FLEXIBLE if version >= FLEXIBLE_FROM else _ASKED_PLAIN


def _columns(version: int, name: str | bytes, pieces: list[Rows]) -> AskedRows:
    rows = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    last_epochs = rows["last_epoch"].astype(np.int64) if version >= FLEXIBLE_FROM else None
    numbers, offsets, epochs = (rows[column].astype(np.int64) for column in ("partition", "offset", "epoch"))
    return AskedRows(name, numbers, offsets, epochs, last_epochs, rows)


def answer_rows(
    version: int, numbers: Numbers, high_watermarks: Numbers, stables: Numbers, starts: Numbers, *, committed: bool
) -> bytes:
    """What partitions are answered whose readers stand at the end."""
    flexible = version >= FLEXIBLE_FROM
    rows = np.zeros(len(numbers), _ANSWER_FLEXIBLE if flexible else _ANSWER_11 if version >= 11 else _ANSWER_UNTIL_10)
    rows["partition"], rows["high_watermark"], rows["stable"], rows["start"] = numbers, high_watermarks, stables, starts
    if flexible:
        rows["aborted"] = 1 if committed else 0  # No aborted ones, or no list of them at all.
        rows["records"] = 1  # None.
    else:
        rows["aborted"] = 0 if committed else -1
    if version >= 11:
        rows["replica"] = -1
    return rows.tobytes()
