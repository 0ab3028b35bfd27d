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

ITEMS_MAX = 50_000  # Of one message: an item may be one byte on the wire and 300 in memory.
STRING_SIZE_MAX = 32_767  # Bytes, as in Kafka, also where the format could hold more.
EARLY_END = "the message ends too early"

_NULL_ARRAY = "an array that must be there is null"
_VARINT_SIZE_MAX = 5
_int16 = Struct(">h").unpack_from
_int32 = Struct(">i").unpack_from


class WireRoom:
    """How many items a message may still have."""

    __slots__ = ("count", "left")

    def __init__(self, count: int = ITEMS_MAX) -> None:
        self.count = count
        self.left = count


def varint(data: memoryview, position: int) -> tuple[int, int]:
    """An unsigned number of at most 32 bits, seven to a byte, lowest first."""
    first = data[position]
    if first < 0x80:
        return first, position + 1
    second = data[position + 1]
    if second < 0x80:
        return first - 0x80 | second << 7, position + 2
    value = first - 0x80 | (second - 0x80) << 7
    for count in range(2, _VARINT_SIZE_MAX):
        byte = data[position + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80 and value <= 0xFFFFFFFF:
            return value, position + count + 1
    raise Malformed("a varint has more than 32 bits", position)


def encode_varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def check_left(data: memoryview, position: int, size: int) -> None:
    if size > len(data) - position:
        raise Malformed(f"{size} bytes are announced, {len(data) - position} are left", position)


def text(data: memoryview, start: int, end: int) -> str:
    if end > len(data):
        check_left(data, start, end - start)
    try:
        return str(data[start:end], "utf-8")
    except UnicodeDecodeError as failure:
        raise Malformed(f"a string is not UTF-8 ({failure.reason})", start) from None


def plain_string(data: memoryview, position: int) -> tuple[str | None, int]:
    (size,) = _int16(data, position)
    start = position + 2
    return (text(data, start, start + size), start + size) if size >= 0 else (None, start)


def compact_string(data: memoryview, position: int) -> tuple[str | None, int]:
    size = data[position]
    start = position + 1
    if size < 2:
        return "" if size else None, start
    if size >= 0x80:
        size, start = varint(data, position)
    end = start + size - 1
    if end - start > STRING_SIZE_MAX:
        raise Malformed(f"a string has {end - start} bytes, {STRING_SIZE_MAX} are allowed", start)
    return (text(data, start, end), end) if size else (None, start)  # A varint may be longer than it needs to be.


def plain_bytes(data: memoryview, position: int) -> tuple[memoryview | None, int]:
    (size,) = _int32(data, position)
    start = position + 4
    check_left(data, start, size)
    return (data[start : start + size], start + size) if size >= 0 else (None, start)


def compact_bytes(data: memoryview, position: int) -> tuple[memoryview | None, int]:
    size, start = varint(data, position)
    if size == 0:
        return None, start
    check_left(data, start, size - 1)
    return data[start : start + size - 1], start + size - 1


def plain_array(data: memoryview, position: int, room: WireRoom) -> tuple[int, int]:
    """How many items follow; -1 is null. No item is smaller than a byte, so there are never more items than bytes."""
    (count,) = _int32(data, position)
    start = position + 4
    if count > len(data) - start or count > room.left:
        raise _too_many(data, start, count, room)
    if count > 0:
        room.left -= count
    return count, start


def compact_array(data: memoryview, position: int, room: WireRoom) -> tuple[int, int]:
    count = data[position] - 1
    start = position + 1
    if count >= 0x7F:
        count, start = varint(data, position)
        count -= 1
    if count > len(data) - start or count > room.left:
        raise _too_many(data, start, count, room)
    if count > 0:
        room.left -= count
    return count, start


def required_plain_array(data: memoryview, position: int, room: WireRoom) -> tuple[int, int]:
    count, start = plain_array(data, position, room)
    if count < 0:
        raise Malformed(_NULL_ARRAY, position)
    return count, start


def required_compact_array(data: memoryview, position: int, room: WireRoom) -> tuple[int, int]:
    count, start = compact_array(data, position, room)
    if count < 0:
        raise Malformed(_NULL_ARRAY, position)
    return count, start


def _too_many(data: memoryview, start: int, count: int, room: WireRoom) -> Malformed:
    if count > len(data) - start:
        return Malformed(f"{count} items are announced, {len(data) - start} bytes are left", start)
    return Malformed(f"there are more than {room.count} items", start)


def tag(data: memoryview, position: int) -> tuple[int, int, int]:
    """A tagged field's number, its size, and where its value begins."""
    number, position = varint(data, position)
    size, position = varint(data, position)
    check_left(data, position, size)
    return number, size, position


def skip_tags(data: memoryview, position: int) -> int:
    """Pass over tagged fields that nobody here needs."""
    if data[position] == 0:
        return position + 1
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
    array: Callable[[memoryview, int, WireRoom], tuple[int, int]]
    required_array: Callable[[memoryview, int, WireRoom], tuple[int, int]]
    skip_tags: Callable[[memoryview, int], int]

    def required_string(self, data: memoryview, position: int) -> tuple[str, int]:
        value, end = self.string(data, position)
        if value is None:
            raise Malformed("a string that must be there is null", position)
        return value, end


PLAIN = Form(plain_string, plain_bytes, plain_array, required_plain_array, no_tags)
FLEXIBLE = Form(compact_string, compact_bytes, compact_array, required_compact_array, skip_tags)
