"""Decoders made from schemas: for each version of a message class, the function that reads it.

They trust no byte: every size and count is checked against what is left, and the number of items has a limit.

Each class becomes one function, made from text, since a loop over the fields would take twice the time:

    def read(data, position, room):
        f0, f1, = fixed_0(data, position)  # Numbers that lie together are read together.
        position += 6
        f2, end = read_2(data, position)
        if f2 is None: raise Malformed("name is null", position)
        position = end
        f3, position = read_3(data, position, room)  # A list or a part has a reader of its own.
        f4 = default_4  # What this version does not have.
        if data[position] == 0: position += 1
        else: f5, position = tags(data, position, room)
        return new(of, (f0, f1, f2, f3, f4, f5)), position
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from holdfast.protocol.errors import Malformed
from holdfast.protocol.message import Field, Message, cached, fields_of, is_part, new, part_class
from holdfast.protocol.schema import readers
from holdfast.protocol.schema.readers import Reader
from holdfast.protocol.wire import EARLY_END, FLEXIBLE, ITEMS_MAX, PLAIN, WireRoom

LETTERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "float64": "d", "bool": "?"}

M = TypeVar("M", bound=Message)


def decode(message_class: type[M], version: int, data: memoryview, items_max: int = ITEMS_MAX) -> M:
    """Read a message that begins at the first byte. What may follow it is not looked at, as in Kafka."""
    try:
        message, _ = _reader(message_class, version)(data, 0, WireRoom(items_max))
    except (IndexError, struct.error):
        raise Malformed(EARLY_END, len(data), f"{message_class.__name__} v{version}") from None
    except Malformed as failure:
        raise Malformed(failure.why, failure.position, f"{message_class.__name__} v{version}") from None
    assert isinstance(message, message_class)
    return message


@cached
def _reader(message_class: type[Message], version: int) -> Reader:
    return _read_part(message_class, version, flexible=version >= message_class.FLEXIBLE_FROM)


def _read_part(of: type[Message], version: int, *, flexible: bool) -> Reader:
    names: dict[str, Any] = {"new": new, "of": of, "Malformed": Malformed}
    lines: list[str] = []
    fields = fields_of(of)
    for run in runs(each for each in fields if each.is_in(version) and each.tag is None):
        if is_number(run[0]):
            lines += _read_numbers(run, names)
        else:
            lines += _read_other(of, run[0], version, names, flexible=flexible)
    for each in fields:
        if not each.is_in(version) or each.tag is not None:
            names[f"default_{each.place}"] = each.default
            lines.append(f"f{each.place} = default_{each.place}")
    if flexible:
        lines += _read_tags(
            of, [each for each in fields if each.is_in(version) and each.tag is not None], version, names
        )
    lines.append(f"return new(of, ({''.join(f'f{each.place}, ' for each in fields)})), position")
    exec("\n    ".join(["def read(data, position, room):", *lines]), names)
    made: Reader = names["read"]
    return made


def _read_numbers(run: list[Field], names: dict[str, Any]) -> list[str]:
    layout = struct.Struct(">" + "".join(LETTERS[each.type] for each in run))
    names[f"fixed_{run[0].place}"] = layout.unpack_from
    targets = "".join(f"f{each.place}, " for each in run)
    return [f"{targets} = fixed_{run[0].place}(data, position)", f"position += {layout.size}"]


def _read_other(of: type[Message], each: Field, version: int, names: dict[str, Any], *, flexible: bool) -> list[str]:
    place = each.place
    if each.is_array or is_part(each.type) or each.type == "uuid":
        names[f"read_{place}"] = _read_field(of, each, version, flexible=flexible)
        return [f"f{place}, position = read_{place}(data, position, room)"]
    form = FLEXIBLE if flexible else PLAIN
    names[f"read_{place}"] = form.string if each.type == "string" else readers.copied(form.bytes)
    if each.may_be_null(version):
        return [f"f{place}, position = read_{place}(data, position)"]
    null = f'if f{place} is None: raise Malformed("{each.name} is null", position)'
    return [f"f{place}, end = read_{place}(data, position)", null, "position = end"]


def _read_tags(of: type[Message], tagged: list[Field], version: int, names: dict[str, Any]) -> list[str]:
    known = {
        each.tag: (number, each.name, _read_field(of, each, version, flexible=True))
        for number, each in enumerate(tagged)
    }
    names["tags"] = readers.tagged(known, [each.default for each in tagged])
    targets = "".join(f"f{each.place}, " for each in tagged)
    found = f"({targets}), position" if tagged else "_, position"
    return ["if data[position] == 0: position += 1", f"else: {found} = tags(data, position, room)"]


def is_number(each: Field) -> bool:
    return each.type in LETTERS


def runs(fields: Iterable[Field]) -> Iterator[list[Field]]:
    """Fields in their order: numbers that lie together as one run, everything else alone."""
    run: list[Field] = []
    for each in fields:
        if is_number(each):
            run.append(each)
            continue
        if run:
            yield run
            run = []
        yield [each]
    if run:
        yield run


def _read_field(of: type[Message], each: Field, version: int, *, flexible: bool) -> Reader:
    nullable = each.may_be_null(version)
    if each.is_array:
        return _read_array(of, each, version, nullable=nullable, flexible=flexible)
    if is_part(each.type):
        read = _read_part(part_class(of, each.type), version, flexible=flexible)
        return readers.maybe_part(read) if nullable else read
    return _read_simple(each.type, each.name, nullable=nullable, flexible=flexible)


def _read_simple(kind: str, name: str, *, nullable: bool, flexible: bool) -> Reader:
    form = FLEXIBLE if flexible else PLAIN
    if kind in LETTERS:
        return readers.number(LETTERS[kind])
    if kind == "uuid":
        return readers.uuid
    read = form.string if kind == "string" else readers.copied(form.bytes)
    return readers.maybe_null(read) if nullable else readers.not_null(read, name)


def _read_array(of: type[Message], each: Field, version: int, *, nullable: bool, flexible: bool) -> Reader:
    array = (FLEXIBLE if flexible else PLAIN).array
    kind = each.item_type
    if kind in LETTERS:
        return readers.numbers(array, LETTERS[kind], each.name, nullable=nullable)
    if is_part(kind):
        read = _read_part(part_class(of, kind), version, flexible=flexible)
    else:
        read = _read_simple(kind, each.name, nullable=False, flexible=flexible)
    return readers.items(array, read, each.name, nullable=nullable)
