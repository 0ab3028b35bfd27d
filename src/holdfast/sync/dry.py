"""What a direction would do, found without writing anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.client import Client
from holdfast.client.errors import TopicNotFound
from holdfast.sync.origin.scan import bounds, find_applied
from holdfast.sync.settings import SyncSettings
from holdfast.sync.sides import Side
from holdfast.sync.state import checkpoint
from holdfast.sync.state.checkpoint import Saved
from holdfast.sync.topics import NO_ID, PlannedTopic, plan
from holdfast.types import ClusterPartition, TopicPartition


class Foreseen(NamedTuple):
    """One topic. Of the offsets to read, those that came from the target are not copied back."""

    topic: str
    action: str  # create, grow or keep
    partitions: int
    configs: dict[str, str]
    offsets: int


def foresee(source: Side, target: Side, settings: SyncSettings) -> list[Foreseen]:
    """All topics of a direction."""
    with source.client() as here, target.client() as there:
        saved = _saved(there, source.cluster_id)
        return [_foresee(each, here, there, source, saved) for each in plan(here, there, settings.chosen)]


def _saved(target: Client, source_cluster: str) -> Mapping[ClusterPartition, Saved]:
    try:
        return checkpoint.read_all(target, source_cluster)
    except TopicNotFound:
        return {}


def _foresee(
    planned: PlannedTopic, here: Client, there: Client, source: Side, saved: Mapping[ClusterPartition, Saved]
) -> Foreseen:
    offsets = 0
    for part in planned.source.partitions:
        where = TopicPartition(planned.name, part.number)
        home = ClusterPartition(source.cluster_id, planned.source.id or NO_ID, part.number)
        start, end = bounds(here, where)
        offsets += max(end - max(start, _applied(planned, where, home, there, saved.get(home))), 0)
    action = "create" if planned.target is None else "grow" if planned.missing_partitions else "keep"
    return Foreseen(planned.name, action, planned.partition_count, planned.configs, offsets)


def _applied(
    planned: PlannedTopic, where: TopicPartition, home: ClusterPartition, there: Client, saved: Saved | None
) -> int:
    """The offset behind the last one that is applied."""
    if planned.target is None or where.partition >= len(planned.target.partitions):
        return 0
    start, end = bounds(there, where)
    point = saved.point if saved is not None and saved.target_id == (planned.target.id or NO_ID) else None
    if point is None or point.target_offset > end:
        return find_applied(there, where, home, start, end).of + 1
    return max(point.position, find_applied(there, where, home, max(start, point.target_offset), end).of + 1)
