"""All batches of a segment, in pieces of bounded size, past the cache: for compaction and whoever reads everything."""

from __future__ import annotations

from collections.abc import Iterator

from crc32c import crc32c

from holdfast.io.objects import Objects
from holdfast.segment.blocks import read_whole
from holdfast.segment.errors import Damaged
from holdfast.segment.info import SegmentInfo
from holdfast.segment.reader import Segment, check_is, decode_tail

PIECE_SIZE = 8 * 1024 * 1024


def open_segment(objects: Objects, info: SegmentInfo) -> Segment:
    """A segment's index and snapshots, with one request."""
    tail = read_whole(objects, info.name, info.size - info.tail_size, info.size)
    segment = decode_tail(info.name, tail, info.size)
    check_is(segment, info)
    return segment


def pieces(objects: Objects, segment: Segment, piece_size: int = PIECE_SIZE) -> Iterator[memoryview]:
    """Whole batches, checked, in pieces of about that many bytes; a larger batch is a piece of its own."""
    number = 0
    while number < len(segment.index):
        first = number
        start = segment.interval(first).start
        number += 1
        while number < len(segment.index) and segment.interval(number).end - start <= piece_size:
            number += 1
        end = segment.interval(number - 1).end
        piece = memoryview(read_whole(objects, segment.name, start, end))
        for each in range(first, number):
            interval = segment.interval(each)
            if crc32c(piece[interval.start - start : interval.end - start]) != interval.crc:
                raise Damaged(segment.name, f"the crc of bytes {interval.start} to {interval.end} is wrong")
        yield piece
