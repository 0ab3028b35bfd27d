"""Which stored segments a client may read itself, so that the server need not send what is in them."""

from __future__ import annotations

from holdfast.subscribe.merge.piece import Position
from holdfast.subscribe.server.topics import SourcePartition
from holdfast.subscribe.wire.references import Referred


def refer(found: SourcePartition, start: Position, until_ms: int | None) -> Referred:
    """The segments from `start` on whose records are all decided, and that are not all behind `until_ms`."""
    partition = found.log
    stable = partition.last_stable
    segments = []
    order_time = start.order_time
    for segment in partition.manifest.segments.between(start.offset, partition.marks.flushed):
        if segment.end > stable or (until_ms is not None and order_time >= until_ms):
            break
        segments.append(segment)
        order_time = max(order_time, segment.max_timestamp)
    if not segments:
        return Referred((), (), start)
    epoch = partition.epochs.at(segments[-1].end - 1)
    aborted = partition.aborted(max(start.offset, segments[0].base), segments[-1].end)
    return Referred(tuple(segments), tuple(aborted), Position(segments[-1].end, epoch, order_time))
