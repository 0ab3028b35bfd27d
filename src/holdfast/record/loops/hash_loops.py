"""The loop that hashes keys, as machine code."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import compiled
from holdfast.record.loops.memory import byte_at

Array: TypeAlias = NDArray[Any]


@compiled
def _mixed(hashed: int) -> int:
    """32 bits times murmur2's number."""
    return (hashed * 0x5BD1E995) & 0xFFFFFFFF


@compiled
def _murmur2(at: int, size: int) -> int:
    """The 32 bits of the hash that Kafka's producers use for keys; numbers stay below 2^63 all the way."""
    hashed = 0x9747B28C ^ size
    whole = size & ~3
    for start in range(at, at + whole, 4):
        word = int(byte_at(start)) | int(byte_at(start + 1)) << 8
        word |= int(byte_at(start + 2)) << 16 | int(byte_at(start + 3)) << 24
        word = _mixed(word)
        hashed = _mixed(hashed) ^ _mixed(word ^ (word >> 24))
    if size > whole:
        rest = 0
        for index in range(size - whole):
            rest |= int(byte_at(at + whole + index)) << (8 * index)
        hashed = _mixed(hashed ^ rest)
    hashed = _mixed(hashed ^ (hashed >> 13))
    return hashed ^ (hashed >> 15)


@compiled
def hash_keys(at: Array, sizes: Array, hashed: Array) -> None:
    """Hash each key, given by address and size; -1 is null, and is left as it is."""
    for row in range(len(sizes)):
        if sizes[row] >= 0:
            hashed[row] = np.uint32(_murmur2(at[row], sizes[row]))
