"""The pieces that messages are made of, as functions from (bytes, position) to (value, next position).

    | int8 … int64 | big-endian                          | uuid           | 16 bytes                        |
    | string       | size int16, -1 = null, UTF-8        | compact string | size + 1 as varint, 0 = null    |
    | bytes        | size int32, -1 = null               | compact bytes  | size + 1 as varint, 0 = null    |
    | array        | count int32, -1 = null, items       | compact array  | count + 1 as varint, 0 = null   |
    | tags         | count, then each: tag, size, value; all three are varints, unsigned, at most 5 bytes    |

Versions of a message are either plain or flexible: `PLAIN` and `FLEXIBLE` hold the functions of the one and the other.

A size or count is compared with what is left before anything is made from it. What reads past the end raises IndexError
or struct.error: the decoder around it turns both into Malformed.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from holdfast.protocol.errors import Malformed

ITEMS_MAX = 250_000  # Of one message: an item may be one byte on the wire and some hundred in memory.
EARLY_END = "the message ends too early"

_VARINT_SIZE_MAX = 5
_int16 = Struct(">h").unpack_from
_int32 = Struct(">i").unpack_from


class Room:
    """How many items a message may still have."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = ITEMS_MAX

    def take(self, count: int, position: int) -> None:
        self.left -= count
        if self.left < 0:
            raise Malformed(f"there are more than {ITEMS_MAX} items", position)


def varint(data: memoryview, position: int) -> tuple[int, int]:
    """An unsigned number of at most 32 bits, seven to a byte, lowest first."""
    value = data[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    for count in range(1, _VARINT_SIZE_MAX):
        byte = data[position + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80 and value <= 0xFFFFFFFF:
            return value, position + count + 1
    raise Malformed("a varint has more than 32 bits", position)


def encode_varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string_size(data: memoryview, position: int) -> tuple[int, int]:
    return _int16(data, position)[0], position + 2


def plain_size(data: memoryview, position: int) -> tuple[int, int]:
    return _int32(data, position)[0], position + 4


def compact_size(data: memoryview, position: int) -> tuple[int, int]:
    size, start = varint(data, position)
    return size - 1, start


def check_left(data: memoryview, position: int, size: int) -> None:
    if size > len(data) - position:
        raise Malformed(f"{size} bytes are announced, {len(data) - position} are left", position)


def text(data: memoryview, start: int, size: int) -> str:
    check_left(data, start, size)
    try:
        return str(data[start : start + size], "utf-8")
    except UnicodeDecodeError as failure:
        raise Malformed(f"a string is not UTF-8 ({failure.reason})", start) from None


def plain_string(data: memoryview, position: int) -> tuple[str | None, int]:
    size, start = string_size(data, position)
    return (text(data, start, size), start + size) if size >= 0 else (None, start)


def compact_string(data: memoryview, position: int) -> tuple[str | None, int]:
    size, start = compact_size(data, position)
    return (text(data, start, size), start + size) if size >= 0 else (None, start)


def plain_bytes(data: memoryview, position: int) -> tuple[memoryview | None, int]:
    size, start = plain_size(data, position)
    check_left(data, start, size)
    return (data[start : start + size], start + size) if size >= 0 else (None, start)


def compact_bytes(data: memoryview, position: int) -> tuple[memoryview | None, int]:
    size, start = compact_size(data, position)
    check_left(data, start, size)
    return (data[start : start + size], start + size) if size >= 0 else (None, start)


def plain_count(data: memoryview, position: int) -> tuple[int, int]:
    return _checked_count(data, position, *plain_size(data, position))


def compact_count(data: memoryview, position: int) -> tuple[int, int]:
    return _checked_count(data, position, *compact_size(data, position))


def _checked_count(data: memoryview, position: int, count: int, start: int) -> tuple[int, int]:
    """No item is smaller than a byte, so there cannot be more items than bytes."""
    if count > len(data) - start:
        raise Malformed(f"{count} items are announced, {len(data) - start} bytes are left", position)
    return count, start


def tag(data: memoryview, position: int) -> tuple[int, int, int]:
    """A tagged field's number, its size, and where its value begins."""
    number, position = varint(data, position)
    size, position = varint(data, position)
    check_left(data, position, size)
    return number, size, position


def skip_tags(data: memoryview, position: int) -> int:
    """Pass over tagged fields that nobody here needs."""
    count, position = varint(data, position)
    for _ in range(count):
        _, size, position = tag(data, position)
        position += size
    return position


def no_tags(data: memoryview, position: int) -> int:
    del data
    return position


class Form(NamedTuple):
    """How a version writes sizes, and whether it has tags."""

    string: Callable[[memoryview, int], tuple[str | None, int]]
    bytes: Callable[[memoryview, int], tuple[memoryview | None, int]]
    items: Callable[[memoryview, int], tuple[int, int]]  # How many there are; -1 is null.
    skip_tags: Callable[[memoryview, int], int]

    def required_string(self, data: memoryview, position: int) -> tuple[str, int]:
        value, end = self.string(data, position)
        if value is None:
            raise Malformed("a string that must be there is null", position)
        return value, end

    def required_count(self, data: memoryview, position: int, room: Room) -> tuple[int, int]:
        count, start = self.items(data, position)
        if count < 0:
            raise Malformed("an array that must be there is null", position)
        room.take(count, position)
        return count, start


PLAIN = Form(plain_string, plain_bytes, plain_count, no_tags)
FLEXIBLE = Form(compact_string, compact_bytes, compact_count, skip_tags)
