"""What the application gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from holdfast.subscribe.cursor import Cursor
from holdfast.subscribe.standing import Standing


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
        """The events one by one."""
        batch = self.batch
        columns = [batch.column(name).to_pylist() for name in ("source", "topic", "partition", "offset")]
        columns.append(batch.column("timestamp").view("int64").to_pylist())
        columns += [batch.column("key").to_pylist(), batch.column("value").to_pylist()]
        headers = [tuple((each["key"], each["value"]) for each in row) for row in batch.column("headers").to_pylist()]
        return map(Event._make, zip(*columns, headers, batch.column("late").to_pylist(), strict=True))
