"""What can still be read of a segment: its whole batches, and the offsets that are lost with the others."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound, Objects
from holdfast.record.batch import BatchHeader, check_crc, check_fields, read_header, split
from holdfast.record.errors import InvalidBatch
from holdfast.segment.errors import SegmentLost
from holdfast.segment.format import HEADER_SIZE
from holdfast.segment.index import Segment, check_is, interval_damage, open_tail
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.producers import ProducerState
from holdfast.segment.verify import verify


@dataclass
class Survivors:
    """The batches of a damaged segment that are whole."""

    what: str
    batches: list[tuple[BatchHeader, memoryview]] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)
    producers: dict[int, ProducerState] | None = None  # As of its end; None where that cannot be read.
    data: bytes | None = None  # The damaged original.


def examine(objects: Objects, info: SegmentInfo, version: int) -> Survivors | None:
    """None when every byte of the segment, which this version of the manifest lists, is as it was written."""
    try:
        data = objects.get(info.name)
    except NotFound:
        return Survivors(SegmentLost(info.name, version).what, lost=[(info.base, info.end)])
    try:
        check_is(verify(info.name, data), info)
        return None
    except Corrupt as damage:
        return _survivors(info, data, getattr(damage, "what", None) or str(damage))


def _survivors(info: SegmentInfo, data: bytes, what: str) -> Survivors:
    found = Survivors(what, data=data)
    view = memoryview(data)
    try:
        segment = open_tail(info, view)
    except Corrupt:  # Without an index there is only one way through: from the start, as far as it goes.
        _walk(found, view[HEADER_SIZE:], info.base, info.end, tiled=not info.compacted)
        return found
    found.producers = segment.producers()
    for number in range(len(segment.index)):
        _take_interval(found, segment, view, number, info)
    return found


def _take_interval(found: Survivors, segment: Segment, view: memoryview, number: int, info: SegmentInfo) -> None:
    interval = segment.interval(number)
    last = number + 1 == len(segment.index)
    start = int(segment.index[number]["base_offset"])
    end = info.end if last else int(segment.index[number + 1]["base_offset"])
    piece = view[interval.start : interval.end]
    if interval_damage(info.name, interval, [piece]) is None and _are_right(piece):
        found.batches += _whole(piece, start, end, tiled=False)
    else:
        _walk(found, piece, start, end, tiled=not info.compacted)


def _walk(found: Survivors, piece: memoryview, start: int, end: int, *, tiled: bool) -> None:
    """Take what is whole in its place; all other offsets of the range are lost."""
    whole = _whole(piece, start, end, tiled=tiled)
    found.batches += whole
    at = start
    for header, _ in whole:
        if header.base_offset > at:
            found.lost.append((at, header.base_offset))
        at = header.end_offset
    if at < end:
        found.lost.append((at, end))


def _whole(piece: memoryview, start: int, end: int, *, tiled: bool) -> list[tuple[BatchHeader, memoryview]]:
    """The batches that are as they were sent, at offsets that go on; a bad length ends it, a bad batch does not.

    A batch's own crc leaves its offset out. Where batches are `tiled`, each must begin where the one before says that
    it ends, so that none is taken at an offset that is not its own.
    """
    taken: list[tuple[BatchHeader, memoryview]] = []
    position, at, claimed = 0, start, start
    while position < len(piece):
        try:
            header = read_header(piece, position)
        except InvalidBatch:
            break
        batch = piece[position : position + header.size]
        fits = header.base_offset == claimed if tiled else header.base_offset >= at
        if fits and len(batch) == header.size and header.end_offset <= end and is_right(batch):
            taken.append((header, batch))
            at = header.end_offset
        position, claimed = position + header.size, header.end_offset
    return taken


def _are_right(batches: memoryview) -> bool:
    try:
        return all(is_right(batch) for _, batch in split(batches))
    except InvalidBatch:
        return False


def is_right(batch: memoryview) -> bool:
    """Whether a batch is what its sender summed up, and one that a partition may hold."""
    try:
        header = read_header(batch)
        check_crc(header, batch)
        check_fields(header)
    except InvalidBatch:
        return False
    return True
