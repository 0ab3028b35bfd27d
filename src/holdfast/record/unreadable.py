"""Batches that nobody can read: a broker that did not look into them has taken them, so they are there for good.

One rule for all who go past them. Their crc is right, so they are as they were sent; a wrong crc is damage, and nobody
steps over that. Whoever reads hands one of these to a `Decoder`, goes on behind the batch, and tells of its offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from holdfast.record.batch import BatchHeader
from holdfast.record.errors import InvalidBatch

NAMED_MAX: Final = 20  # Of one partition and reader: the rest is counted.


class Unreadable(NamedTuple):
    """Offsets of such a batch, as far as they were wanted, and what is wrong with it."""

    start: int
    end: int
    why: str

    def __str__(self) -> str:
        return f"offsets [{self.start}, {self.end}) cannot be read, and are skipped: {self.why}"


def telling(tell: Callable[[Unreadable], None], start: int, end: int) -> Callable[[BatchHeader, InvalidBatch], None]:
    """For a decoder of the offsets `[start, end)`: who hears of each such batch that has some of them."""

    def skip(header: BatchHeader, violation: InvalidBatch) -> None:
        first, last = max(header.base_offset, start), min(header.end_offset, end)
        if first < last:
            tell(Unreadable(first, last, str(violation)))

    return skip


@dataclass
class SteppedOver:
    """What was stepped over in one partition: all of it counted, and the first of it named."""

    batches: int = 0
    offsets: int = 0
    named: list[Unreadable] = field(default_factory=list)

    def add(self, one: Unreadable) -> None:
        self.batches += 1
        self.offsets += one.end - one.start
        if len(self.named) < NAMED_MAX:
            self.named.append(one)

    def __add__(self, other: SteppedOver) -> SteppedOver:
        named = sorted([*self.named, *other.named])[:NAMED_MAX]
        return SteppedOver(self.batches + other.batches, self.offsets + other.offsets, named)
