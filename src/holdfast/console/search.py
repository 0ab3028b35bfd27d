"""What a search looks for, and the records of some batches that are it: in a thread, never on the loop."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from holdfast.console.schemas import DecodedValue, TopicValues, said
from holdfast.console.shown import shown
from holdfast.errors import Rejected
from holdfast.record.batch import BatchHeader, split
from holdfast.record.errors import InvalidBatch
from holdfast.record.marker import MarkerKind, read_marker
from holdfast.record.records import Record, read_records
from holdfast.segment.manifest.info import Aborted

STATES: Final = ("all", "committed", "aborted", "undecided")
_SHOWN_SIZE = 2048  # Bytes of a value that a list shows.
_ROWS_MAX = 500  # Of one piece: more are looked for when these are taken.
ROWS_SIZE_MAX: Final = 2 << 20  # Of all rows of an answer as JSON, and once more of those that wait to be among them.
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_NOTHING: Final = object()


class SearchFilter(NamedTuple):
    """Which records. What is empty asks for nothing."""

    key: bytes = b""
    text: bytes = b""
    path: str = ""  # In a JSON value, such as `customer.id` or `items[0].name`,
    equals: str | None = None  # and what stands there.
    header: str = ""
    header_value: bytes | None = None
    state: str = "all"
    size_min: int = 0
    rows_size_max: int = ROWS_SIZE_MAX  # Of one piece, as JSON.

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> SearchFilter:
        path, is_equal, equals = query.get("json", "").partition("=")
        header, has_value, value = query.get("header", "").partition("=")
        state = query.get("state") or "all"
        if state not in STATES:
            raise Rejected(f"state={state}: it is one of {', '.join(STATES)}")
        size = query.get("size", "") or "0"
        if not size.isdecimal():
            raise Rejected(f"size={size} is no number of bytes")
        key, text = query.get("key", "").encode(), query.get("text", "").encode()
        return cls(
            key,
            text,
            path.strip(),
            equals.strip() if is_equal else None,
            header.strip(),
            value.encode() if has_value else None,
            state,
            int(size),
        )

    def fits(self, record: Record, state: str, values: TopicValues) -> bool:
        """Key, text and JSON path count in what the bytes are, and in what a schema says they are."""
        if self.key and record.key != self.key and not self._is_key(values.decoded(record.key, is_key=True)):
            return False
        if self.state != "all" and (state or "committed") != self.state:
            return False
        value = record.value or b""
        if len(value) < self.size_min:
            return False
        if self.header and not any(self._is_header(*each) for each in record.headers):
            return False
        if not self.text and not self.path:
            return True
        told = values.decoded(record.value)
        by_schema = told is not None and not told.why
        if self.text and self.text not in value and not (told and by_schema and self.text in told.text.encode()):
            return False
        return not self.path or self._is_at_path(told.value if told and by_schema else _json_of(value))

    def _is_key(self, told: DecodedValue | None) -> bool:
        if told is None or told.why:
            return False
        return self.key == (told.value if isinstance(told.value, str) else told.text).encode()

    def _is_header(self, name: str, value: bytes | None) -> bool:
        return name == self.header and self.header_value in (None, value)

    def _is_at_path(self, found: Any) -> bool:
        for name, number in _STEP.findall(self.path):
            found = _step(found, name, number)
            if found is _NOTHING:
                return False
        return self.equals is None or self.equals == (
            found if isinstance(found, str) else json.dumps(found, default=said)
        )


def _json_of(value: bytes) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return _NOTHING


def _step(value: Any, name: str, number: str) -> Any:
    if name:
        return value.get(name, _NOTHING) if isinstance(value, dict) else _NOTHING
    return value[int(number)] if isinstance(value, list) and int(number) < len(value) else _NOTHING


class TransactionStates(NamedTuple):
    """What is known of transactions: those that were aborted, and those that are open."""

    aborted: Sequence[Aborted]
    open: Mapping[int, int]  # Producer id → first offset.

    def state_of(self, header: BatchHeader, offset: int) -> str:
        if not header.is_transactional:
            return ""
        if self.open.get(header.producer_id, offset + 1) <= offset:
            return "undecided"
        of_it = (each for each in self.aborted if each.producer_id == header.producer_id)
        return "aborted" if any(each.first_offset <= offset <= each.last_offset for each in of_it) else ""


class Found(NamedTuple):
    """A piece of a partition that was looked through."""

    rows: list[dict[str, Any]]
    records: int
    unreadable: int  # Batches that nobody can read.
    newest_ms: int
    stopped_at: int | None  # It was full, and looked at nothing from here on.


def look_through(
    buffers: Sequence[memoryview],
    start: int,
    wanted: SearchFilter,
    known: TransactionStates,
    newest_ms: int,
    values: TopicValues,
) -> Found:
    """The records from an offset on that are wanted, as a list shows them: some, and of some size."""
    rows, count, unreadable, size = [], 0, 0, 0
    for buffer in buffers:
        for header, batch in split(buffer):
            try:
                for record, state in _records(header, batch, known):
                    offset = record.offset or 0
                    if offset < start:
                        continue
                    count += 1
                    late_ms = max(newest_ms - record.timestamp, 0)
                    newest_ms = max(newest_ms, record.timestamp)
                    if wanted.fits(record, state, values):
                        row = shown(header, record, state, _SHOWN_SIZE, values) | {"late_ms": late_ms}
                        row["json_size"] = len(json.dumps(row))
                        rows.append(row)
                        size += row["json_size"]
                        if len(rows) >= _ROWS_MAX or size >= wanted.rows_size_max:
                            return Found(rows, count, unreadable, newest_ms, offset + 1)
            except InvalidBatch:
                unreadable += 1
    return Found(rows, count, unreadable, newest_ms, None)


def _records(header: BatchHeader, batch: memoryview, known: TransactionStates) -> Iterator[tuple[Record, str]]:
    if header.is_control:
        kind = "commit" if read_marker(batch).kind == MarkerKind.COMMIT else "abort"
        yield Record(None, None, header.max_timestamp, (), header.base_offset), f"{kind} marker"
        return
    for record in read_records(batch):
        yield record, known.state_of(header, record.offset or 0)
