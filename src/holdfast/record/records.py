"""Records as Python values, for the few: internal topics, markers, tests. `decode` is for the many.

    | size varint | attributes i8 | timestamp delta varint | offset delta varint |
    | key size varint, -1 for null | key | value size varint, -1 for null | value |
    | header count varint | key size varint | key | value size varint, -1 for null | value | …

`size` counts what follows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.record.batch import BatchHeader, read_header
from holdfast.record.codec import EXPANDED_SIZE_MAX, open_records
from holdfast.record.errors import InvalidRecord
from holdfast.record.varint import read_number


class Record(NamedTuple):
    """One record. Where it is to be built, an offset of None means the one after its predecessor's."""

    key: bytes | None = None
    value: bytes | None = None
    timestamp: int = 0  # Milliseconds since 1970, or -1 for none.
    headers: tuple[tuple[str, bytes | None], ...] = ()
    offset: int | None = None


def read_records(batch: memoryview, size_max: int = EXPANDED_SIZE_MAX) -> Iterator[Record]:
    """The records of one whole batch, one after the other. The crc is not looked at: see `check`."""
    header = read_header(batch)
    data = open_records(header, batch, size_max)
    position = 0
    offset = header.base_offset - 1
    for index in range(header.record_count):
        start = position
        try:
            record, position = _read_record(header, data, position, offset)
        except (IndexError, ValueError) as failure:
            raise InvalidRecord(header.base_offset, index, start, str(failure)) from failure
        assert record.offset is not None
        offset = record.offset
        yield record
    if position != len(data):
        reason = f"{len(data) - position} bytes are left after the last record"
        raise InvalidRecord(header.base_offset, header.record_count, position, reason)


def _read_record(header: BatchHeader, data: memoryview, position: int, last_offset: int) -> tuple[Record, int]:
    size, position = read_number(data, position)
    if not 0 < size <= len(data) - position:
        raise ValueError(f"a record claims {size} bytes where {len(data) - position} are left")
    end = position + size
    body = data[:end]
    timestamp_delta, position = read_number(body, position + 1)
    offset_delta, position = read_number(body, position)
    offset = header.base_offset + offset_delta
    if not last_offset < offset < header.end_offset:
        raise ValueError(f"offset {offset} does not lie between {last_offset} and {header.end_offset}")
    key, position = _read_bytes(body, position)
    value, position = _read_bytes(body, position)
    headers, position = _read_headers(body, position)
    if position != end:
        raise ValueError(f"{end - position} bytes are left in the record")
    timestamp = header.max_timestamp if header.is_log_append_time else header.base_timestamp + timestamp_delta
    return Record(key, value, timestamp, headers, offset), end


def _read_bytes(data: memoryview, position: int) -> tuple[bytes | None, int]:
    size, position = read_number(data, position)
    if size == -1:
        return None, position
    if not 0 <= size <= len(data) - position:
        raise ValueError(f"a field claims {size} bytes where {len(data) - position} are left")
    return bytes(data[position : position + size]), position + size


def _read_headers(data: memoryview, position: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, position = read_number(data, position)
    if not 0 <= count <= len(data) - position:
        raise ValueError(f"{count} headers do not fit into {len(data) - position} bytes")
    headers = []
    for _ in range(count):
        key, position = _read_bytes(data, position)
        if key is None:
            raise ValueError("a header has no key")
        value, position = _read_bytes(data, position)
        headers.append((key.decode("utf-8", "replace"), value))  # Readers in Java replace what is no UTF-8, too.
    return tuple(headers), position
