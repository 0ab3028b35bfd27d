"""How much of what is new goes into the next micro-batch."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.types import OffsetRange, TopicPartition


def limited(new: Mapping[TopicPartition, OffsetRange], count_max: int) -> dict[TopicPartition, int]:
    """The end for each partition, so that at most so many offsets are read: each gets its share of the whole.

    What rounding leaves goes to the partitions that wait for most, so that every partition moves in the end.
    """
    sizes = {where: each.end - each.start for where, each in new.items()}
    total = sum(sizes.values())
    if total <= count_max:
        return {where: each.end for where, each in new.items()}
    shares = {where: size * count_max // total for where, size in sizes.items()}
    left = count_max - sum(shares.values())
    for where in sorted(sizes, key=lambda each: (shares[each] - sizes[each], each)):
        extra = min(left, sizes[where] - shares[where], 1)
        shares[where] += extra
        left -= extra
    return {where: new[where].start + share for where, share in shares.items()}
