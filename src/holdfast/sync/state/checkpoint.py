"""Checkpoints: how far a direction has come with each partition, in a compacted topic of the target.

key   {"from": cluster id, "topic": name, "topic_id": …, "partition": …}
value {"position": …, "target_id": …, "target_offset": …, "echoed": …, "seen": …, "copy": …, "lag": …, "saved_at_ms": …}

All records of the source below `position` are applied; whatever is applied later lies in the target at `target_offset`
or behind it. That pair is true for ever, so an old checkpoint costs time, and never a record. By `seen` and `copy` a
later start finds out whether both sides are what they were; `lag` is for people. The configs that a topic has at the
source are in a record of their own, under its partition -1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from holdfast.client import EARLIEST, LATEST, Client
from holdfast.client.errors import Refused
from holdfast.cluster.sync_points import CHECKPOINTS
from holdfast.protocol.codes import Code
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.layout import SEQUENCE_MASK
from holdfast.record.records import Record, read_records
from holdfast.sync.carry.committed import end_of
from holdfast.sync.origin.proof import NO_COPY, NOTHING_SEEN, Copy, Seen
from holdfast.sync.state.fence import CHECKPOINT_PARTITION, FencedWriter
from holdfast.types import ClusterPartition

OF_TOPIC = -1  # In the place of a partition: what is said of its topic.
_RECORDS_MAX = 1000  # Of one batch: a record has about 250 bytes.


@dataclass(frozen=True, slots=True)
class SyncPoint:
    """How far one partition is."""

    position: int = 0
    target_offset: int = 0
    echoed: int = -1  # The highest offset of the target that was met below `position`, copied from there.
    seen: Seen = NOTHING_SEEN  # The last record that was read.
    copy: Copy = NO_COPY  # The last one that was written.


@dataclass(frozen=True, slots=True)
class Saved:
    """A point, and the topic of the target that it speaks of."""

    point: SyncPoint
    target_id: UUID
    configs: Mapping[str, str] | None = None  # Of the topic, in the record of its partition -1.
    lag: int = 0  # Offsets of the source that were left.


def make_topic(target: Client) -> None:
    """The topic of checkpoints, if it is not there yet."""
    try:
        target.create_topics({CHECKPOINTS: 1}, {"cleanup.policy": "compact"})
    except Refused as failure:
        if failure.code != Code.TOPIC_ALREADY_EXISTS:
            raise


def read_all(target: Client, source_cluster: str) -> dict[ClusterPartition, Saved]:
    """The newest checkpoint of each partition of this source."""
    found: dict[ClusterPartition, Saved] = {}
    bounds = {when: target.list_offsets({CHECKPOINT_PARTITION: when}) for when in (EARLIEST, LATEST)}
    at, end = (bounds[when][CHECKPOINT_PARTITION].offset for when in (EARLIEST, LATEST))
    while at < end:
        fetched = target.fetch({CHECKPOINT_PARTITION: at}, committed=False)[CHECKPOINT_PARTITION]
        if fetched.error is not None:
            raise fetched.error
        for header, batch in split(fetched.records):
            for record in () if header.is_control else read_records(batch):
                if record.key is not None and record.value is not None:
                    _read(json.loads(record.key), json.loads(record.value), source_cluster, found)
        if end_of(fetched, at) == at:
            break  # Compaction has left nothing up to the end.
        at = end_of(fetched, at)
    return found


def _read(
    key: Mapping[str, object], value: Mapping[str, object], cluster: str, found: dict[ClusterPartition, Saved]
) -> None:
    if key.get("from") != cluster:
        return
    home = ClusterPartition(cluster, UUID(str(key["topic_id"])), int(str(key["partition"])))
    position, target_offset, echoed = (int(str(value[name])) for name in ("position", "target_offset", "echoed"))
    point = SyncPoint(position, target_offset, echoed, _seen(value.get("seen")), _copy(value.get("copy")))
    configs = value.get("configs")
    found[home] = Saved(point, UUID(str(value["target_id"])), configs if isinstance(configs, dict) else None)


def _seen(value: object) -> Seen:
    if not isinstance(value, list):
        return NOTHING_SEEN  # An older release wrote it.
    return Seen(int(value[0]), str(value[1]))


def _copy(value: object) -> Copy:
    return Copy(int(value[0]), int(value[1])) if isinstance(value, list) else NO_COPY


def batches(
    points: Iterable[tuple[ClusterPartition, Saved]], writer: FencedWriter, now_ms: int
) -> list[tuple[bytearray, int]]:
    """Checkpoints of one topic as batches of its writer, with their counts."""
    records = [_record(home, saved, writer.topic, now_ms) for home, saved in points]
    made = []
    sequence = writer.sequence(CHECKPOINT_PARTITION)
    for start in range(0, len(records), _RECORDS_MAX):
        some = records[start : start + _RECORDS_MAX]
        id_, epoch = writer.producer
        number = (sequence + start) & SEQUENCE_MASK
        made.append((build(some, producer_id=id_, producer_epoch=epoch, base_sequence=number), len(some)))
    return made


def _record(home: ClusterPartition, saved: Saved, topic: str, now_ms: int) -> Record:
    key = {"from": home.cluster_id, "topic": topic, "topic_id": str(home.topic_id), "partition": home.partition}
    point = saved.point
    value: dict[str, object] = {"position": point.position, "target_id": str(saved.target_id)}
    value |= {"target_offset": point.target_offset, "echoed": point.echoed}
    value |= {"seen": point.seen, "copy": point.copy, "lag": saved.lag, "saved_at_ms": now_ms}
    if saved.configs is not None:
        value["configs"] = dict(saved.configs)
    return Record(json.dumps(key, sort_keys=True).encode(), json.dumps(value).encode(), now_ms)
