"""The events that are measured with, and the check that every one of them is right.

Event n of source s has a value of 100 bytes that begins with n and s, a key that is a path, and a timestamp of about n
milliseconds after the start, which goes back now and then. So sources interleave event by event: the merge has no long
runs to live from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.record.columnar.columns import Binary, Columns, Headers
from holdfast.record.columnar.encode import encode

START_MS = 1_700_000_000_000
VALUE_SIZE = 100
KEY = b"/data/events/key"
SOURCES = ("a", "b", "c")


def batch_of(source: int, first: int, count: int) -> bytearray:
    """One batch of events, encoded without a loop over them."""
    numbers = np.arange(first, first + count, dtype=np.int64)
    values = np.full((count, VALUE_SIZE), 0x2E, np.uint8)
    values[:, :8] = numbers.view(np.uint8).reshape(count, 8)
    values[:, 8] = source
    empty = Binary(np.zeros(1, np.int32), np.empty(0, np.uint8), None)
    columns = Columns(
        (),
        np.zeros(1, np.int64),
        np.arange(count, dtype=np.int64),
        START_MS + numbers - (numbers % 7 == 3) * 5 + source,
        Binary(np.arange(count + 1, dtype=np.int32) * len(KEY), np.frombuffer(KEY * count, np.uint8), None),
        Binary(np.arange(count + 1, dtype=np.int32) * VALUE_SIZE, values.reshape(-1), None),
        Headers(np.zeros(count + 1, np.int32), empty, empty),
    )
    return bytearray(encode(columns))


class Check:
    """Every event is there once, in the order of its partition, with its value, and all of them in the merged order."""

    def __init__(self, sources: int = len(SOURCES)) -> None:
        self._next = [0] * sources
        self._highest = [-1] * sources
        self._point = -1
        self.count = 0

    def batch(self, batch: Any) -> None:
        """A record batch as an application gets it."""
        topics = np.array([SOURCES.index(name) for name in batch.column("topic").dictionary.to_pylist()], np.int64)
        sources = topics[batch.column("topic").indices.to_numpy()]
        offsets = batch.column("offset").to_numpy()
        times = batch.column("timestamp").view("int64").to_numpy()
        self._values(batch.column("value"), sources, offsets)
        order = np.empty(len(offsets), np.int64)
        for source in range(len(self._next)):
            rows = np.flatnonzero(sources == source)
            if len(rows):
                first = self._next[source]
                if not np.array_equal(offsets[rows], np.arange(first, first + len(rows))):
                    raise AssertionError(f"source {source}: events are lost, doubled or out of order behind {first}")
                self._next[source] = first + len(rows)
                highest = np.maximum.accumulate(np.maximum(times[rows], self._highest[source]))
                order[rows] = highest
                self._highest[source] = int(highest[-1])
        if (np.diff(order) < 0).any() or order[0] < self._point:
            raise AssertionError("events are not in the merged order")
        self._point = int(order[-1])
        self.count += len(offsets)

    @staticmethod
    def _values(column: Any, sources: NDArray[Any], offsets: NDArray[Any]) -> None:
        ends, data = (
            np.frombuffer(each, kind) for each, kind in zip(column.buffers()[1:], (np.int32, np.uint8), strict=True)
        )
        start = ends[column.offset]
        values = data[start : start + VALUE_SIZE * len(offsets)].reshape(len(offsets), VALUE_SIZE)
        found = np.ascontiguousarray(values[:, :8]).view(np.int64)[:, 0]
        if not np.array_equal(found, offsets) or not np.array_equal(values[:, 8], sources):
            raise AssertionError("a value is not the one that was written")

    def event(self, topic: str, offset: int, timestamp: int, value: bytes) -> None:
        """One event."""
        source = SOURCES.index(topic)
        highest = self._highest[source] = max(self._highest[source], timestamp)
        if offset != self._next[source] or value[:9] != offset.to_bytes(8, "little") + bytes([source]):
            raise AssertionError(f"source {source}: events are lost, doubled or out of order at {offset}")
        if highest < self._point:
            raise AssertionError("events are not in the merged order")
        self._point = highest
        self._next[source] += 1
        self.count += 1
