"""An Avro schema as Arrow columns: the one way to say what values look like, whether they are Avro or JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from holdfast.errors import Rejected

TAKEN = frozenset({"topic", "date", "partition", "offset", "timestamp", "timestamp_type", "key", "headers", "reason"})
_PLAIN: dict[str, Any] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: dict[str, Any] = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "uuid": pa.string(),
}


class BadSchema(Rejected):
    """A schema that says nothing usable."""

    def __init__(self, where: object, reason: object) -> None:
        super().__init__(f"{where} is no Avro schema of a record: {reason}")
        self.where = where
        self.reason = reason


def read_schema(path: Path) -> dict[str, Any]:
    """The schema in a file, checked as far as columns can be made of it."""
    return parse_schema(path, path.read_text())


def parse_schema(where: object, text: str) -> dict[str, Any]:
    """The same for one that somebody has at hand; `where` says whose it is."""
    try:
        schema = json.loads(text)
        arrow_fields(schema)
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise BadSchema(where, failure) from failure
    return dict(schema)


def arrow_fields(schema: dict[str, Any]) -> list[Any]:
    """One Arrow field for each field of the record; one that may be null is nullable."""
    if schema.get("type") != "record":
        raise ValueError("its type is not record")
    fields = [_field(each) for each in schema["fields"]]
    for each in fields:
        if each.name in TAKEN:
            raise ValueError(f"field {each.name} has the name of a column that every record has: give it another one")
    return fields


def _field(field: dict[str, Any]) -> Any:
    kind, nullable = _type(field["type"])
    return pa.field(field["name"], kind, nullable)


def _type(kind: Any) -> tuple[Any, bool]:
    """The Arrow type, and whether null is allowed."""
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        if len(others) != 1:
            raise ValueError(f"a union of {kind}: only one type and null can be a column")
        return _type(others[0])[0], "null" in kind
    if isinstance(kind, str):
        return _PLAIN[kind], kind == "null"
    return _complex(kind), False


def _complex(kind: dict[str, Any]) -> Any:
    name, logical = kind["type"], kind.get("logicalType")
    if logical == "decimal":
        return pa.decimal128(kind["precision"], kind.get("scale", 0))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if name == "record":
        return pa.struct([_field(each) for each in kind["fields"]])
    if name == "array":
        return pa.list_(_type(kind["items"])[0])
    if name == "map":
        return pa.map_(pa.string(), _type(kind["values"])[0])
    if name in ("enum", "fixed"):
        return pa.string() if name == "enum" else pa.binary(kind["size"])
    return _type(name)[0]
