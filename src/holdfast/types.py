"""The words. One word is one thing; a type keeps two of them from being mixed up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, NewType, TypeAlias
from uuid import UUID

Offset = NewType("Offset", int)  # A record's place in one partition; never bytes.
Position = NewType("Position", int)  # A byte's place in the write-ahead log; never records.
Epoch = NewType("Epoch", int)  # Who writes: a higher one fences a lower one.

Buffer: TypeAlias = bytes | bytearray | memoryview  # Bytes that nobody will change any more.


SEGMENTS: Final = "segments/"  # What the names of all segments in a store start with: see `segment.names`.
MANIFESTS: Final = "manifests/"


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class PartitionId(NamedTuple):
    """One partition of one topic, for ever: a topic made again has another id."""

    topic_id: UUID
    partition: int

    @property
    def path(self) -> str:
        return f"{self.topic_id.hex}/{self.partition}/"

    @property
    def segments(self) -> str:
        """What the names of all its segments start with."""
        return SEGMENTS + self.path

    @property
    def manifests(self) -> str:
        """What the names of all its manifest versions start with."""
        return MANIFESTS + self.path


class ClusterPartition(NamedTuple):
    """One partition of one cluster, for ever."""

    cluster_id: str
    topic_id: UUID
    partition: int


class OffsetRange(NamedTuple):
    """The offsets `[start, end)`."""

    start: int
    end: int

    @property
    def width(self) -> int:
        return max(0, self.end - self.start)

    @classmethod
    def joined(cls, ranges: Iterable[tuple[int, int]]) -> list[OffsetRange]:
        """The same offsets in as few ranges as possible, in their order."""
        made: list[OffsetRange] = []
        for start, end in sorted(ranges):
            if start >= end:
                continue
            if made and start <= made[-1].end:
                made[-1] = cls(made[-1].start, max(made[-1].end, end))
            else:
                made.append(cls(start, end))
        return made
