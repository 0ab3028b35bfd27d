"""References to stored segments: what the server tells of them, in messages of bounded size. No data is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.subscribe.merge.piece import Position
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.types import Offset

SEGMENTS_MAX = 256  # In one message.


class Referred(NamedTuple):
    """Segments of one lane that the client reads itself, and where the server goes on."""

    segments: tuple[SegmentInfo, ...]
    aborted: tuple[Aborted, ...]
    rest: Position


def to_messages(lane: int, referred: Referred) -> Iterator[wire.References]:
    """The references of one lane. Aborted ranges go with the segments that they concern."""
    for first in range(0, len(referred.segments), SEGMENTS_MAX):
        segments = referred.segments[first : first + SEGMENTS_MAX]
        concerned = [each for each in referred.aborted if _concerns(each, segments)]
        for part in range(0, max(len(concerned), 1), SEGMENTS_MAX * 4):
            last = part + SEGMENTS_MAX * 4 >= len(concerned)
            yield wire.References(
                lane=lane,
                segments=[_segment(each) for each in segments] if last else [],
                aborted=[wire.Aborted(**each._asdict()) for each in concerned[part : part + SEGMENTS_MAX * 4]],
            )


def _concerns(aborted: Aborted, segments: Sequence[SegmentInfo]) -> bool:
    return aborted.first_offset < segments[-1].end and aborted.last_offset >= segments[0].base


def _segment(info: SegmentInfo) -> wire.Segment:
    return wire.Segment(
        name=info.name,
        base=info.base,
        end=info.end,
        size=info.size,
        tail_size=info.tail_size,
        min_timestamp=info.min_timestamp,
        max_timestamp=info.max_timestamp,
        record_count=info.record_count,
        compacted=info.compacted,
        aborted=[wire.Aborted(**each._asdict()) for each in info.aborted],
    )


def from_segment(segment: wire.Segment) -> SegmentInfo:
    """The row of the manifest that came over the wire."""
    return SegmentInfo(
        segment.name,
        Offset(segment.base),
        Offset(segment.end),
        segment.size,
        segment.tail_size,
        segment.min_timestamp,
        segment.max_timestamp,
        segment.record_count,
        segment.compacted,
        tuple(to_aborted(each) for each in segment.aborted),
    )


def to_aborted(aborted: wire.Aborted) -> Aborted:
    return Aborted(aborted.producer_id, aborted.first_offset, aborted.last_offset, aborted.last_stable_offset)
