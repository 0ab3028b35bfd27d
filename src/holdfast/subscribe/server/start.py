"""Where each lane of a subscription starts, and up to where its backlog goes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from holdfast.subscribe.cursor import Cursor, PartitionPosition
from holdfast.subscribe.errors import BadCursor, CursorDiverged
from holdfast.subscribe.merge.piece import NO_EPOCH, Position
from holdfast.subscribe.server.topics import SourcePartition
from holdfast.subscribe.wire.request import Start
from holdfast.types import ClusterPartition

LOOKUPS_MAX = 16  # By time, at once: each may have to read from the store.


async def positions_of(start: Start, found: Sequence[SourcePartition], cluster_id: str) -> list[Position]:
    """Where all partitions start, looked up side by side."""
    positions = [Position(0)] * len(found)
    left = iter(enumerate(found))

    async def look_up() -> None:
        for number, each in left:
            positions[number] = await position_of(start, each, cluster_id)

    tasks = [asyncio.ensure_future(look_up()) for _ in range(min(LOOKUPS_MAX, len(found)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return positions


async def position_of(start: Start, found: SourcePartition, cluster_id: str) -> Position:
    """Where a partition starts."""
    if start.cursor is not None:
        return _from_cursor(start.cursor, found, cluster_id)
    if start.since_ms is None:
        return Position(found.log.last_stable)
    if start.since_ms <= 0:
        return Position(found.log.marks.log_start)
    place = await found.log.find_timestamp(start.since_ms)
    return Position(found.log.last_stable if place is None else place[0])


def _from_cursor(cursor: Cursor, found: SourcePartition, cluster_id: str) -> Position:
    place = cursor.places.get(ClusterPartition(cluster_id, found.topic_id, found.partition))
    if place is None:
        return _not_in_cursor(cursor, found, cluster_id)
    _check_history(place, found)
    return place.position


def _not_in_cursor(cursor: Cursor, found: SourcePartition, cluster_id: str) -> Position:
    """A partition that came later is read from its beginning; a topic that was made again is another one."""
    known = any(key.cluster_id == cluster_id and key.topic_id == found.topic_id for key in cursor.places)
    for key, place in () if known else cursor.places.items():
        if key.cluster_id == cluster_id and place.topic == found.topic and key.topic_id != found.topic_id:
            raise BadCursor(f"topic {found.topic} was deleted and made again since: start at a time instead")
    return Position(found.log.marks.log_start)


def _check_history(place: PartitionPosition, found: SourcePartition) -> None:
    """What the cursor has seen must be what is there."""
    position = place.position
    end: int = found.log.marks.log_end
    if position.epoch != NO_EPOCH:
        known = found.log.end_of_epoch(position.epoch)
        end = found.log.marks.log_end if known is None else known[1]
    if position.offset > end:
        raise CursorDiverged(found.topic, found.partition, position.offset, position.epoch, end)
