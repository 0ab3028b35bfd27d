"""Avro values to columns, one by one: there is no reader of single Avro values for columns.

So this is as slow as Python is, about a hundred thousand values a second and core; it runs on the executors.
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

_PREFIX_SIZE = 5  # A zero byte and the number of a schema, as schema registries write them.
_REASON_SIZE_MAX = 500


def decode_avro(
    values: Any, fields: Sequence[Any], schema_json: str, *, prefixed: bool
) -> tuple[list[Any], list[str | None]]:
    """One array for each field, and what is wrong with each value."""
    read = _reader(schema_json, prefixed)
    records: list[dict[str, Any]] = []
    reasons: list[str | None] = []
    for value in values.to_pylist():
        record, reason = ({}, None) if value is None else _attempt(read, value)
        records.append(record)
        reasons.append(reason)
    return [pa.array([each.get(field.name) for each in records], field.type) for field in fields], reasons


def _attempt(read: Callable[[bytes], dict[str, Any]], value: bytes) -> tuple[dict[str, Any], str | None]:
    try:
        return read(value), None
    except Exception as failure:  # Whatever a decoder says of bytes that anybody may have sent.
        return {}, f"{type(failure).__name__}: {failure}"[:_REASON_SIZE_MAX]


@functools.lru_cache(maxsize=16)
def _reader(schema_json: str, prefixed: bool) -> Callable[[bytes], dict[str, Any]]:  # noqa: FBT001
    import fastavro

    schema = fastavro.parse_schema(json.loads(schema_json))
    skipped = _PREFIX_SIZE if prefixed else 0

    def read(value: bytes) -> dict[str, Any]:
        if prefixed and (value[:1] != b"\x00" or len(value) < skipped):
            raise ValueError("it does not start with a zero byte and the number of a schema")
        source = io.BytesIO(value)
        source.seek(skipped)
        record: Any = fastavro.schemaless_reader(source, schema, None)
        if source.tell() != len(value):
            raise ValueError(f"{len(value) - source.tell()} bytes are left behind the record")
        return dict(record)

    return read
