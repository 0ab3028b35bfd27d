"""Writers for the types of a schema: each makes bytes from a value. A null is written wherever one is given."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from holdfast.protocol.wire import encode_varint
from holdfast.types import Buffer

Writer: TypeAlias = Callable[[Any], Buffer]

_SHORT = [bytes((number,)) for number in range(0x80)]  # Varints of one byte.
_NO_ID = bytes(16)
_int16 = struct.Struct(">h").pack
_int32 = struct.Struct(">i").pack


def varint(value: int) -> bytes:
    return _SHORT[value] if value < 0x80 else encode_varint(value)


def plain_string(value: str | None) -> bytes:
    if value is None:
        return b"\xff\xff"
    raw = value.encode()
    return _int16(len(raw)) + raw


def compact_string(value: str | None) -> bytes:
    if value is None:
        return b"\0"
    raw = value.encode()
    return varint(len(raw) + 1) + raw


def plain_bytes(value: Buffer | None) -> Buffer:
    return b"\xff\xff\xff\xff" if value is None else _int32(len(value)) + value


def compact_bytes(value: Buffer | None) -> Buffer:
    return b"\0" if value is None else varint(len(value) + 1) + value


def plain_count(items: Sequence[Any]) -> bytes:
    return _int32(len(items))


def compact_count(items: Sequence[Any]) -> bytes:
    return varint(len(items) + 1)


def uuid(value: UUID | None) -> bytes:
    """None is zeros."""
    return _NO_ID if value is None else value.bytes


def number(letter: str) -> Writer:
    return struct.Struct(f">{letter}").pack


def numbers(letter: str, *, flexible: bool) -> Writer:
    """An array of numbers."""
    count, null = (compact_count, b"\0") if flexible else (plain_count, b"\xff\xff\xff\xff")
    pack, one = struct.pack, struct.Struct(f">{letter}").pack

    def writer(values: Sequence[Any] | None) -> bytes:
        if values is None:
            return null
        if len(values) == 1:
            return count(values) + one(values[0])
        return count(values) + pack(f">{len(values)}{letter}", *values)

    return writer


def items(write: Writer, *, flexible: bool) -> Writer:
    """An array of strings or the like."""
    count, null = (compact_count, b"\0") if flexible else (plain_count, b"\xff\xff\xff\xff")

    def writer(values: Sequence[Any] | None) -> bytes:
        return null if values is None else b"".join((count(values), *map(write, values)))

    return writer
