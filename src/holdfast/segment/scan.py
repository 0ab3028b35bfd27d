"""All batches of a segment, in pieces of bounded size, past the cache: for compaction and whoever reads everything."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from crc32c import crc32c

from holdfast.errors import Corrupt
from holdfast.io.objects import Objects
from holdfast.record.batch import check_crcs
from holdfast.record.errors import stored
from holdfast.segment.cached.blocks import read_whole
from holdfast.segment.errors import Damaged
from holdfast.segment.index import Segment, check_is, decode_tail
from holdfast.segment.manifest.info import SegmentInfo

PIECE_SIZE = 8 * 1024 * 1024


def open_segment(objects: Objects, info: SegmentInfo) -> Segment:
    """A segment's index and snapshots, with one request; two if what came first was wrong."""

    def load() -> Segment:
        tail = read_whole(objects, info.name, info.size - info.tail_size, info.size)
        segment = decode_tail(info.name, tail, info.size)
        check_is(segment, info)
        return segment

    with contextlib.suppress(Damaged):
        return load()
    return load()


def pieces(objects: Objects, segment: Segment, piece_size: int = PIECE_SIZE) -> Iterator[memoryview]:
    """Whole batches, checked, in pieces of about that many bytes; a larger batch is a piece of its own.

    Each batch is also held against its own crc: one that was wrong already when its segment was written is not moved on
    as if it were right. A piece that is wrong is read once more.
    """
    number = 0
    while number < len(segment.index):
        first = number
        start = segment.interval(first).start
        number += 1
        while number < len(segment.index) and segment.interval(number).end - start <= piece_size:
            number += 1
        try:
            piece = _piece(objects, segment, first, number)
        except Corrupt:
            piece = _piece(objects, segment, first, number)
        yield piece


def _piece(objects: Objects, segment: Segment, first: int, stop: int) -> memoryview:
    """The batches of some intervals."""
    start, end = segment.interval(first).start, segment.interval(stop - 1).end
    piece = memoryview(read_whole(objects, segment.name, start, end))
    for each in range(first, stop):
        interval = segment.interval(each)
        if crc32c(piece[interval.start - start : interval.end - start]) != interval.crc:
            raise Damaged(segment.name, f"the crc of bytes {interval.start} to {interval.end} is wrong")
    with stored(segment.name):
        check_crcs(piece)
    return piece
