"""Fields of stored records, in Kafka's binary forms, read within bounds.

plain:     string = | size i16, -1 for null | utf-8 |, bytes = | size i32, -1 for null | … |, array = | count i32 | … |
flexible:  string, bytes, array = | size or count + 1 as unsigned varint, 0 for null | … |, each struct ends with
           tagged fields = | count uvarint | tag uvarint | size uvarint | … |.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from uuid import UUID

from holdfast.coordinator.runtime.errors import TextTooLong

TEXT_SIZE_MAX = 32_767  # Bytes of a text in a record.

_VARINT_BITS_MAX = 35


class MalformedField(ValueError):
    """The bytes end too early, or contradict each other."""


class Reader:
    """Reads one record from its start to its end."""

    def __init__(self, data: bytes | memoryview, *, flexible: bool = False) -> None:
        self._data = memoryview(data)
        self._at = 0
        self.flexible = flexible

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def i8(self) -> int:
        return int.from_bytes(self._take(1), "big", signed=True)

    def i16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def i32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def i64(self) -> int:
        return int.from_bytes(self._take(8), "big", signed=True)

    def uuid(self) -> UUID:
        return UUID(bytes=bytes(self._take(16)))

    def nullable_string(self) -> str | None:
        size = self._uvarint() - 1 if self.flexible else self.i16()
        return None if size == -1 else str(self._take(size), "utf-8")

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise MalformedField("a text is missing")
        return text

    def bytes(self) -> bytes:
        """Null reads as empty."""
        size = self._uvarint() - 1 if self.flexible else self.i32()
        return b"" if size == -1 else bytes(self._take(size))

    def count(self) -> int:
        """The count of an array, each item of which has at least one byte. Null reads as empty."""
        count = self._uvarint() - 1 if self.flexible else self.i32()
        if not -1 <= count <= self.left:
            raise MalformedField(f"{count} items do not fit into {self.left} bytes")
        return max(count, 0)

    def end_struct(self) -> None:
        """Skip the tagged fields, if there can be any."""
        self.tagged()

    def tagged(self) -> dict[int, memoryview]:
        """The tagged fields at the end of a struct, by number."""
        found = {}
        for _ in range(self._uvarint() if self.flexible else 0):
            number = self._uvarint()
            found[number] = self._take(self._uvarint())
        return found

    def _uvarint(self) -> int:
        number = 0
        for shift in range(0, _VARINT_BITS_MAX, 7):
            byte = self._take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise MalformedField("a number has more than five bytes")

    def _take(self, size: int) -> memoryview:
        if not 0 <= size <= self.left:
            raise MalformedField(f"{size} bytes are promised where {self.left} are left")
        self._at += size
        return self._data[self._at - size : self._at]


def string(text: str | None) -> bytes:
    """A text, or null, in the plain form."""
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def bytes_field(data: bytes) -> bytes:
    """Bytes in the plain form."""
    return struct.pack(">i", len(data)) + data


def uvarint(number: int) -> bytes:
    """A number in as few bytes as it needs."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def compact_string(text: str | None) -> bytes:
    """A text, or null, in the flexible form."""
    return b"\0" if text is None else compact_bytes(text.encode())


def compact_bytes(data: bytes) -> bytes:
    """Bytes in the flexible form."""
    return uvarint(len(data) + 1) + data


def compact_count(count: int) -> bytes:
    """The count of an array in the flexible form."""
    return uvarint(count + 1)


def tagged_fields(fields: Mapping[int, bytes]) -> bytes:
    """The end of a struct in the flexible form."""
    parts = [uvarint(tag) + uvarint(len(data)) + data for tag, data in sorted(fields.items())]
    return uvarint(len(parts)) + b"".join(parts)


def check_text(what: str, text: str) -> None:
    """Raise if a text does not fit into a record."""
    size = len(text.encode())
    if size > TEXT_SIZE_MAX:
        raise TextTooLong(what, size, TEXT_SIZE_MAX)
