"""Avro values to columns, one by one: there is no reader of single Avro values for columns.

So this is as slow as Python is, about a hundred thousand values a second and core; it runs on the executors.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from holdfast.record.values.avro import avro_reader
from holdfast.record.values.prefix import split_prefix

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
    read = avro_reader(json.loads(schema_json))
    if not prefixed:
        return read

    def read_prefixed(value: bytes) -> dict[str, Any]:
        if (found := split_prefix(value)) is None:
            raise ValueError("it does not start with a zero byte and the number of a schema")
        return dict(read(found[1]))

    return read_prefixed
