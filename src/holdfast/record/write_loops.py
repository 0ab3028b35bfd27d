"""The loops that encode records, as machine code: first the size of each, then the bytes. Imported only when needed.

Keys and values come as address and size, -1 for null, so that it does not matter where they lie. Headers come as the
range of each record's own, in arrays of all headers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import compiled
from holdfast.record.memory import copy

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
def _write_number(target: Array, position: int, number: int) -> int:
    """Write a zigzag varint; the position after it."""
    raw = np.uint64((number << 1) ^ (number >> 63))
    while raw > np.uint64(0x7F):
        target[position] = np.uint8(raw & np.uint64(0x7F)) | np.uint8(0x80)
        raw >>= np.uint64(7)
        position += 1
    target[position] = np.uint8(raw)
    return position + 1


@compiled
def _write_field(target: Array, position: int, at: int, size: int) -> int:
    """Write a key or value; the position after it."""
    position = _write_number(target, position, size)
    if size > 0:
        copy(target.ctypes.data + position, at, size)
        position += size
    return position


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
    target: Array,
) -> int:
    """Encode all records, whose sizes `measure` gave; the size of what was written."""
    position = 0
    for row in range(len(sizes)):
        position = _write_number(target, position, sizes[row])
        target[position] = 0  # The attributes of a record: none are defined.
        position = _write_number(target, position + 1, timestamp_deltas[row])
        position = _write_number(target, position, offset_deltas[row])
        position = _write_field(target, position, key_at[row], key_sizes[row])
        position = _write_field(target, position, value_at[row], value_sizes[row])
        position = _write_number(target, position, header_ends[row] - header_starts[row])
        for header in range(header_starts[row], header_ends[row]):
            position = _write_field(target, position, header_key_at[header], header_key_sizes[header])
            position = _write_field(target, position, header_value_at[header], header_value_sizes[header])
    return position
