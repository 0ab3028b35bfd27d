"""What the application gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from holdfast.subscribe.client.progress import Lanes, Positions
from holdfast.subscribe.cursor import Cursor
from holdfast.subscribe.merge.rows import FewRows, Rows

_EVENTS_AT_ONCE = 1024


class Event(NamedTuple):
    """One record, as an event of the merged order."""

    source: str
    topic: str
    partition: int
    offset: int
    timestamp: int  # Milliseconds since 1970, or -1 for none.
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    late: bool = False  # It came behind events that are later in the order.


class EventBatch:
    """Events in order, as one Arrow record batch.

    Columns: source, topic (both dictionaries), partition, offset, timestamp, timestamp_type, key, value, headers, late.
    """

    __slots__ = ("_batch", "_lanes", "_standing", "before", "rows")

    def __init__(self, rows: Rows, lanes: Lanes, standing: Positions, before: Positions) -> None:
        self.rows = rows  # The same, with lane numbers.
        self.before = before
        self._lanes = lanes
        self._standing = standing  # After this batch; nobody changes it any more.
        self._batch: Any = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def batch(self) -> Any:
        """The record batch; made when it is asked for first."""
        if self._batch is None:
            self._batch = self._lanes.name(self.rows.record_batch)
        return self._batch

    @property
    def cursor(self) -> Cursor:
        """Where to go on after this batch."""
        return self._standing.cursor()

    def events(self) -> Iterator[Event]:
        """The events one by one; made some at a time, so that the first one is there at once."""
        if isinstance(self.rows, FewRows):
            yield from _few_events(self.rows, self._lanes)
            return
        for start in range(0, len(self), _EVENTS_AT_ONCE):
            yield from _events(self.batch.slice(start, _EVENTS_AT_ONCE))


def _few_events(rows: FewRows, lanes: Lanes) -> Iterator[Event]:
    for row in rows.rows:
        lane = lanes.rows[row.lane]
        place = lane.source, lane.topic, lane.partition
        yield Event(*place, row.offset, row.timestamp, row.key, row.value, row.headers, rows.late)


def _events(batch: Any) -> Iterator[Event]:
    columns = [
        _texts(batch.column("source")),
        _texts(batch.column("topic")),
        batch.column("partition").to_pylist(),
        batch.column("offset").to_pylist(),
        batch.column("timestamp").view("int64").to_pylist(),
        batch.column("key").to_pylist(),
        batch.column("value").to_pylist(),
        _headers(batch.column("headers")),
        batch.column("late").to_pylist(),
    ]
    return map(Event._make, zip(*columns, strict=True))


def _texts(column: Any) -> list[str]:
    """Each text is made once, not once for each row."""
    known = column.dictionary.to_pylist()
    return [known[index] for index in column.indices.to_pylist()]


def _headers(column: Any) -> list[tuple[tuple[str, bytes | None], ...]]:
    if not len(column.flatten()):  # Most records have none.
        return [()] * len(column)
    return [tuple((each["key"], each["value"]) for each in row) for row in column.to_pylist()]
