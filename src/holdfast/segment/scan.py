"""Batches of a segment past the cache, in runs of intervals: for whoever reads all of it, or a large part.

A run is some intervals that are read with one request: about so many bytes, and at least one interval. Every interval
is held against its crc; whoever moves batches on holds each against its own, too (`pieces`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.errors import Corrupt
from holdfast.io.objects import Objects
from holdfast.record.batch import check_crcs
from holdfast.record.errors import stored
from holdfast.segment.cached.blocks import read_whole
from holdfast.segment.errors import Damaged
from holdfast.segment.index import Segment, check_interval, open_tail
from holdfast.segment.manifest.info import SegmentInfo

PIECE_SIZE = 8 * 1024 * 1024


class IntervalRun(NamedTuple):
    """The intervals `[first, stop)` of a segment, by number."""

    first: int
    stop: int

    def bytes_in(self, segment: Segment) -> tuple[int, int]:
        """Where they lie."""
        return segment.interval(self.first).start, segment.interval(self.stop - 1).end


def open_segment(objects: Objects, info: SegmentInfo) -> Segment:
    """A segment's index and snapshots, with one request; two if what came first was wrong."""

    def load() -> Segment:
        return open_tail(info, read_whole(objects, info.name, info.size - info.tail_size, info.size))

    with contextlib.suppress(Damaged):
        return load()
    return load()


def open_whole(objects: Objects, info: SegmentInfo) -> tuple[Segment, memoryview]:
    """A small segment, all of it with one request; its intervals are not looked at yet."""
    data = memoryview(read_whole(objects, info.name, 0, info.size))
    return open_tail(info, data), data


def runs(
    segment: Segment, size: int = PIECE_SIZE, first: int = 0, stop: int | None = None, first_size: int | None = None
) -> Iterator[IntervalRun]:
    """The intervals `[first, stop)` in runs of about `size` bytes; from `first_size` on they double, up to that."""
    stop = len(segment.index) if stop is None else stop
    now = size if first_size is None else min(first_size, size)
    intervals = segment.intervals(first, stop)
    at, count = 0, len(intervals)
    while at < count:
        start, end = intervals[at].start, at + 1
        while end < count and intervals[end].end - start <= now:
            end += 1
        yield IntervalRun(first + at, first + end)
        at, now = end, min(2 * now, size)


def read_run(objects: Objects, segment: Segment, run: IntervalRun) -> memoryview:
    """The bytes of a run, right by the crcs of its intervals."""
    start, end = run.bytes_in(segment)
    data = memoryview(read_whole(objects, segment.name, start, end))
    check_run(segment, run, data)
    return data


def check_run(segment: Segment, run: IntervalRun, data: memoryview) -> None:
    """Raise unless these bytes of a run are what its intervals say."""
    start = segment.interval(run.first).start
    for interval in segment.intervals(*run):
        check_interval(segment.name, interval, [data[interval.start - start : interval.end - start]])


def pieces(objects: Objects, segment: Segment, piece_size: int = PIECE_SIZE) -> Iterator[memoryview]:
    """All batches, checked, in pieces of about that many bytes; a larger batch is a piece of its own.

    Each batch is also held against its own crc: one that was wrong already when its segment was written is not moved on
    as if it were right. A piece that is wrong is read once more.
    """
    for run in runs(segment, piece_size):
        try:
            piece = _piece(objects, segment, run)
        except Corrupt:
            piece = _piece(objects, segment, run)
        yield piece


def _piece(objects: Objects, segment: Segment, run: IntervalRun) -> memoryview:
    piece = read_run(objects, segment, run)
    with stored(segment.name):
        check_crcs(piece)
    return piece
