"""How much of what is new goes into the next micro-batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import OffsetRange, TopicPartition

_GUESSED_SIZE = 1024.0  # Bytes of a record of which only the broker knows, in a partition without segments.


class Span(NamedTuple):
    """Offsets `[start, end)`, and how many bytes each of them has, about."""

    start: int
    end: int
    each_size: float

    @property
    def size(self) -> float:
        return (self.end - self.start) * self.each_size


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


def limited_by_size(
    new: Mapping[TopicPartition, OffsetRange], manifests: Mapping[TopicPartition, Manifest], size_max: int
) -> dict[TopicPartition, int]:
    """The end for each partition, so that about so many bytes are read: each gets its share, and one offset at least.

    Sizes are those of the manifests: as stored, so mostly compressed. What is not stored yet is taken to be as large as
    what was stored last.
    """
    spans = {where: spans_of(manifests[where], each) for where, each in new.items()}
    sizes = {where: sum(span.size for span in each) for where, each in spans.items()}
    total = sum(sizes.values())
    if total <= size_max:
        return {where: each.end for where, each in new.items()}
    return {
        where: min(each.end, max(each.start + 1, _end_of(spans[where], sizes[where] * size_max / total, each.start)))
        for where, each in new.items()
    }


def spans_of(manifest: Manifest, wanted: OffsetRange) -> list[Span]:
    """What a range is made of: a piece of each segment, and the tail behind them."""
    found = []
    for segment in manifest.segments.between(wanted.start, wanted.end):
        each_size = (segment.size - segment.tail_size) / (segment.end - segment.base)
        found.append(Span(max(wanted.start, segment.base), min(wanted.end, segment.end), each_size))
    stored = found[-1].end if found else wanted.start
    if stored < wanted.end:
        last = manifest.segments[-1] if len(manifest.segments) else None
        each_size = _GUESSED_SIZE if last is None else (last.size - last.tail_size) / (last.end - last.base)
        found.append(Span(stored, wanted.end, each_size))
    return found


def _end_of(spans: Sequence[Span], size: float, start: int) -> int:
    """Where so many bytes end."""
    for each in spans:
        if size < each.size:
            return each.start + int(size / each.each_size)
        size -= each.size
    return spans[-1].end if spans else start
