"""Ranges of keys for a merge. A key is (timestamp, source, partition, offset), and no two records have the same one.

So a range can end between any two records, also between two of the same time: however many records share one, no range
grows without bound.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

KEY = np.dtype([("timestamp", "<i8"), ("source", "<i4"), ("partition", "<i4"), ("offset", "<i8")])


class MergeKey(NamedTuple):
    """A record's place in the order of everything."""

    timestamp: int
    source: int
    partition: int
    offset: int


LOWEST = MergeKey(-(2**63), -1, -1, -1)
HIGHEST = MergeKey(2**63 - 1, 2**31 - 1, 2**31 - 1, 2**63 - 1)


class KeyRange(NamedTuple):
    """The keys `[start, end)`."""

    start: MergeKey
    end: MergeKey


def keys(timestamp: NDArray[np.int64], source: int, partition: int, offset: NDArray[np.int64]) -> NDArray[Any]:
    """Keys of the records of one partition."""
    made = np.empty(len(offset), KEY)
    made["timestamp"], made["source"], made["partition"], made["offset"] = timestamp, source, partition, offset
    return made


def cut_ranges(sample: NDArray[Any], weights: NDArray[np.float64], count: int) -> list[KeyRange]:
    """About so many ranges of about equal weight, which together hold every key."""
    if count <= 1 or not len(sample):
        return [KeyRange(LOWEST, HIGHEST)]
    order = np.lexsort((sample["offset"], sample["partition"], sample["source"], sample["timestamp"]))
    total = np.cumsum(weights[order])
    wanted = total[-1] * np.arange(1, count) / count
    at = np.unique(np.searchsorted(total, wanted))
    bounds = [MergeKey(*sample[order[number]].tolist()) for number in at.tolist()]
    edges = [LOWEST, *(each for each in bounds if each > LOWEST), HIGHEST]
    return [KeyRange(start, end) for start, end in pairwise(edges) if start < end]


def is_inside(
    timestamp: NDArray[np.int64], source: int, partition: int, offset: NDArray[np.int64], wanted: KeyRange
) -> NDArray[np.bool_]:
    """Which records of one partition lie in a range."""
    at_least = _is_below(timestamp, source, partition, offset, wanted.start)
    below = _is_below(timestamp, source, partition, offset, wanted.end)
    return below & ~at_least


def _is_below(
    timestamp: NDArray[np.int64], source: int, partition: int, offset: NDArray[np.int64], key: MergeKey
) -> NDArray[np.bool_]:
    earlier: NDArray[np.bool_] = timestamp < key.timestamp
    same: NDArray[np.bool_] = timestamp == key.timestamp
    place, other = (source, partition), (key.source, key.partition)
    if place < other:
        return earlier | same
    if place > other:
        return earlier
    return earlier | (same & (offset < key.offset))
