"""From ranges of offsets to even tasks, without a request: everything needed stands in the manifests.

All pieces are laid in one row, each as long as it costs to read, and the row is cut at equal distances. A cut may fall
inside a segment: then both tasks get a range of its offsets, and each finds the bytes by the segment's own index. What
is only in rounds is one more piece, behind those of the segments. Where
only some time is wanted, a piece is as long as that time's share of it is likely to be, and is cut inside that share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from holdfast.catalog.catalog import Catalog
from holdfast.catalog.errors import OutOfRange
from holdfast.catalog.tail import RoundTail
from holdfast.catalog.times import ALWAYS, Times
from holdfast.log.rounds.seen import RoundRun
from holdfast.segment.manifest.info import Aborted, RecordTimes, SegmentInfo
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import OffsetRange, PartitionId, TopicPartition

SPLIT_SIZE = 32 * 1024 * 1024
OPEN_SIZE = 256 * 1024  # What opening a segment costs, in bytes that could be read meanwhile: bounds a task's pieces.
_PART_SIZE_MIN = 128 * 1024  # Two index intervals. Smaller parts are cut only for who asks for that many tasks.


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """Offsets `[start, end)` of one segment."""

    topic: str
    home: PartitionId
    segment: SegmentInfo
    start: int
    end: int
    aborted: tuple[Aborted, ...] = ()  # Transactions whose records are to be left out.

    @property
    def name(self) -> str:
        return self.segment.name

    @property
    def times(self) -> RecordTimes | None:
        """What is known of its records' times."""
        return self.segment.times

    @property
    def size(self) -> int:
        """About how many bytes hold these offsets."""
        share = (self.end - self.start) / (self.segment.end - self.segment.base)
        return int((self.segment.size - self.segment.tail_size) * share)


@dataclass(frozen=True, slots=True)
class RoundPart:
    """Offsets `[start, end)` of one partition that are only in rounds."""

    topic: str
    home: PartitionId
    runs: tuple[RoundRun, ...]  # That hold these offsets, and maybe others.
    start: int
    end: int
    aborted: tuple[Aborted, ...] = ()
    committed: bool = True  # What was flushed since is read from segments, in the same way.

    def __post_init__(self) -> None:
        needed = tuple(each for each in self.runs if each.start < self.end and each.end > self.start)
        object.__setattr__(self, "runs", needed)

    @property
    def name(self) -> str:
        return f"rounds of {self.topic}-{self.home.partition}"

    @property
    def times(self) -> RecordTimes | None:
        return None

    @property
    def size(self) -> int:
        return int(sum(each.size * self._share(each) for each in self.runs))

    def _share(self, run: RoundRun) -> float:
        return (min(self.end, run.end) - max(self.start, run.start)) / (run.end - run.start)


Piece: TypeAlias = SegmentPart | RoundPart


@dataclass(frozen=True, slots=True)
class Task:
    """What one executor reads, in this order. Small, and made to be pickled."""

    pieces: tuple[Piece, ...]
    times: Times = ALWAYS

    @property
    def size(self) -> int:
        return sum(each.size for each in self.pieces)


def plan(
    catalog: Catalog,
    ranges: Mapping[TopicPartition, OffsetRange],
    *,
    times: Times = ALWAYS,
    committed: bool = True,
    min_partitions: int = 0,
    split_size: int = SPLIT_SIZE,
    count_max: int | None = None,
) -> list[Task]:
    """Tasks that together read every offset of the ranges once; with `count_max`, each so many of them at most.

    Segments without a record in `times` are left out. With `committed`, so are aborted transactions, and no range may
    reach into an open one.
    """
    pieces = [
        piece
        for where, wanted in sorted(ranges.items())
        for piece in pieces_of(catalog, where, wanted, committed=committed)
        if isinstance(piece, RoundPart) or times.may_hold(piece.segment)
    ]
    weighed = [weigh(each, times) for each in pieces]
    runs = pack(weighed, min_partitions, split_size)
    if count_max is not None:
        runs = (part for run in runs for part in counted(run, count_max))
    return [Task(tuple(each), times) for each in runs]


