"""How a direction begins, each time: topics made, earlier writers shut out, lanes where their checkpoints say."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from holdfast.client import Client
from holdfast.sync.carry.aside import make_topic as make_aside
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.carry.winners import Winners
from holdfast.sync.configs import SeenConfigs
from holdfast.sync.progress import SyncCounts
from holdfast.sync.settings import SyncSettings
from holdfast.sync.sides import Side
from holdfast.sync.state import checkpoint
from holdfast.sync.state.checkpoint import OF_TOPIC, Saved, SyncPoint
from holdfast.sync.state.fence import FencedWriter, begin_writing, writer_id
from holdfast.sync.topics import NO_ID, PlannedTopic, batch_size_max, make
from holdfast.types import ClusterPartition, TopicPartition


@dataclass(frozen=True, slots=True)
class TakenPartitions:
    """A topic of which this process is the writer now."""

    planned: PlannedTopic
    writer: FencedWriter
    target_id: UUID
    batch_size_max: int


def take(
    planned: PlannedTopic, source: Side, target: Side, client: Client, aside: TopicPartition | None = None
) -> TakenPartitions:
    """Make the topic at the target, and become its writer."""
    made = make(client, planned, target.address)
    name = writer_id(source.cluster_id, planned.source.id or NO_ID)
    numbers = [each.number for each in planned.source.partitions]
    besides = () if aside is None else (aside,)
    writer = begin_writing(client, name, planned.name, numbers, besides=besides)
    return TakenPartitions(planned, writer, made.id or NO_ID, batch_size_max(client, planned.name))


def make_lanes(
    planned: Sequence[PlannedTopic],
    sides: tuple[Side, Side],
    client: Client,
    settings: SyncSettings,
    compacted: Container[str],
    known: Mapping[ClusterPartition, Saved],
    counts: dict[ClusterPartition, SyncCounts],
    seen: SeenConfigs | None = None,
) -> list[CopyLane]:
    """The lanes of all topics. Checkpoints are read when nobody else can write any more."""
    source, target = sides
    checkpoint.make_topic(client)
    if settings.set_aside is not None:
        make_aside(client, settings.set_aside)
    taken = [take(each, source, target, client, settings.aside) for each in planned]
    saved = checkpoint.read_all(client, source.cluster_id)
    lanes = []
    for each in taken:
        of_topic = saved.get(ClusterPartition(source.cluster_id, each.planned.source.id or NO_ID, OF_TOPIC))
        if seen is not None and of_topic is not None and of_topic.configs is not None:
            seen.remember(source.cluster_id, each.planned.name, of_topic.configs)
        if seen is not None and settings.configs and each.planned.target is None:
            seen.remember(source.cluster_id, each.planned.name, each.planned.configs)  # It was made with these.
        for part in each.planned.source.partitions:
            home = ClusterPartition(source.cluster_id, each.planned.source.id or NO_ID, part.number)
            back = ClusterPartition(target.cluster_id, each.target_id, part.number)
            where = TopicPartition(each.planned.name, part.number)
            point = _point(back, known.get(home), saved.get(home))
            lane = CopyLane(
                where=where,
                home=home,
                back=back,
                writer=each.writer,
                batch_size_max=each.batch_size_max,
                own_only=settings.own_only,
                sets_aside=settings.set_aside is not None,
                point=point or SyncPoint(),
                has_begun=point is not None,
                counts=counts.setdefault(home, SyncCounts()),
                winners=Winners(where, home, back, source.chance) if each.planned.name in compacted else None,
            )
            lanes.append(lane)
    return lanes


def _point(back: ClusterPartition, *candidates: Saved | None) -> SyncPoint | None:
    """Where to go on: what this process knows, or what is saved; nothing if the target's topic is another one."""
    for each in candidates:
        if each is not None and each.target_id == back.topic_id:
            return each.point
    return None
