"""Where a reader of the source would stand in the target, found by the origin marks.

Copies of one partition lie in the target in the order of their offsets at the source, so they can be searched.
"""

from __future__ import annotations

import numpy as np

from holdfast.client import Client
from holdfast.sync.origin.marking import NONE, OriginMarks
from holdfast.sync.origin.scan import bounds, read_range
from holdfast.types import ClusterPartition, TopicPartition

_PROBE_SIZE = 64 << 10  # Bytes of one step of a search.
_BACK_COUNT = 1000  # Offsets of the first step back.


def first_copy(
    client: Client, where: TopicPartition, home: ClusterPartition, wanted: int, start: int, end: int
) -> int | None:
    """The offset of the first copy of a record of `home` from offset `wanted` on, in a range of the target."""
    best: int | None = None
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        found, after = _probe(client, where, home, wanted, middle, high)
        if found is None:
            high = middle  # No copy in the upper half.
        elif found[1]:
            if found[2]:
                return found[0]  # An earlier copy of the same probe is below what is wanted.
            best, high = found[0], middle
        else:
            low = after
    return best


def _probe(
    client: Client, where: TopicPartition, home: ClusterPartition, wanted: int, start: int, end: int
) -> tuple[tuple[int, bool, bool] | None, int]:
    """The first piece of a range with copies in it: where the first one is that is wanted, or any; whether it is
    wanted; whether others come before it. And where the piece ends."""
    for after, columns in read_range(client, where, start, end, size=_PROBE_SIZE):
        offsets = OriginMarks.of(columns).offsets_from(home)
        inside = (offsets != NONE) & (columns.offset >= start) & (columns.offset < end)
        copies = np.flatnonzero(inside)
        if not len(copies):
            continue
        late = copies[offsets[copies] >= wanted]
        if len(late):
            return (int(columns.offset[late[0]]), True, bool(late[0] != copies[0])), after
        return (int(columns.offset[copies[0]]), False, False), after
    return None, end


def last_copied(client: Client, where: TopicPartition, home: ClusterPartition, end: int) -> int:
    """The highest offset of `home` among the copies below `end`, or NONE."""
    start, _ = bounds(client, where)
    high, count = end, _BACK_COUNT
    while high > start:
        low = max(start, high - count)
        for _, columns in reversed(list(read_range(client, where, low, high))):
            offsets = OriginMarks.of(columns).offsets_from(home)
            highest = int(offsets[(columns.offset >= low) & (columns.offset < high)].max(initial=NONE))
            if highest != NONE:
                return highest
        high, count = low, min(4 * count, 64 * _BACK_COUNT)
    return NONE


def first_own(client: Client, where: TopicPartition, home: ClusterPartition, start: int, end: int) -> int | None:
    """The first record in a range that is no copy from `home`, and has never been there."""
    for _, columns in read_range(client, where, start, end):
        marks = OriginMarks.of(columns)
        through, _ = marks.came_through(home)
        own = (marks.offsets_from(home) == NONE) & ~through & (columns.offset >= start) & (columns.offset < end)
        if own.any():
            return int(columns.offset[int(np.argmax(own))])
    return None