def pieces_of(catalog: Catalog, where: TopicPartition, wanted: OffsetRange, *, committed: bool = True) -> list[Piece]:
    """The pieces of one partition's range, in order: one for each segment, and one for what is only in rounds."""
    if wanted.start >= wanted.end:
        return []
    manifest = catalog.manifest(where)
    readable = catalog.readable(where, committed=committed)
    if wanted.start < manifest.log_start or wanted.end > readable.end:
        raise OutOfRange(str(where), *wanted, *readable)
    tail = catalog.tails.get(where)
    undone = tail.aborted if tail is not None and committed else ()
    found: list[Piece] = list(cover(where.topic, manifest, wanted, committed=committed, undone=undone))
    start = max(wanted.start, manifest.flushed)
    if tail is not None and start < wanted.end:
        found.append(_behind(where.topic, manifest, tail, OffsetRange(start, wanted.end), committed=committed))
    return found


def cover(
    topic: str, manifest: Manifest, wanted: OffsetRange, *, committed: bool, undone: Iterable[Aborted] = ()
) -> Iterator[SegmentPart]:
    """One piece for each segment that the range touches; `undone` are aborted transactions whose markers are behind."""
    for segment in manifest.segments.between(wanted.start, wanted.end):
        start, end = max(wanted.start, segment.base), min(wanted.end, segment.end)
        aborted = tuple(manifest.segments.aborted(start, end)) if committed else ()
        yield SegmentPart(topic, manifest.home, segment, start, end, (*aborted, *_touching(undone, start, end)))


def _behind(topic: str, manifest: Manifest, tail: RoundTail, wanted: OffsetRange, *, committed: bool) -> RoundPart:
    aborted = tuple(_touching(tail.aborted, *wanted)) if committed else ()
    return RoundPart(topic, manifest.home, tail.runs, *wanted, aborted, committed)


def _touching(aborted: Iterable[Aborted], start: int, end: int) -> Iterator[Aborted]:
    return (each for each in aborted if each.first_offset < end and each.last_offset >= start)


class Weighed(NamedTuple):
    """A piece, and what reading it costs: nearly all of it between two of its offsets."""

    piece: Piece
    cost: int
    start: int
    end: int


def weigh(piece: Piece, times: Times = ALWAYS) -> Weighed:
    """What a piece costs where only these times are wanted of it."""
    if isinstance(piece, RoundPart):
        return Weighed(piece, OPEN_SIZE + piece.size, piece.start, piece.end)
    low, high = times.share_of(piece.segment)
    base, width = piece.segment.base, piece.segment.end - piece.segment.base
    start = min(max(base + int(low * width), piece.start), piece.end)
    end = min(max(base + math.ceil(high * width), start), piece.end)
    return Weighed(piece, OPEN_SIZE + int(piece.size * (end - start) / (piece.end - piece.start)), start, end)


def pack(pieces: list[Weighed], min_partitions: int = 0, split_size: int = SPLIT_SIZE) -> Iterator[list[Piece]]:
    """The pieces in runs of about equal cost: as many as are asked for, or as the split size makes."""
    total = sum(each.cost for each in pieces)
    count = max(min_partitions, math.ceil(total / split_size), 1)
    distance = total / count
    part_size_min = 0 if count == min_partitions else _PART_SIZE_MIN
    run: list[Piece] = []
    at = 0
    for piece in pieces:
        first, last = math.floor(at / distance) + 1, math.ceil((at + piece.cost) / distance)
        rest: Piece | None = piece.piece
        for number in range(first, last):
            taken, rest = _cut(piece, rest, (number * distance - at) / piece.cost, part_size_min)
            run += [] if taken is None else [taken]
            if run:
                yield run
            run = []
        run += [] if rest is None else [rest]
        at += piece.cost
    if run:
        yield run


def counted(run: list[Piece], count_max: int) -> Iterator[list[Piece]]:
    """The same pieces in runs of so many offsets at most."""
    part: list[Piece] = []
    left = count_max
    for piece in run:
        at = piece.start
        while at < piece.end:
            end = min(piece.end, at + left)
            part.append(replace(piece, start=at, end=end))
            left -= end - at
            at = end
            if not left:
                yield part
                part, left = [], count_max
    if part:
        yield part


def _cut(whole: Weighed, rest: Piece | None, share: float, part_size_min: int) -> tuple[Piece | None, Piece | None]:
    """What is left of a piece, cut where that share of its cost ends; at an end where a part would be small."""
    if rest is None:
        return None, None
    middle = whole.start + round((whole.end - whole.start) * share)
    if rest.start < middle < rest.end:
        parts = replace(rest, end=middle), replace(rest, start=middle)
        if min(each.size for each in parts) >= part_size_min:
            return parts
    return (rest, None) if middle - rest.start > rest.end - middle else (None, rest)
