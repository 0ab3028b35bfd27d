"""Bytes of segments for one task: opened and read a little ahead, in order, and held against their crc.

A small segment that is wanted whole comes with one request; of others the index comes first, then only the intervals
that can hold what is wanted, some megabytes at a time. Of rounds just the batches of the partition come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from holdfast.catalog.plan import Piece, RoundPart, SegmentPart
from holdfast.catalog.times import LATEST, Times
from holdfast.io.objects import Objects
from holdfast.io.store_errors import Damaged
from holdfast.io.versions import read_again
from holdfast.log.rounds.seen import RoundRun
from holdfast.record.batch import is_crc_right, split
from holdfast.record.errors import InvalidBatch
from holdfast.segment.index import Segment
from holdfast.segment.scan import IntervalRun, check_run, open_segment, open_whole, read_run, runs

CHUNK_SIZE = 8 * 1024 * 1024
OPEN_AHEAD = 4
READ_AHEAD = 2

T = TypeVar("T")


class RecordChunk(NamedTuple):
    """Whole batches of a piece, checked. All of the piece's batches below `next_offset` came here or before."""

    piece: Piece
    data: memoryview
    next_offset: int


class _Opened(NamedTuple):
    piece: SegmentPart
    segment: Segment
    data: memoryview | None  # Of the whole segment, where it was read at once.


def chunks(
    objects: Objects, pieces: Iterable[Piece], times: Times, chunk_size: int = CHUNK_SIZE
) -> Iterator[RecordChunk]:
    """What the pieces hold, in order. Raises NotFound at the first one whose segment is gone."""
    with ThreadPoolExecutor(OPEN_AHEAD + READ_AHEAD, thread_name_prefix="holdfast-read") as pool:
        opened = ahead(pool, (_opening(objects, each, chunk_size) for each in pieces), OPEN_AHEAD)
        reads = (read for each in opened for read in _reads(objects, each, times, chunk_size))
        yield from ahead(pool, reads, READ_AHEAD)


def ahead(pool: ThreadPoolExecutor, calls: Iterable[Callable[[], T]], count: int) -> Iterator[T]:
    """The results of calls, in order, with so many of them under way before they are asked for."""
    waiting: deque[Future[T]] = deque()
    try:
        for call in calls:
            waiting.append(pool.submit(call))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for each in waiting:
            each.cancel()


def _opening(objects: Objects, piece: Piece, chunk_size: int) -> Callable[[], _Opened | RoundPart]:
    return lambda: piece if isinstance(piece, RoundPart) else _open(objects, piece, chunk_size)


def _open(objects: Objects, piece: SegmentPart, chunk_size: int) -> _Opened:
    info = piece.segment
    if info.size <= chunk_size and (piece.start, piece.end) == (info.base, info.end):
        return _Opened(piece, *open_whole(objects, info))
    return _Opened(piece, open_segment(objects, info), None)


def _reads(
    objects: Objects, opened: _Opened | RoundPart, times: Times, chunk_size: int
) -> Iterator[Callable[[], RecordChunk]]:
    if isinstance(opened, RoundPart):
        for each in opened.runs:
            yield _reading_round(objects, opened, each)
        return
    first, last = _intervals(opened.piece, opened.segment, times)
    for run in runs(opened.segment, chunk_size, first, last):
        yield _reading(objects, opened, run, last)


def _intervals(piece: SegmentPart, segment: Segment, times: Times) -> tuple[int, int]:
    """The numbers `[first, last)` of the intervals that can hold what is wanted."""
    first = segment.interval_of_offset(piece.start)
    last = int(segment.index["base_offset"].searchsorted(piece.end, side="left"))
    known = piece.segment.times
    if known is not None:
        first = max(first, segment.interval_of_timestamp(times.start))
        if known.back_ms is not None:
            # From there on every record has a batch before its own that is late enough to rule it out.
            last = min(last, segment.interval_of_timestamp(min(times.end + known.back_ms, LATEST)) + 1)
    return first, last


def _reading(objects: Objects, opened: _Opened, run: IntervalRun, last: int) -> Callable[[], RecordChunk]:
    return lambda: _read(objects, opened, run, last)


def _read(objects: Objects, opened: _Opened, run: IntervalRun, last: int) -> RecordChunk:
    piece, segment, whole = opened
    if whole is None:
        data = read_run(objects, segment, run)
    else:
        data = whole[slice(*run.bytes_in(segment))]
        check_run(segment, run, data)
    next_offset = piece.end if run.stop == last else segment.offset_of(run.stop)
    return RecordChunk(piece, data, min(next_offset, piece.end))


def _reading_round(objects: Objects, piece: RoundPart, run: RoundRun) -> Callable[[], RecordChunk]:
    def read() -> RecordChunk:
        data = read_again(
            lambda: _checked(run, memoryview(objects.get(run.name, run.position, run.position + run.size)))
        )
        return RecordChunk(piece, data, min(run.end, piece.end))

    return read


def _checked(run: RoundRun, data: memoryview) -> memoryview:
    """What a round has of a partition, held against the crcs of its batches."""
    try:
        at = run.start
        for header, batch in split(data):
            if not is_crc_right(header, batch) or header.base_offset != at:
                raise Damaged(run.name, f"what it has from offset {at} on is not what was written")
            at = header.end_offset
    except InvalidBatch as failure:
        raise Damaged(run.name, str(failure)) from failure
    if len(data) != run.size or at != run.end:
        raise Damaged(run.name, f"what it has from offset {run.start} to {run.end} is not what was written")
    return data
