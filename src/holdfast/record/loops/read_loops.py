"""The loops that look into records, as machine code.

Records are read by address, so that batches lying in many buffers are walked in one call. A byte is read only after
it was found to lie inside its record, and a record only inside its batch. Whoever calls keeps the buffers alive.

`native/source/read_loops.c` has them in C. What one loop calls stands in the same file: numba's cache on disk notices
only changes of a loop's own file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import compiled, compiled_with_lock
from holdfast.record.loops.memory import byte_at, copy

Array: TypeAlias = NDArray[Any]

# The columns of the table of spans, which has one row for each batch.
ADDRESS, SIZE, COUNT, BASE_OFFSET, LAST_OFFSET_DELTA, BASE_TIMESTAMP, TIMESTAMP_SCALE = range(7)
# How far to look into each record.
TIMES, KEYS, VALUES, HEADERS = range(4)
# What is wrong with a record.
FINE, BAD_SIZE, BAD_TIMES, BAD_OFFSET, BAD_FIELDS, BYTES_LEFT = range(6)

OUTSIDE = 1 << 62  # The address after a number that breaks off. Nothing lies there, so that one check can come late.


@compiled
def _read_long_number(position: int, end: int) -> tuple[Any, int]:
    raw = np.uint64(0)
    for index in range(10):
        if position + index >= end:
            break
        byte = np.uint64(byte_at(position + index))
        raw |= (byte & np.uint64(0x7F)) << np.uint64(7 * index)
        if byte < 0x80:
            return np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1)), position + index + 1
    return 0, OUTSIDE


@compiled
def _read_number(position: int, end: int) -> tuple[Any, int]:
    """A zigzag varint and the address after it. One and two bytes are nearly all there are."""
    if position + 1 >= end:
        return _read_long_number(position, end)
    first = np.int64(byte_at(position))
    if first < 0x80:
        return (first >> 1) ^ -(first & 1), position + 1
    second = np.int64(byte_at(position + 1))
    if second >= 0x80:
        return _read_long_number(position, end)
    raw = (first & 0x7F) | (second << 7)
    return (raw >> 1) ^ -(raw & 1), position + 2


@compiled
def _read_size(position: int, limit: int) -> tuple[Any, int]:
    """The size of what comes next, -1 for null, and the address after the size; OUTSIDE if that much cannot come."""
    size, position = _read_number(position, limit)
    if size < -1 or size > limit - position:
        return 0, OUTSIDE
    return size, position


@compiled
def _skip_headers(position: int, limit: int) -> tuple[Any, int]:
    """How many headers stand here, and the address after them; OUTSIDE if they are malformed."""
    count, position = _read_size(position, limit)
    if count < 0:
        return 0, OUTSIDE
    for _ in range(count):
        size, position = _read_size(position, limit)
        if size < 0:
            return 0, OUTSIDE
        size, position = _read_size(position + size, limit)
        position += max(size, 0)
    return count, position


@compiled
def _read_int(position: int, limit: int) -> tuple[Any, int]:
    """A number that clients read as one of 32 bits: in at most five bytes, and OUTSIDE if it takes more."""
    if position < limit:
        first = np.int64(byte_at(position))
        if first < 0x80:
            return (first >> 1) ^ -(first & 1), position + 1
    number, after = _read_number(position, limit)
    if after > position + 5:
        return 0, OUTSIDE
    return number, after


@compiled
def _read_size_as_int(position: int, limit: int) -> tuple[Any, int]:
    size, position = _read_int(position, limit)
    if size < -1 or size > limit - position:
        return 0, OUTSIDE
    return size, position


@compiled
def _skip_headers_strictly(position: int, limit: int) -> int:
    count, position = _read_size_as_int(position, limit)
    if count < 0:
        return OUTSIDE
    for _ in range(count):
        size, position = _read_size_as_int(position, limit)
        if size < 0:
            return OUTSIDE
        size, position = _read_size_as_int(position + size, limit)
        if position > limit:
            return OUTSIDE
        position += max(size, 0)
    return position


@compiled
def check(address: int, size: int, count: int) -> tuple[int, int, int, int, Any, Any]:
    """Hold all records of one batch, as a client sends it, against every rule: offsets are 0, 1, 2 and so on.

    Answers what is wrong, if anything, with index and address of the record; else the first record without a key, -1
    if all have one, and the smallest and the largest timestamp delta.
    """
    position, end = address, address + size
    keyless = -1
    delta_min, delta_max = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for index in range(count):
        start = position
        size, position = _read_size_as_int(position, end)
        if size < 1:
            return BAD_SIZE, index, start, 0, 0, 0
        limit = position + size
        timestamp_delta, position = _read_number(position + 1, limit)  # After the record's attributes.
        offset_delta, position = _read_int(position, limit)
        if position > limit:
            return BAD_TIMES, index, start, 0, 0, 0
        if offset_delta != index:
            return BAD_OFFSET, index, start, 0, 0, 0
        delta_min, delta_max = min(delta_min, timestamp_delta), max(delta_max, timestamp_delta)
        size, position = _read_size_as_int(position, limit)
        if size < 0 and keyless < 0:
            keyless = index
        size, position = _read_size_as_int(position + max(size, 0), limit)
        position += max(size, 0)
        if position + 1 == limit and byte_at(position) == 0:  # Most records have none.
            position = limit
        else:
            position = _skip_headers_strictly(position, limit)
        if position > limit:
            return BAD_FIELDS, index, start, 0, 0, 0
        if position < limit:
            return BYTES_LEFT, index, start, 0, 0, 0
    if position != end:
        return BYTES_LEFT, count, position, 0, 0, 0
    return FINE, 0, 0, keyless, delta_min, delta_max


@compiled_with_lock
def check_at_once(address: int, size: int, count: int) -> tuple[int, int, int, int, Any, Any]:
    """`check`, for the event loop: whoever gives the lock away there may wait milliseconds to get it back."""
    return check(address, size, count)


@compiled
def _clear_bit(bits: Array, index: int) -> None:
    bits[index >> 3] &= np.uint8(0xFF ^ (1 << (index & 7)))


@compiled
def walk(
    spans: Array,
    depth: int,
    offsets: Array,
    timestamps: Array,
    key_ends: Array,
    key_at: Array,
    key_validity: Array,
    value_ends: Array,
    value_at: Array,
    value_validity: Array,
    header_ends: Array,
    header_at: Array,
) -> tuple[int, int, int, int]:
    """Fill the numbers of all records, and note where their keys, values and headers lie.

    Answers what is wrong, if anything, with the batch, row and address at which it is. One long loop, because handing
    arrays to a function for every record takes longer than reading the record.
    """
    row = 0
    for span in range(len(spans)):
        position = spans[span, ADDRESS]
        end = position + spans[span, SIZE]
        next_delta = 0
        for _ in range(spans[span, COUNT]):
            start = position
            size, position = _read_size(position, end)
            if size < 1:
                return BAD_SIZE, span, row, start
            limit = position + size
            timestamp_delta, position = _read_number(position + 1, limit)  # After the record's attributes.
            delta, position = _read_number(position, limit)
            if position > limit:
                return BAD_TIMES, span, row, start
            if delta < next_delta or delta > spans[span, LAST_OFFSET_DELTA]:
                return BAD_OFFSET, span, row, start
            next_delta = delta + 1
            offsets[row] = spans[span, BASE_OFFSET] + delta
            timestamps[row] = spans[span, BASE_TIMESTAMP] + timestamp_delta * spans[span, TIMESTAMP_SCALE]
            if depth >= KEYS:
                size, position = _read_size(position, limit)
                if size < 0:
                    _clear_bit(key_validity, row)
                    size = 0
                key_at[row] = position
                key_ends[row + 1] = key_ends[row] + size
                position += size
            if depth >= VALUES:
                size, position = _read_size(position, limit)
                if size < 0:
                    _clear_bit(value_validity, row)
                    size = 0
                value_at[row] = position
                value_ends[row + 1] = value_ends[row] + size
                position += size
            if depth >= HEADERS:
                header_at[row] = position
                count = 0
                if position + 1 == limit and byte_at(position) == 0:  # Most records have none.
                    position = limit
                else:
                    count, position = _skip_headers(position, limit)
                header_ends[row + 1] = header_ends[row] + count
                if position < limit:
                    return BYTES_LEFT, span, row, start
            if position > limit:
                return BAD_FIELDS, span, row, start
            position = limit
            row += 1
        if position != end:
            return BYTES_LEFT, span, row, position
    return FINE, 0, 0, 0


@compiled
def walk_headers(
    ends: Array, at: Array, key_ends: Array, key_at: Array, value_ends: Array, value_at: Array, value_validity: Array
) -> None:
    """Note where the keys and values of headers lie. `walk` has found them to be right."""
    for row in range(len(at)):
        if ends[row + 1] == ends[row]:
            continue
        _, position = _read_number(at[row], OUTSIDE)
        for header in range(ends[row], ends[row + 1]):
            size, position = _read_number(position, OUTSIDE)
            key_at[header] = position
            key_ends[header + 1] = key_ends[header] + size
            size, position = _read_number(position + size, OUTSIDE)
            if size < 0:
                _clear_bit(value_validity, header)
                size = 0
            value_at[header] = position
            value_ends[header + 1] = value_ends[header] + size
            position += size


@compiled
def gather(addresses: Array, ends: Array, target: int) -> None:
    """Copy bytes from where they lie to one place, one after the other."""
    for row in range(len(addresses)):
        start = np.int64(ends[row])
        copy(target + start, addresses[row], np.int64(ends[row + 1]) - start)


@compiled
def keep(address: int, size: int, chosen: Array, target: int) -> tuple[int, int, int, int, Any]:
    """Copy the chosen records of one batch, as they are, to one place.

    Answers what is wrong, if anything, with index and address of the record; else the size of what was copied and the
    largest timestamp delta in it.
    """
    end = address + size
    position = address
    written = 0
    timestamp_delta_max = np.iinfo(np.int64).min
    for index in range(len(chosen)):
        start = position
        record_size, position = _read_size(position, end)
        if record_size < 1:
            return BAD_SIZE, index, start, 0, 0
        limit = position + record_size
        timestamp_delta, position = _read_number(position + 1, limit)
        if position > limit:
            return BAD_TIMES, index, start, 0, 0
        if chosen[index]:
            copy(target + written, start, limit - start)
            written += limit - start
            timestamp_delta_max = max(timestamp_delta_max, timestamp_delta)
        position = limit
    if position != end:
        return BYTES_LEFT, len(chosen), position, 0, 0
    return FINE, 0, 0, written, timestamp_delta_max
