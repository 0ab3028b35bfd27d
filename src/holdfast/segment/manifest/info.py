"""What is known of a segment without opening it: one row of the manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from holdfast.errors import Corrupt
from holdfast.types import Offset

NO_TIMESTAMP = -1


class Aborted(NamedTuple):
    """One aborted transaction. Its marker, at `last_offset`, may lie segments after its first record."""

    producer_id: int
    first_offset: int
    last_offset: int  # Where the marker is.
    last_stable_offset: int  # After the marker: no transaction that is aborted later starts below this.


class RecordTimes(NamedTuple):
    """No record is earlier than `earliest`, nor later than its batch says; with `by_batch`, nor earlier than that.

    None is more than `back_ms` earlier than a batch before its own says; None: nobody has looked.
    """

    earliest: int
    by_batch: bool
    back_ms: int | None = None

    def to_row(self) -> list[int]:
        return [self.earliest, int(self.by_batch), *([] if self.back_ms is None else [self.back_ms])]

    @classmethod
    def from_row(cls, row: list[int]) -> RecordTimes:
        earliest, by_batch, *rest = row
        return cls(earliest, bool(by_batch), rest[0] if rest else None)


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment: the offsets `[base, end)` it stands for, and what is needed to open it with one read."""

    name: str
    base: Offset
    end: Offset
    size: int
    tail_size: int  # The index, the snapshots and the footer: what is read to open it.
    min_timestamp: int
    max_timestamp: int
    record_count: int
    compacted: bool = False  # May lack offsets.
    aborted: tuple[Aborted, ...] = ()  # Transactions whose abort marker is in this segment.
    # What the manifest knows beyond the segment itself. None: records may be earlier and later than batches say.
    times: RecordTimes | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.base < self.end or not 0 < self.tail_size < self.size:
            raise Corrupt(f"{self.name}: [{self.base}, {self.end}), {self.tail_size} of {self.size} bytes")

    def to_row(self) -> list[Any]:
        """The segment as a row of the manifest; its name without the folder."""
        row = [self.name.rpartition("/")[2], self.base, self.end, self.size, self.tail_size]
        row += [self.min_timestamp, self.max_timestamp, self.record_count, int(self.compacted)]
        if self.aborted or self.times:
            row.append([list(each) for each in self.aborted])
        return [*row, self.times.to_row()] if self.times else row

    @classmethod
    def from_row(cls, row: list[Any], folder: str) -> SegmentInfo:
        """The inverse of `to_row`."""
        name, base, end, size, tail_size, min_timestamp, max_timestamp, record_count, compacted, *rest = row
        aborted = tuple(Aborted(*each) for each in rest[0]) if rest else ()
        times = RecordTimes.from_row(rest[1]) if len(rest) > 1 else None
        bounds = (min_timestamp, max_timestamp)
        return cls(folder + name, base, end, size, tail_size, *bounds, record_count, bool(compacted), aborted, times)
