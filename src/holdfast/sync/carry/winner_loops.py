"""The table of winners, as machine code: for each key the highest version that was met, and where it lies.

A version is a time, then a rank of the cluster that the record was produced in, then its offset there. The table is
open addressing; a free slot has the place -1. Its size is a power of two. What one loop calls stands in the same file:
numba's cache on disk notices no other changes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import compiled

Array: TypeAlias = NDArray[Any]

LOW, HIGH, TIME, RANK, OFFSET, PLACE = range(6)  # The columns of the table.
FREE = -1
COMING = 1 << 62  # The place of a record that is on its way to the target.


@compiled
def _slot(table: Array, low: int, high: int) -> int:
    """Where a key is in the table, or where it would go."""
    mask = len(table) - 1
    slot = low & mask
    while table[slot, PLACE] != FREE and (table[slot, LOW] != low or table[slot, HIGH] != high):
        slot = (slot + 1) & mask
    return slot


@compiled
def _is_higher(table: Array, slot: int, time: int, rank: int, offset: int) -> Any:
    """Whether a version is above the one in the slot."""
    if time != table[slot, TIME]:
        return time > table[slot, TIME]
    if rank != table[slot, RANK]:
        return rank > table[slot, RANK]
    return offset > table[slot, OFFSET]


@compiled
def _put(table: Array, slot: int, low: int, high: int, time: int, rank: int, offset: int, place: int) -> None:
    table[slot, LOW], table[slot, HIGH] = low, high
    table[slot, TIME], table[slot, RANK], table[slot, OFFSET] = time, rank, offset
    table[slot, PLACE] = place


@compiled
def meet(
    table: Array, lows: Array, highs: Array, times: Array, ranks: Array, offsets: Array, places: Array, winners: Array
) -> int:
    """Records of the target, in order: who loses to an earlier one gets that one's place. The count of new keys."""
    added = 0
    for row in range(len(lows)):
        winners[row] = FREE
        slot = _slot(table, lows[row], highs[row])
        version = (times[row], ranks[row], offsets[row])
        if table[slot, PLACE] == FREE:
            added += 1
        elif not _is_higher(table, slot, *version):
            same = table[slot, TIME] == times[row] and table[slot, RANK] == ranks[row]
            if same and table[slot, OFFSET] == offsets[row]:
                table[slot, PLACE] = places[row]  # The winner itself, once more: this is the last of it.
            else:
                winners[row] = table[slot, PLACE]
            continue
        _put(table, slot, lows[row], highs[row], *version, places[row])
    return added


@compiled
def choose(table: Array, lows: Array, highs: Array, times: Array, ranks: Array, offsets: Array, wanted: Array) -> int:
    """Records of the source, in order: those that lose are not wanted any more; the others are on their way."""
    added = 0
    for row in range(len(lows)):
        if not wanted[row]:
            continue
        slot = _slot(table, lows[row], highs[row])
        version = (times[row], ranks[row], offsets[row])
        if table[slot, PLACE] == FREE:
            added += 1
        elif not _is_higher(table, slot, *version):
            wanted[row] = False
            continue
        _put(table, slot, lows[row], highs[row], *version, COMING)
    return added


@compiled
def move(table: Array, larger: Array) -> None:
    """All keys to a larger table."""
    for row in range(len(table)):
        if table[row, PLACE] != FREE:
            larger[_slot(larger, table[row, LOW], table[row, HIGH])] = table[row]


@compiled
def rank_of(found: Array, last_hops: Array, data: Array, own_rank: int, ranks: Array, offsets: Array) -> None:
    """For each record the rank of the cluster that it was produced in, and its offset there, by its last hop."""
    for row in range(len(found)):
        start = last_hops[row]
        if start < 0:
            ranks[row] = own_rank
            continue
        size = np.int64(data[start])
        rank = np.int64(0)
        for index in range(8):
            byte = np.int64(data[start + 1 + index]) if index < size else np.int64(0)
            rank = (rank << 8) | byte
        ranks[row] = rank
        at = start + 1 + size + 20  # Behind topic id and partition.
        offset = np.int64(0)
        for index in range(8):
            offset = (offset << 8) | np.int64(data[at + index])
        offsets[row] = offset
