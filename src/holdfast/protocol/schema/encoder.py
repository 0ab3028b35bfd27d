"""Encoders made from schemas: for each version of a message class, the function that writes it.

Each class becomes one function, made from text, that appends its bytes to a list:

    def write(item, out):
        f0, f1, f2, f3, = item
        out += (fixed_0(f0, f1), write_2(f2))
        if f3 is None: out.append(null)
        else:
            out.append(count(f3))
            for each in f3: write_3(each, out)
        out.append(no_tags)

What a version does not have is left out. A tagged field is written when it is not what the schema says it is anyway.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeAlias

from holdfast.protocol.message import Field, Message, cached, fields_of, is_part, part_class
from holdfast.protocol.schema import writers
from holdfast.protocol.schema.decoder import LETTERS, is_number, runs
from holdfast.protocol.schema.writers import Writer
from holdfast.types import Buffer

PartWriter: TypeAlias = Callable[[Any, list[Buffer]], None]


def encode(message: Message, version: int) -> bytes:
    """A message's bytes, without a header."""
    return encode_part(message, version, flexible=version >= message.FLEXIBLE_FROM)


def encode_part(part: Message, version: int, *, flexible: bool) -> bytes:
    """The bytes of a part of a message."""
    out: list[Buffer] = []
    _writer(type(part), version, flexible=flexible)(part, out)
    return b"".join(out)


@cached
def _writer(of: type[Message], version: int, *, flexible: bool) -> PartWriter:
    names: dict[str, Any] = {"null": b"\0" if flexible else b"\xff\xff\xff\xff"}
    names["count"] = writers.compact_count if flexible else writers.plain_count
    fields = fields_of(of)
    lines = [f"{''.join(f'f{each.place}, ' for each in fields)} = item"] if fields else []
    simple: list[str] = []  # What goes into the list together.
    for run in runs(each for each in fields if each.is_in(version) and each.tag is None):
        if is_part(run[0].item_type):
            lines += [*_together(simple), *_write_parts(of, run[0], version, names, flexible=flexible)]
            simple = []
        else:
            simple.append(_write_simple(run, names, flexible=flexible))
    tagged = [each for each in fields if each.is_in(version) and each.tag is not None]
    if flexible and tagged:
        names["tags"] = _tags(of, tagged, version)
        values = "".join(f"f{each.place}, " for each in tagged)
        simple.append(f"tags(({values}))")
    elif flexible:
        simple.append(r"b'\0'")
    lines += [*_together(simple), "return"]
    exec("\n    ".join(["def write(item, out):", *lines]), names)
    made: PartWriter = names["write"]
    return made


def _together(simple: list[str]) -> list[str]:
    if len(simple) == 1:
        return [f"out.append({simple[0]})"]
    return [f"out += ({', '.join(simple)})"] if simple else []


def _write_simple(run: list[Field], names: dict[str, Any], *, flexible: bool) -> str:
    place = run[0].place
    if is_number(run[0]):
        names[f"fixed_{place}"] = struct.Struct(">" + "".join(LETTERS[each.type] for each in run)).pack
        return f"fixed_{place}({', '.join(f'f{each.place}' for each in run)})"
    names[f"write_{place}"] = _simple_writer(run[0], flexible=flexible)
    return f"write_{place}(f{place})"


def _write_parts(of: type[Message], each: Field, version: int, names: dict[str, Any], *, flexible: bool) -> list[str]:
    """An array of parts, or one part, which has a byte before it where it may be null."""
    place, value = each.place, f"f{each.place}"
    names[f"write_{place}"] = _writer(part_class(of, each.item_type), version, flexible=flexible)
    if each.is_array:
        return [
            f"if {value} is None: out.append(null)",
            "else:",
            f"    out.append(count({value}))",
            f"    for each in {value}: write_{place}(each, out)",
        ]
    if not each.may_be_null(version):
        return [f"write_{place}({value}, out)"]
    return [
        rf"if {value} is None: out.append(b'\xff')",
        "else:",
        r"    out.append(b'\x01')",
        f"    write_{place}({value}, out)",
    ]


def _simple_writer(each: Field, *, flexible: bool) -> Writer:
    kind = each.item_type
    if each.is_array and kind in LETTERS:
        return writers.numbers(LETTERS[kind], flexible=flexible)
    if kind in LETTERS:
        return writers.number(LETTERS[kind])
    if kind == "uuid":
        write: Writer = writers.uuid
    elif kind == "string":
        write = writers.compact_string if flexible else writers.plain_string
    else:
        write = writers.compact_bytes if flexible else writers.plain_bytes
    return writers.items(write, flexible=flexible) if each.is_array else write


def _tags(of: type[Message], tagged: list[Field], version: int) -> Writer:
    """The tagged fields that are not what is taken for granted, by their numbers."""
    known = [
        (number, writers.varint(each.tag or 0), _granted(of, each), _tag_writer(of, each, version))
        for number, each in sorted(enumerate(tagged), key=lambda pair: pair[1].tag or 0)
    ]

    def write(values: tuple[Any, ...]) -> bytes:
        out: list[Buffer] = []
        count = 0
        for number, tag, granted, write_one in known:
            if values[number] not in granted:
                value = write_one(values[number])
                out += (tag, writers.varint(len(value)), value)
                count += 1
        return b"".join((writers.varint(count), *out))

    return write


def _granted(of: type[Message], each: Field) -> tuple[Any, ...]:
    """The values that need not be written."""
    if each.is_array:
        return (each.default, []) if each.default == () else (each.default,)
    if not is_part(each.type) or each.nullable is not None:
        return (each.default,)
    return (None, part_class(of, each.type)())


def _tag_writer(of: type[Message], each: Field, version: int) -> Writer:
    if not is_part(each.item_type):
        return _simple_writer(each, flexible=True)
    names: dict[str, Any] = {"null": b"\0", "count": writers.compact_count}
    lines = _write_parts(of, each, version, names, flexible=True)
    exec("\n    ".join([f"def write(f{each.place}):", "out = []", *lines, "return b''.join(out)"]), names)
    made: Writer = names["write"]
    return made
