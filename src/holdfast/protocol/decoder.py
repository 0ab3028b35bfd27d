"""Decoders made from schemas: for each version of a message class, the function that reads it.

The library has decoders of its own, but they trust the bytes: a size past the end gives a short string, a varint has no
end, a null comes out where none is allowed, each tagged field copies the rest of the message. These do not: every size
and count is checked against what is left, and the number of items has a limit.

Each struct becomes one function, made from text, since a loop over the fields would take twice the time:

    def read(data, position, room):
        item = new(of)
        item._version = 3
        item.error_code, item.epoch = fixed_0(data, position)  # Numbers that lie together are read together.
        position += 6
        item.name, position = read_1(data, position, room)  # Everything else has a reader of its own.
        position = position + 1 if data[position] == 0 else tags(item, data, position, room)
        return item, position
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

from holdfast.protocol import readers
from holdfast.protocol.classes import Message
from holdfast.protocol.errors import Malformed
from holdfast.protocol.readers import Reader
from holdfast.protocol.wire import EARLY_END, FLEXIBLE, PLAIN, Room

_LETTERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "float64": "d", "bool": "?"}


def decode(message_class: Any, version: int, data: memoryview) -> Message:
    """Read a message that begins at the first byte. What may follow it is not looked at, as in Kafka."""
    try:
        message, _ = _reader(message_class, version)(data, 0, Room())
    except (IndexError, struct.error):
        raise Malformed(EARLY_END, len(data), f"{message_class.name} v{version}") from None
    except Malformed as failure:
        raise Malformed(failure.why, failure.position, f"{message_class.name} v{version}") from None
    message._header = None
    return message


@cache
def _reader(message_class: Any, version: int) -> Reader:
    flexible = message_class.flexible_version_q(version)
    return _read_struct(message_class._struct, version, message_class, flexible=flexible)


def _read_struct(schema: Any, version: int, item_class: Any, *, flexible: bool) -> Reader:
    names: dict[str, Any] = {"new": object.__new__, "of": item_class}
    lines = ["item = new(of)", f"item._version = {version}", "item.tags = item.unknown_tags = None"]
    for number, run in enumerate(_runs(schema.untagged_fields(version))):
        targets = ", ".join(f"item.{field.name}" for field in run)
        if run[0].type_str in _LETTERS:
            layout = struct.Struct(">" + "".join(_LETTERS[field.type_str] for field in run))
            names[f"fixed_{number}"] = layout.unpack_from
            lines += [f"{targets}, = fixed_{number}(data, position)", f"position += {layout.size}"]
        else:
            names[f"read_{number}"] = _read_field(run[0], version, flexible=flexible)
            lines.append(f"{targets}, position = read_{number}(data, position, room)")
    if flexible:
        names["tags"] = readers.tagged(_tagged_fields(schema, version))
        lines.append("position = position + 1 if data[position] == 0 else tags(item, data, position, room)")
    return _function(lines, names)


def _function(lines: list[str], names: dict[str, Any]) -> Reader:
    source = "\n    ".join(["def read(data, position, room):", *lines, "return item, position"])
    exec(source, names)
    made: Reader = names["read"]
    return made


def _runs(fields: list[Any]) -> Iterator[list[Any]]:
    """Fields in their order: numbers that lie together as one run, everything else alone."""
    run: list[Any] = []
    for field in fields:
        if field.type_str in _LETTERS and not field.is_array():
            run.append(field)
            continue
        if run:
            yield run
            run = []
        yield [field]
    if run:
        yield run


def _tagged_fields(schema: Any, version: int) -> dict[int, tuple[str, Reader]]:
    return {
        field.tag: (field.name, _read_field(field, version, flexible=True))
        for field in schema.fields.values()
        if field.for_version_q(version) and field.tagged_field_q(version)
    }


def _read_field(field: Any, version: int, *, flexible: bool) -> Reader:
    nullable = field.nullable_for_version_q(version)
    if field.is_array():
        return _read_array(field, version, nullable=nullable, flexible=flexible)
    if field.is_struct():
        read = _read_struct(field, version, field.data_class, flexible=flexible)
        return readers.maybe_struct(read) if nullable else read
    return _read_simple(field, nullable=nullable, flexible=flexible)


def _read_simple(field: Any, *, nullable: bool, flexible: bool) -> Reader:
    form = FLEXIBLE if flexible else PLAIN
    kind = field.type_str
    if kind in _LETTERS:
        return readers.number(_LETTERS[kind])
    if kind == "uuid":
        return readers.uuid
    if kind == "bitfield":
        return readers.bits
    read = form.string if kind == "string" else readers.copied(form.bytes)
    return readers.maybe_null(read) if nullable else readers.not_null(read, field.name)


def _read_array(field: Any, version: int, *, nullable: bool, flexible: bool) -> Reader:
    array = (FLEXIBLE if flexible else PLAIN).array
    inner = field.array_of
    if inner.is_struct():
        read = _read_struct(inner, version, inner.data_class, flexible=flexible)
    elif inner.type_str in _LETTERS:
        return readers.numbers(array, _LETTERS[inner.type_str], field.name, nullable=nullable)
    else:
        read = _read_simple(inner, nullable=False, flexible=flexible)
    return readers.items(array, read, field.name, nullable=nullable)
