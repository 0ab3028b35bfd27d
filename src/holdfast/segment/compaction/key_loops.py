"""The loops over keys, as machine code: hash them, remember the last offset of each, find the records to keep.

The hash is SipHash-2-4 with 128 bits, under a secret drawn for each run: two keys of the same hash are never met by
chance, and cannot be made by somebody who wants another's record to go.

The table is open addressing over three arrays: low and high half of the hash, and the offset, -1 for a free slot. Its
size is a power of two. What one loop calls stands in the same file: numba's cache on disk notices no other changes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import compiled

Array: TypeAlias = NDArray[Any]

_VECTOR_0 = np.uint64(0x736F6D6570736575)
_VECTOR_1 = np.uint64(0x646F72616E646F6D)
_VECTOR_2 = np.uint64(0x6C7967656E657261)
_VECTOR_3 = np.uint64(0x7465646279746573)
_WIDE = np.uint64(0xEE)
_SECOND = np.uint64(0xDD)


@compiled
def _turn(number: Any, count: int) -> Any:
    return (number << np.uint64(count)) | (number >> np.uint64(64 - count))


@compiled
def _round(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any, Any]:
    a += b
    b = _turn(b, 13) ^ a
    a = _turn(a, 32)
    c += d
    d = _turn(d, 16) ^ c
    a += d
    d = _turn(d, 21) ^ a
    c += b
    b = _turn(b, 17) ^ c
    c = _turn(c, 32)
    return a, b, c, d


@compiled
def _hash(data: Array, start: int, end: int, secret_low: Any, secret_high: Any) -> tuple[Any, Any]:
    a, b = secret_low ^ _VECTOR_0, secret_high ^ _VECTOR_1 ^ _WIDE
    c, d = secret_low ^ _VECTOR_2, secret_high ^ _VECTOR_3
    position = start
    while True:
        word = np.uint64(0)
        here = min(8, end - position)
        for index in range(here):
            word |= np.uint64(data[position + index]) << np.uint64(8 * index)
        last = here < 8
        if last:
            word |= np.uint64((end - start) & 0xFF) << np.uint64(56)
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a, b, c, d = _round(a, b, c, d)
        a ^= word
        position += 8
        if last:
            break
    c ^= _WIDE
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    low = a ^ b ^ c ^ d
    b ^= _SECOND
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return low, a ^ b ^ c ^ d


@compiled
def hash_keys(ends: Array, data: Array, secret: Array, lows: Array, highs: Array) -> None:
    """The hash of each key."""
    for row in range(len(lows)):
        lows[row], highs[row] = _hash(data, ends[row], ends[row + 1], secret[0], secret[1])


@compiled
def _slot(lows: Array, highs: Array, offsets: Array, low: Any, high: Any) -> Any:
    """Where a hash is in the table, or where it would go."""
    mask = len(offsets) - 1
    slot = np.int64(low & np.uint64(mask))
    while offsets[slot] >= 0 and (lows[slot] != low or highs[slot] != high):
        slot = (slot + 1) & mask
    return slot


@compiled
def learn(
    lows: Array,
    highs: Array,
    offsets: Array,
    count: int,
    count_max: int,
    row_lows: Array,
    row_highs: Array,
    row_offsets: Array,
    counts: Array,
) -> tuple[int, int]:
    """Remember rows, which come by growing offset, until the table is full: rows done, and keys in the table then."""
    for row in range(len(row_offsets)):
        if not counts[row]:
            continue
        slot = _slot(lows, highs, offsets, row_lows[row], row_highs[row])
        if offsets[slot] < 0:
            if count == count_max:
                return row, count
            lows[slot], highs[slot] = row_lows[row], row_highs[row]
            count += 1
        offsets[slot] = row_offsets[row]
    return len(row_offsets), count


@compiled
def find_last(
    lows: Array, highs: Array, offsets: Array, row_lows: Array, row_highs: Array, row_offsets: Array, keep: Array
) -> None:
    """Clear `keep` for rows whose key the table knows with a higher offset."""
    for row in range(len(row_offsets)):
        if keep[row]:
            slot = _slot(lows, highs, offsets, row_lows[row], row_highs[row])
            keep[row] = offsets[slot] <= row_offsets[row]
