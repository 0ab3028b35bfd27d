"""The marks of a partition, in one value that checks its own order. Every stage replaces it whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.types import Offset


@dataclass(slots=True)  # Not frozen, which would double the time of every append; whoever has one only reads it.
class Marks:
    """`log_start ≤ flushed ≤ durable ≤ high_watermark ≤ log_end`, all exclusive ends.

    `durable` is what a power cut cannot take. It is the high watermark, except in topics whose durability is `memory`,
    where the high watermark is the log end.
    """

    log_start: Offset
    flushed: Offset
    durable: Offset
    high_watermark: Offset
    log_end: Offset

    def __post_init__(self) -> None:
        assert 0 <= self.log_start <= self.flushed <= self.durable <= self.high_watermark <= self.log_end, self

    def appended(self, log_end: int, *, visible: bool) -> Marks:
        # Not `replace`: every append comes by here, and the constructor takes half as long.
        high_watermark = Offset(log_end) if visible else self.high_watermark
        return Marks(self.log_start, self.flushed, self.durable, high_watermark, Offset(log_end))

    def became_durable(self, durable: int) -> Marks:
        high_watermark = Offset(max(self.high_watermark, durable))
        return Marks(self.log_start, self.flushed, Offset(durable), high_watermark, self.log_end)

    def stored(self, log_start: int, flushed: int) -> Marks:
        return replace(self, log_start=Offset(log_start), flushed=Offset(flushed))
