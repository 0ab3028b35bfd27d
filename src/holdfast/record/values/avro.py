"""One Avro value at a time, by `fastavro`.

It reads in C, where nothing bounds it: a value of 10 kB whose type holds itself overflows the stack and ends the
process, and a list of nulls is as long as its first number says. So types are looked at before anything is read.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from holdfast.errors import Rejected

DEPTH_MAX: Final = 100  # Types within types.
RECORDS_MAX: Final = 10_000  # Of one value, whatever its bytes are.
SELF_HOLDING_SIZE_MAX: Final = 1000  # Bytes of a value whose type holds itself: each may be one level more.


def avro_reader(schema: Any, needed: Sequence[Any] = ()) -> Callable[[bytes], Any]:
    """Reads whole values of a schema, which may name types of those that it needs. Raises Rejected.

    What it returns raises whatever the library says of a value that does not fit. Without fastavro there is none:
    ModuleNotFoundError.
    """
    import fastavro

    named: dict[str, Any] = {}
    try:
        for each in needed:
            fastavro.parse_schema(each, named_schemas=named)
        parsed: Any = fastavro.parse_schema(_within(schema), named_schemas=named)
        looked = _TypeLook(named)
        looked.at(parsed)
    except Rejected:
        raise
    except Exception as failure:  # Whatever the library says of what somebody has written.
        raise Rejected(f"it is no Avro schema: {type(failure).__name__}: {failure}"[:500]) from None

    def read(data: bytes) -> Any:
        if looked.holds_itself and len(data) > SELF_HOLDING_SIZE_MAX:
            raise ValueError(f"its type holds itself: such values are read up to {SELF_HOLDING_SIZE_MAX} bytes")
        source = io.BytesIO(data)
        value: Any = fastavro.schemaless_reader(source, parsed, None)
        if source.tell() != len(data):
            raise ValueError(f"{len(data) - source.tell()} bytes are left behind the record")
        return value["value"]

    return read


def _within(schema: Any) -> dict[str, Any]:
    """A record of nothing but it, which takes no byte: only records of the library know types of elsewhere."""
    return {"type": "record", "name": "HoldfastValue", "fields": [{"name": "value", "type": schema}]}


class _Shape(NamedTuple):
    """A type: how many lie within each other, whether a value may take no byte, and how many records it is."""

    depth: int = 1
    is_empty: bool = False
    records: int = 0


class _TypeLook:
    """Goes through all types of a schema once."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._known: dict[str, _Shape] = {}
        self._open: set[str] = set()  # Those that are being looked at.
        self.holds_itself = False

    def at(self, schema: Any, at_once: frozenset[str] = frozenset()) -> _Shape:
        """`at_once` are the types that begin where this one does, or before it without a byte that must be there."""
        if len(self._open) > DEPTH_MAX or (shape := self._at(schema, at_once)).depth > DEPTH_MAX:
            raise Rejected(f"its types lie more than {DEPTH_MAX} deep within each other")
        if shape.records > RECORDS_MAX:
            raise Rejected(f"a value of it has more than {RECORDS_MAX} records within each other")
        return shape

    def _at(self, schema: Any, at_once: frozenset[str]) -> _Shape:
        if isinstance(schema, list):
            return _Shape(1 + max((self.at(each).depth for each in schema), default=0))
        if isinstance(schema, str):
            return self._name(schema, at_once) if schema in self._named else _Shape(is_empty=schema == "null")
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._name(schema["name"], at_once, schema)
        if kind in ("array", "map"):
            within = self.at(schema["items" if kind == "array" else "values"])
            if within.is_empty and kind == "array":
                raise Rejected("it has a list of what takes no byte: nothing bounds how long one is")
            return _Shape(1 + within.depth)
        if kind == "fixed":
            return _Shape(is_empty=not schema["size"])
        return _Shape() if kind == "enum" else self.at(kind, at_once)

    def _name(self, name: str, at_once: frozenset[str], schema: Any = None) -> _Shape:
        if name in self._known:
            return self._known[name]
        if name in at_once:
            raise Rejected(f"{name} begins with itself: no value ends")
        if name in self._open:
            self.holds_itself = True
            return _Shape()
        found = schema if schema is not None else self._named[name]
        if "fields" not in found:
            return self._at(found, at_once)
        self._open.add(name)
        shapes = [self.at(each["type"], at_once | {name}) for each in found["fields"]]
        self._open.discard(name)
        depth = 1 + max((each.depth for each in shapes), default=0)
        records = 1 + sum(each.records for each in shapes)
        self._known[name] = _Shape(depth, all(each.is_empty for each in shapes), records)
        return self._known[name]
