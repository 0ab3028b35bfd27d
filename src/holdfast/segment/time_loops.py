"""The loop over the timestamps of records, as machine code. See `record.loops.read_loops` for how records are read."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import compiled
from holdfast.record.loops.memory import byte_at

Array: TypeAlias = NDArray[Any]

_OUTSIDE = 1 << 62  # The address after a number that breaks off.


@compiled
def _number(position: int, end: int) -> tuple[Any, int]:
    """A zigzag varint and the address after it."""
    raw = np.uint64(0)
    for index in range(10):
        if position + index >= end:
            break
        byte = np.uint64(byte_at(position + index))
        raw |= (byte & np.uint64(0x7F)) << np.uint64(7 * index)
        if byte < 0x80:
            return np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1)), position + index + 1
    return 0, _OUTSIDE


@compiled
def delta_bounds(address: Array, size: Array, count: Array, lowest: Array, highest: Array) -> bool:
    """The smallest and the largest timestamp delta of each batch's records; False if they cannot be walked."""
    for batch in range(len(address)):
        position = address[batch]
        end = position + size[batch]
        low, high = np.int64(2**63 - 1), np.int64(-(2**63))
        for _ in range(count[batch]):
            record_size, position = _number(position, end)
            if record_size < 1 or position > end or record_size > end - position:
                return False
            limit = position + record_size
            delta, after = _number(position + 1, limit)
            if after > limit:
                return False
            low, high = min(low, delta), max(high, delta)
            position = limit
        lowest[batch], highest[batch] = low, high
    return True
