"""A span of time that rows are wanted from, and what it says about segments that need not be read."""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast.segment.manifest.info import SegmentInfo

EARLIEST: Final = -(2**63)
LATEST: Final = 2**63 - 1


class Times(NamedTuple):
    """The timestamps `[start, end)`, in milliseconds since 1970."""

    start: int = EARLIEST
    end: int = LATEST

    @property
    def is_bounded(self) -> bool:
        return self != ALWAYS

    def may_hold(self, segment: SegmentInfo) -> bool:
        """Whether a segment can have a record of this time. Where its records were not looked at, it can."""
        if self.start >= self.end or segment.times is None:
            return self.start < self.end
        return segment.max_timestamp >= self.start and segment.times.earliest < self.end

    def share_of(self, segment: SegmentInfo) -> tuple[float, float]:
        """About where in a segment these records are, from 0 to 1, if its times grow evenly. Only for estimates."""
        if not self.is_bounded or segment.times is None:
            return 0.0, 1.0
        first, width = segment.times.earliest, segment.max_timestamp + 1 - segment.times.earliest
        start, end = (min(max((at - first) / width, 0.0), 1.0) for at in self)
        return start, max(start, end)

    def both(self, other: Times) -> Times:
        """What lies in this span and in the other."""
        return Times(max(self.start, other.start), min(self.end, other.end))


ALWAYS: Final = Times()
