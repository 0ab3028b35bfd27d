"""The loop that holds keys against a filter, as machine code.

What one loop calls stands in the same file: numba's cache on disk notices only changes of a loop's own file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

from holdfast.record.compiled import compiled

Array: TypeAlias = NDArray[Any]

EXACT, PREFIX, DIRECTORY = range(3)  # As in `filter`.
SLASH = 0x2F


@compiled
def _starts_with(data: Array, start: int, end: int, needle: Array, needle_start: int, needle_end: int) -> bool:
    size = needle_end - needle_start
    if end - start < size:
        return False
    for index in range(size):  # noqa: SIM110, generators cannot be compiled
        if data[start + index] != needle[needle_start + index]:
            return False
    return True


@compiled
def _has_slash(data: Array, start: int, end: int) -> bool:
    for index in range(start, end):  # noqa: SIM110, generators cannot be compiled
        if data[index] == SLASH:
            return True
    return False


@compiled
def _passes(data: Array, start: int, end: int, kinds: Array, ends: Array, needles: Array) -> bool:
    for number in range(len(kinds)):
        first, last = ends[number], ends[number + 1]
        if _starts_with(data, start, end, needles, first, last):
            kind = kinds[number]
            if kind == PREFIX:
                return True
            below = start + last - first
            if kind == EXACT and below == end:
                return True
            if kind == DIRECTORY and below < end and not _has_slash(data, below, end):
                return True
    return False


@compiled
def match(
    key_ends: Array,
    data: Array,
    validity: Array,
    kinds: Array,
    ends: Array,
    needles: Array,
    internal: Array,
    passed: Array,
) -> None:
    """Mark the keys that pass. No kinds at all let every key pass but internal ones; a null key passes nothing else."""
    for row in range(len(key_ends) - 1):
        if len(validity) and not (validity[row >> 3] >> (row & 7)) & 1:
            passed[row] = len(kinds) == 0
            continue
        start, end = key_ends[row], key_ends[row + 1]
        if not _starts_with(data, start, end, internal, 0, len(internal)):
            passed[row] = len(kinds) == 0 or _passes(data, start, end, kinds, ends, needles)
