"""A partition's segments in order. Invariant: they tile one range of offsets, without gap or overlap.

A value: `append`, `drop` and `replace` give a new list, and check only where the new part touches the old one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from holdfast.errors import Corrupt
from holdfast.segment.errors import DoesNotFit
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.types import Offset


class SegmentList:
    """Segments that tile `[base, end)`."""

    __slots__ = ("_marked", "items")

    def __init__(self, items: Iterable[SegmentInfo] = ()) -> None:
        self.items = tuple(items)
        for earlier, later in pairwise(self.items):
            if earlier.end != later.base:
                raise Corrupt(f"segments do not tile: {earlier.name} ends at {earlier.end}, then comes {later.name}")
        self._marked = tuple(each for each in self.items if each.aborted)

    @classmethod
    def _joined(cls, items: tuple[SegmentInfo, ...], marked: tuple[SegmentInfo, ...]) -> SegmentList:
        made = cls.__new__(cls)
        made.items = items
        made._marked = marked
        return made

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[SegmentInfo]:
        return iter(self.items)

    def __getitem__(self, number: int) -> SegmentInfo:
        return self.items[number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SegmentList) and self.items == other.items

    def __hash__(self) -> int:
        return hash(self.items)

    def __repr__(self) -> str:
        return f"SegmentList({len(self.items)} segments)"

    def number_of(self, offset: int) -> int | None:
        """Which segment holds this offset; None if none does."""
        number = bisect_right(self.items, offset, key=_base) - 1
        return number if number >= 0 and offset < self.items[number].end else None

    def holding(self, offset: int) -> SegmentInfo | None:
        """The segment that holds this offset."""
        number = self.number_of(offset)
        return None if number is None else self.items[number]

    def between(self, start: int, end: int) -> tuple[SegmentInfo, ...]:
        """The segments with an offset in `[start, end)`."""
        if start >= end:
            return ()
        return self.items[bisect_right(self.items, start, key=_end) : bisect_left(self.items, end, key=_base)]

    def aborted(self, start: int, end: int) -> list[Aborted]:
        """The aborted transactions with an offset in `[start, end)`, by the place of their markers.

        A marker may lie segments later; the last stable offset kept with each marker tells when to stop looking.
        """
        found = []
        for segment in self._marked[bisect_right(self._marked, start, key=_end) :]:
            for each in segment.aborted:
                if each.first_offset < end and each.last_offset >= start:
                    found.append(each)
                if each.last_stable_offset >= end:
                    return found
        return found

    def append(self, new: Sequence[SegmentInfo]) -> SegmentList:
        """With more segments at the end."""
        tail = SegmentList(new)
        if self.items and new and self.items[-1].end != new[0].base:
            raise DoesNotFit(f"append {new[0].name}", f"the list ends at {self.items[-1].end}")
        return self._joined(self.items + tail.items, self._marked + tail._marked)

    def drop(self, offset: int) -> SegmentList:
        """Without the segments that end at this offset or before."""
        items = self.items[bisect_right(self.items, offset, key=_end) :]
        return self._joined(items, self._marked[bisect_right(self._marked, offset, key=_end) :])

    def replace(self, new: Sequence[SegmentInfo]) -> SegmentList:
        """With the segments of one run replaced by others that tile the same range."""
        middle = SegmentList(new)
        start, end = self.run(middle)
        base, stop = new[0].base, new[-1].end
        before = self._marked[: bisect_left(self._marked, base, key=_base)]
        after = self._marked[bisect_left(self._marked, stop, key=_base) :]
        items = self.items[:start] + middle.items + self.items[end:]
        return self._joined(items, before + middle._marked + after)

    def run(self, other: SegmentList) -> tuple[int, int]:
        """The numbers `[start, end)` of the segments that cover exactly what the other list covers."""
        if not other.items:
            raise DoesNotFit("replace nothing", "a run has at least one segment")
        base, end = other.items[0].base, other.items[-1].end
        first, last = self.number_of(base), self.number_of(end - 1)
        if first is None or last is None or self.items[first].base != base or self.items[last].end != end:
            raise DoesNotFit(f"replace [{base}, {end})", "no run of segments covers exactly that")
        return first, last + 1


def _base(segment: SegmentInfo) -> Offset:
    return segment.base


def _end(segment: SegmentInfo) -> Offset:
    return segment.end
