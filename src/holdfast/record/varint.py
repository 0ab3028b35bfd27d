"""Numbers of one to ten bytes, seven bits each, lowest first, small ones short whatever their sign (zigzag)."""

from __future__ import annotations

_BITS = 0xFFFFFFFFFFFFFFFF
_SIZE_MAX = 10


def write_number(target: bytearray, number: int) -> None:
    """Append a signed number of up to 64 bits."""
    raw = ((number << 1) ^ (number >> 63)) & _BITS
    while raw > 0x7F:
        target.append(raw & 0x7F | 0x80)
        raw >>= 7
    target.append(raw)


def read_number(data: memoryview, position: int) -> tuple[int, int]:
    """A signed number and the position after it. IndexError past the end, ValueError when it has too many bytes."""
    raw = 0
    for index in range(_SIZE_MAX):
        byte = data[position + index]
        raw |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            raw &= _BITS  # The tenth byte has room for more than 64 bits.
            return (raw >> 1) ^ -(raw & 1), position + index + 1
    raise ValueError(f"a number of more than {_SIZE_MAX} bytes")
