"""Readers for the types of a schema: each makes (value, next position) from (bytes, position, room for items)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeAlias
from uuid import UUID

from holdfast.protocol.errors import Malformed
from holdfast.protocol.wire import Room, check_left, tag, varint

Reader: TypeAlias = Callable[[memoryview, int, Room], tuple[Any, int]]
ArrayReader: TypeAlias = Callable[[memoryview, int, Room], tuple[int, int]]  # How many items follow.
TagReader: TypeAlias = Callable[[Any, memoryview, int, Room], int]  # It sets attributes of the item.

_bits = struct.Struct(">I").unpack_from
_NOT_ASKED_FOR = 1 << 31
_NULL_FROM = 0x80  # A struct that may be null has a signed byte before it; all below zero are null.


def maybe_null(read: Callable[[memoryview, int], tuple[Any, int]]) -> Reader:
    def reader(data: memoryview, position: int, room: Room) -> tuple[Any, int]:
        del room
        return read(data, position)

    return reader


def not_null(read: Callable[[memoryview, int], tuple[Any, int]], name: str) -> Reader:
    def reader(data: memoryview, position: int, room: Room) -> tuple[Any, int]:
        del room
        value, end = read(data, position)
        if value is None:
            raise Malformed(f"{name} is null", position)
        return value, end

    return reader


def copied(read: Callable[[memoryview, int], tuple[memoryview | None, int]]) -> Callable[..., tuple[bytes | None, int]]:
    """Bytes that outlive the buffer they were received in."""

    def reader(data: memoryview, position: int) -> tuple[bytes | None, int]:
        value, end = read(data, position)
        return (None if value is None else bytes(value)), end

    return reader


def number(letter: str) -> Reader:
    layout = struct.Struct(f">{letter}")

    def reader(data: memoryview, position: int, room: Room) -> tuple[Any, int]:
        del room
        return layout.unpack_from(data, position)[0], position + layout.size

    return reader


def uuid(data: memoryview, position: int, room: Room) -> tuple[UUID | None, int]:
    """Zeros are None."""
    del room
    check_left(data, position, 16)
    raw = bytes(data[position : position + 16])
    return (UUID(bytes=raw) if any(raw) else None), position + 16


def bits(data: memoryview, position: int, room: Room) -> tuple[set[int] | None, int]:
    """The numbers of the bits that are set; only the highest means that nobody asked."""
    del room
    (value,) = _bits(data, position)
    numbers = None if value == _NOT_ASKED_FOR else {bit for bit in range(32) if value >> bit & 1}
    return numbers, position + 4


def numbers(array: ArrayReader, letter: str, name: str, *, nullable: bool) -> Reader:
    size = struct.calcsize(f">{letter}")

    def reader(data: memoryview, position: int, room: Room) -> tuple[list[Any] | None, int]:
        found, start = array(data, position, room)
        if found < 0:
            _check_null(name, position, nullable=nullable)
            return None, start
        check_left(data, start, found * size)
        return list(struct.unpack_from(f">{found}{letter}", data, start)), start + found * size

    return reader


def items(array: ArrayReader, read: Reader, name: str, *, nullable: bool) -> Reader:
    def reader(data: memoryview, position: int, room: Room) -> tuple[list[Any] | None, int]:
        found, start = array(data, position, room)
        if found < 0:
            _check_null(name, position, nullable=nullable)
            return None, start
        values = []
        for _ in range(found):
            value, start = read(data, start, room)
            values.append(value)
        return values, start

    return reader


def _check_null(name: str, position: int, *, nullable: bool) -> None:
    if not nullable:
        raise Malformed(f"{name} is null", position)


def maybe_struct(read: Reader) -> Reader:
    def reader(data: memoryview, position: int, room: Room) -> tuple[Any, int]:
        if data[position] >= _NULL_FROM:
            return None, position + 1
        return read(data, position + 1, room)

    return reader


def tagged(known: dict[int, tuple[str, Reader]]) -> TagReader:
    """Sets the tagged fields that the schema knows, and passes over the others."""

    def reader(item: Any, data: memoryview, position: int, room: Room) -> int:
        count, position = varint(data, position)
        for _ in range(count):
            found, size, position = tag(data, position)
            if found in known:
                name, read = known[found]
                value, end = read(data, position, room)
                if end != position + size:
                    raise Malformed(f"{name} has {end - position} bytes, {size} were announced", position)
                setattr(item, name, value)
            position += size
        return position

    return reader
