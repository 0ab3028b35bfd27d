"""The loops that encode records, as machine code: first the size of each, then the bytes.

Keys and values come as address and size, -1 for null, so that it does not matter where they lie. Headers come as the
range of each record's own, in arrays of all headers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import compiled
from holdfast.record.loops.memory import copy, put_byte

Array: TypeAlias = NDArray[Any]


@compiled
def _number_size(number: int) -> int:
    """How many bytes a zigzag varint takes."""
    raw = np.uint64((number << 1) ^ (number >> 63))
    size = 1
    while raw > np.uint64(0x7F):
        raw >>= np.uint64(7)
        size += 1
    return size


@compiled
def _field_size(size: int) -> int:
    """How many bytes a key or value takes together with its size."""
    return _number_size(size) + max(size, 0)


@compiled
def _write_number(target: int, number: int) -> int:
    """Write a zigzag varint to an address; the address after it."""
    raw = np.uint64((number << 1) ^ (number >> 63))
    while raw > np.uint64(0x7F):
        put_byte(target, np.uint8(raw & np.uint64(0x7F)) | np.uint8(0x80))
        raw >>= np.uint64(7)
        target += 1
    put_byte(target, np.uint8(raw))
    return target + 1


@compiled
def _write_field(target: int, at: int, size: int) -> int:
    """Write a key or value to an address; the address after it."""
    target = _write_number(target, size)
    if size <= 0:
        return target
    copy(target, at, size)
    return target + size


@compiled
def measure(
    timestamp_deltas: Array,
    offset_deltas: Array,
    key_sizes: Array,
    value_sizes: Array,
    header_starts: Array,
    header_ends: Array,
    header_key_sizes: Array,
    header_value_sizes: Array,
    sizes: Array,
) -> int:
    """The size of each record, without the number that says it, and the size of all with it."""
    total = 0
    for row in range(len(sizes)):
        size = 1 + _number_size(timestamp_deltas[row]) + _number_size(offset_deltas[row])
        size += _field_size(key_sizes[row]) + _field_size(value_sizes[row])
        size += _number_size(header_ends[row] - header_starts[row])
        for header in range(header_starts[row], header_ends[row]):
            size += _field_size(header_key_sizes[header]) + _field_size(header_value_sizes[header])
        sizes[row] = size
        total += _field_size(size)
    return total


@compiled
def write(
    timestamp_deltas: Array,
    offset_deltas: Array,
    key_at: Array,
    key_sizes: Array,
    value_at: Array,
    value_sizes: Array,
    header_starts: Array,
    header_ends: Array,
    header_key_at: Array,
    header_key_sizes: Array,
    header_value_at: Array,
    header_value_sizes: Array,
    sizes: Array,
    target: int,
) -> int:
    """Encode all records, whose sizes `measure` gave, to an address; the address after them."""
    for row in range(len(sizes)):
        target = _write_number(target, sizes[row])
        put_byte(target, np.uint8(0))  # The attributes of a record: none are defined.
        target = _write_number(target + 1, timestamp_deltas[row])
        target = _write_number(target, offset_deltas[row])
        target = _write_field(target, key_at[row], key_sizes[row])
        target = _write_field(target, value_at[row], value_sizes[row])
        target = _write_number(target, header_ends[row] - header_starts[row])
        for header in range(header_starts[row], header_ends[row]):
            target = _write_field(target, header_key_at[header], header_key_sizes[header])
            target = _write_field(target, header_value_at[header], header_value_sizes[header])
    return target
