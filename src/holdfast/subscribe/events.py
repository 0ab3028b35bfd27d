"""What the application gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from holdfast.subscribe.cursor import Cursor
from holdfast.subscribe.standing import Standing

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

    __slots__ = ("_standing", "batch", "before", "rows")

    def __init__(self, batch: Any, standing: Standing, before: Standing, rows: Any) -> None:
        self.batch = batch
        self.rows = rows  # The same, with lane numbers.
        self.before = before
        self._standing = standing  # After this batch; nobody changes it any more.

    def __len__(self) -> int:
        count: int = self.batch.num_rows
        return count

    @property
    def cursor(self) -> Cursor:
        """Where to go on after this batch."""
        return self._standing.cursor()

    def events(self) -> Iterator[Event]:
        """The events one by one; made some at a time, so that the first one is there at once."""
        for start in range(0, len(self), _EVENTS_AT_ONCE):
            yield from _events(self.batch.slice(start, _EVENTS_AT_ONCE))


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
