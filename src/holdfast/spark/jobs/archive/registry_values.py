"""Values to columns by the schemas of a registry: each begins with the number of the one that it was written by.

So old and new values fit the same columns, whichever of the registry's schemas they have: Avro, Protobuf or JSON. A
registry that is away is waited for; nothing becomes a dead letter for it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from holdfast.client.registry import NotLetIn, Registry, ValueReader
from holdfast.errors import HoldfastError, Unavailable
from holdfast.record.values.prefix import split_prefix

UNKNOWN_MAX: Final = 64  # Numbers without a schema that are asked for in one group.
_REASON_SIZE_MAX: Final = 500
_NAME: Final = "--registry"


class _Known:
    """The schemas of one group of values."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._unknown: dict[int, str] = {}

    def read(self, value: bytes) -> tuple[dict[str, Any], str | None]:
        """A value, or what is wrong with it."""
        found = split_prefix(value)
        if found is None:
            return {}, "it does not start with a zero byte and the number of a schema"
        number, data = found
        if number in self._unknown:
            return {}, self._unknown[number]
        if len(self._unknown) >= UNKNOWN_MAX:
            return {}, f"{UNKNOWN_MAX} other schemas that are not there were asked for first"
        try:
            reader = reader_of(self._url, number)
        except (Unavailable, NotLetIn, ModuleNotFoundError):  # Nothing is wrong with the value.
            raise
        except Exception as failure:  # It has said something that is no schema.
            said = str(failure) if isinstance(failure, HoldfastError) else f"{type(failure).__name__}: {failure}"
            self._unknown[number] = f"schema {number} cannot be used: {said}"[:_REASON_SIZE_MAX]
            return {}, self._unknown[number]
        return _attempt(reader, data)


def _attempt(reader: ValueReader, data: bytes) -> tuple[dict[str, Any], str | None]:
    try:
        record = reader.read(data)
    except Exception as failure:  # Whatever a decoder says of bytes that anybody may have sent.
        return {}, f"{type(failure).__name__}: {failure}"[:_REASON_SIZE_MAX]
    return (record, None) if isinstance(record, dict) else ({}, f"not a record but a {type(record).__name__}")


@functools.lru_cache(maxsize=500)
def reader_of(url: str, number: int) -> ValueReader:
    """What a number means never changes."""
    return Registry(url, setting=_NAME).reader(number)


def decode_registry(
    values: Any, fields: Sequence[Any], earlier: Mapping[str, Sequence[str]], url: str
) -> tuple[list[Any], list[str | None]]:
    """One array for each field, and what is wrong with each value."""
    known = _Known(url)
    read = [({}, None) if value is None else known.read(value) for value in values.to_pylist()]
    records = [record for record, _ in read]
    reasons = [reason for _, reason in read]
    is_there = values.is_valid().to_pylist()
    arrays = []
    for field in fields:
        names = (field.name, *earlier.get(field.name, ()))
        column = [next((each[name] for name in names if each.get(name) is not None), None) for each in records]
        for at, value in enumerate(column):
            if value is None and is_there[at] and not field.nullable:
                reasons[at] = reasons[at] or f"field {field.name} is missing"
        arrays.append(_array(field, column, reasons))
    return arrays, reasons


def _array(field: Any, column: list[Any], reasons: list[str | None]) -> Any:
    """At once; only where something does not fit, one by one."""
    wrong = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, TypeError, ValueError)
    try:
        return pa.array(column, field.type)
    except wrong:
        pass
    for at, value in enumerate(column):
        try:
            pa.array([value], field.type)
        except wrong:
            column[at] = None
            reasons[at] = reasons[at] or f"field {field.name} does not fit its type"
    return pa.array(column, field.type)
