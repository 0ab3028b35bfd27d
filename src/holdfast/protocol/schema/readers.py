"""Readers for the types of a schema: each makes (value, next position) from (bytes, position, room for items)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeAlias
from uuid import UUID

from holdfast.protocol.errors import Malformed
from holdfast.protocol.wire import WireRoom, check_left, tag, varint

Reader: TypeAlias = Callable[[memoryview, int, WireRoom], tuple[Any, int]]
ArrayReader: TypeAlias = Callable[[memoryview, int, WireRoom], tuple[int, int]]  # How many items follow.

_NULL_FROM = 0x80  # A part that may be null has a signed byte before it; all below zero are null.


def maybe_null(read: Callable[[memoryview, int], tuple[Any, int]]) -> Reader:
    def reader(data: memoryview, position: int, room: WireRoom) -> tuple[Any, int]:
        del room
        return read(data, position)

    return reader


def not_null(read: Callable[[memoryview, int], tuple[Any, int]], name: str) -> Reader:
    def reader(data: memoryview, position: int, room: WireRoom) -> tuple[Any, int]:
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

    def reader(data: memoryview, position: int, room: WireRoom) -> tuple[Any, int]:
        del room
        return layout.unpack_from(data, position)[0], position + layout.size

    return reader


def uuid(data: memoryview, position: int, room: WireRoom) -> tuple[UUID | None, int]:
    """Zeros are None."""
    del room
    check_left(data, position, 16)
    raw = bytes(data[position : position + 16])
    return (UUID(bytes=raw) if any(raw) else None), position + 16


def numbers(array: ArrayReader, letter: str, name: str, *, nullable: bool) -> Reader:
    one = struct.Struct(f">{letter}")
    size, unpack_one, unpack = one.size, one.unpack_from, struct.unpack_from

    def reader(data: memoryview, position: int, room: WireRoom) -> tuple[list[Any] | None, int]:
        found, start = array(data, position, room)
        if found == 1:  # As most are: the replicas of a partition.
            return list(unpack_one(data, start)), start + size
        if found < 0:
            _check_null(name, position, nullable=nullable)
            return None, start
        check_left(data, start, found * size)
        return list(unpack(f">{found}{letter}", data, start)) if found else [], start + found * size

    return reader


def items(array: ArrayReader, read: Reader, name: str, *, nullable: bool) -> Reader:
    def reader(data: memoryview, position: int, room: WireRoom) -> tuple[list[Any] | None, int]:
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


def maybe_part(read: Reader) -> Reader:
    def reader(data: memoryview, position: int, room: WireRoom) -> tuple[Any, int]:
        if data[position] >= _NULL_FROM:
            return None, position + 1
        return read(data, position + 1, room)

    return reader


def tagged(known: dict[int | None, tuple[int, str, Reader]], defaults: list[Any]) -> Reader:
    """The values of the tagged fields that the schema knows, each at its place; the others are passed over."""

    def reader(data: memoryview, position: int, room: WireRoom) -> tuple[list[Any], int]:
        values = defaults.copy()
        count, position = varint(data, position)
        for _ in range(count):
            found, size, position = tag(data, position)
            if found in known:
                place, name, read = known[found]
                value, end = read(data, position, room)
                if end != position + size:
                    raise Malformed(f"{name} has {end - position} bytes, {size} were announced", position)
                values[place] = value
            position += size
        return values, position

    return reader
