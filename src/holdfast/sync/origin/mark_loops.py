"""The loops over origin marks, as machine code: find them, read them, write them.

What one loop calls stands in the same file: numba's cache on disk notices only changes of a loop's own file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import compiled

Array: TypeAlias = NDArray[Any]

PLACE_SIZE = 28  # Of a hop: what follows the cluster id.
OFFSET_SIZE = 8
NONE = -1


@compiled
def _equal(data: Array, start: int, end: int, wanted: Array) -> bool:
    if end - start != len(wanted):
        return False
    for index in range(len(wanted)):  # noqa: SIM110 - numba compiles loops better than generators.
        if data[start + index] != wanted[index]:
            return False
    return True


@compiled
def _begins(data: Array, start: int, end: int, wanted: Array) -> bool:
    return end - start >= len(wanted) and _equal(data, start, start + len(wanted), wanted)


@compiled
def _number(data: Array, start: int) -> Any:
    """Eight bytes as a number."""
    number = np.int64(0)
    for index in range(OFFSET_SIZE):
        number = (number << 8) | np.int64(data[start + index])
    return number


@compiled
def find(header_ends: Array, key_ends: Array, key_data: Array, wanted: Array, found: Array) -> None:
    """For each row the number of its last header with this key, or NONE."""
    for row in range(len(found)):
        found[row] = NONE
        for header in range(header_ends[row + 1] - 1, header_ends[row] - 1, -1):
            if _equal(key_data, key_ends[header], key_ends[header + 1], wanted):
                found[row] = header
                break


@compiled
def read_offsets(found: Array, value_ends: Array, value_data: Array, begins: Array, offsets: Array) -> None:
    """For each row the offset of its newest hop, if its mark begins like this; else NONE."""
    for row in range(len(found)):
        offsets[row] = NONE
        if found[row] == NONE:
            continue
        start, end = value_ends[found[row]], value_ends[found[row] + 1]
        if end - start >= len(begins) + OFFSET_SIZE and _begins(value_data, start, end, begins):
            offsets[row] = _number(value_data, start + len(begins))


@compiled
def walk(
    found: Array, value_ends: Array, value_data: Array, version: int, home: Array, older: Array, origin: Array
) -> None:
    """For each row: whether a hop older than the newest is at that home, and where its last hop begins, or NONE.

    Hops that break off are not there.
    """
    for row in range(len(found)):
        older[row] = False
        origin[row] = NONE
        if found[row] == NONE:
            continue
        position, end = value_ends[found[row]], value_ends[found[row] + 1]
        if position == end or value_data[position] != version:
            continue
        position += 1
        is_newest = True
        while position < end:
            after = position + 1 + np.int64(value_data[position]) + PLACE_SIZE
            if after > end:
                break
            if not is_newest and _begins(value_data, position, after, home):
                older[row] = True
            origin[row] = position
            is_newest = False
            position = after


@compiled
def measure(
    header_ends: Array,
    key_ends: Array,
    key_data: Array,
    value_ends: Array,
    wanted: Array,
    found: Array,
    path_size_max: int,
) -> tuple[int, int, int]:
    """How many headers there are without marks, and the sizes of their keys and values and of all paths."""
    count, key_size, value_size = 0, 0, 0
    for row in range(len(found)):
        for header in range(header_ends[row], header_ends[row + 1]):
            if not _equal(key_data, key_ends[header], key_ends[header + 1], wanted):
                count += 1
                key_size += key_ends[header + 1] - key_ends[header]
                value_size += value_ends[header + 1] - value_ends[header]
        if found[row] != NONE:
            size = value_ends[found[row] + 1] - value_ends[found[row]]
            if 1 < size <= path_size_max:
                value_size += size - 1
    return count, key_size, value_size


@compiled
def write(
    header_ends: Array,
    key_ends: Array,
    key_data: Array,
    value_ends: Array,
    value_data: Array,
    value_valid: Array,
    wanted: Array,
    found: Array,
    path_size_max: int,
    begins: Array,
    offsets: Array,
    new_ends: Array,
    new_key_ends: Array,
    new_key_data: Array,
    new_value_ends: Array,
    new_value_data: Array,
    new_value_valid: Array,
) -> None:
    """All headers but the marks, in order, and behind them one mark for each row: the new hop, then the old ones."""
    header, key_at, value_at = 0, 0, 0
    for row in range(len(found)):
        for old in range(header_ends[row], header_ends[row + 1]):
            if _equal(key_data, key_ends[old], key_ends[old + 1], wanted):
                continue
            for index in range(key_ends[old], key_ends[old + 1]):
                new_key_data[key_at] = key_data[index]
                key_at += 1
            for index in range(value_ends[old], value_ends[old + 1]):
                new_value_data[value_at] = value_data[index]
                value_at += 1
            new_value_valid[header] = value_valid[old]
            header += 1
            new_key_ends[header] = key_at
            new_value_ends[header] = value_at
        for index in range(len(wanted)):
            new_key_data[key_at] = wanted[index]
            key_at += 1
        for index in range(len(begins)):
            new_value_data[value_at] = begins[index]
            value_at += 1
        for index in range(OFFSET_SIZE):
            new_value_data[value_at] = (offsets[row] >> (8 * (OFFSET_SIZE - 1 - index))) & 0xFF
            value_at += 1
        if found[row] != NONE:
            start, end = value_ends[found[row]], value_ends[found[row] + 1]
            if 1 < end - start <= path_size_max:
                for index in range(start + 1, end):
                    new_value_data[value_at] = value_data[index]
                    value_at += 1
        new_value_valid[header] = True
        header += 1
        new_key_ends[header] = key_at
        new_value_ends[header] = value_at
        new_ends[row + 1] = header
