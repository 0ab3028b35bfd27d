"""How an archive is replayed: ranges of offsets of even size, and rounds of them that make one transaction each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast.spark.jobs.replay.archive import RowGroup

RANGE_SIZE = 32 << 20  # Bytes before compression that one task reads.
ROUND_SIZE = 512 << 20  # Of one transaction.


class ReplayRange(NamedTuple):
    """Offsets of one partition, and the row groups in which they may be."""

    partition: int
    start: int
    end: int
    groups: tuple[RowGroup, ...]
    size: int


def ranges_of(groups: Sequence[RowGroup], partition: int, start: int, size: int = RANGE_SIZE) -> list[ReplayRange]:
    """What is left of a partition from `start` on, cut where row groups begin.

    Files by date overlap where times go back, so that a row group may be read for two ranges.
    """
    left = sorted(
        (each for each in groups if each.partition_min <= partition <= each.partition_max and each.offset_max >= start),
        key=lambda each: each.offset_min,
    )
    if not left:
        return []
    cuts, gathered = [start], 0
    for each in left:
        if gathered >= size and each.offset_min > cuts[-1]:
            cuts.append(each.offset_min)
            gathered = 0
        gathered += each.size
    ends = [*cuts[1:], max(each.offset_max for each in left) + 1]
    return [_range(partition, first, end, left) for first, end in zip(cuts, ends, strict=True)]


def _range(partition: int, start: int, end: int, groups: Sequence[RowGroup]) -> ReplayRange:
    inside = tuple(each for each in groups if each.offset_min < end and each.offset_max >= start)
    return ReplayRange(partition, start, end, inside, sum(each.size for each in inside))


def rounds_of(ranges: Mapping[int, Sequence[ReplayRange]], size: int = ROUND_SIZE) -> Iterator[list[ReplayRange]]:
    """Ranges that go together: partitions take turns, so that all of them move on."""
    left = {partition: list(some) for partition, some in sorted(ranges.items()) if some}
    while left:
        chosen: list[ReplayRange] = []
        gathered = 0
        while left and gathered < size:
            for partition in list(left):
                if gathered < size:
                    chosen.append(left[partition].pop(0))
                    gathered += chosen[-1].size
                    if not left[partition]:
                        del left[partition]
        yield sorted(chosen, key=lambda each: each[:2])
