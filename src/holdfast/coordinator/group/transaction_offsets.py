"""Offsets in transactions: written to a group's internal partition as part of a producer's transaction.

They are in the log at once, undecided; the transaction's end decides them as soon as it is durable, never before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.coordinator.group.durable_group import DurableGroup
from holdfast.coordinator.group.records import offset_record
from holdfast.coordinator.group.shard import Shard
from holdfast.coordinator.transaction.transaction import Producer
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.build import build
from holdfast.record.layout import SEQUENCE_MASK
from holdfast.record.marker import Marker, MarkerKind
from holdfast.types import TopicPartition


def append_offsets(
    shard: Shard,
    hosted: DurableGroup,
    producer: Producer,
    changes: Mapping[TopicPartition, CommittedOffset],
    now_ms: int,
) -> asyncio.Future[None]:
    """Append a group's offsets to a producer's transaction; done once they are durable."""
    group_id = hosted.group.id
    batch = build(
        [offset_record(group_id, partition, value, now_ms) for partition, value in changes.items()],
        transactional=True,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=_next_sequence(shard.partition, producer),
    )
    [(header, checked)] = shard.partition.check_batches(batch)
    place = shard.partition.append_one(header, checked)
    hosted.offsets.apply_pending(producer.producer_id, changes, place.base_offset)
    hosted.is_stored = True
    shard.undecided.setdefault(producer.producer_id, set()).add(group_id)
    return shard.partition.durable.reached(place.end_offset)


def _next_sequence(partition: PartitionLog, producer: Producer) -> int:
    """Clients number these commits not at all: so we do, as the partition expects it."""
    state = partition.producers.state(producer.producer_id)
    if state is None or state.epoch != producer.epoch or not state.batches:
        return 0
    return (state.batches[-1].last_sequence + 1) & SEQUENCE_MASK


def append_end(shard: Shard, marker: Marker) -> None:
    """Append the end of a transaction; it decides the offsets once it is durable."""
    place = shard.partition.append_marker(marker)
    group_ids = shard.undecided.pop(marker.producer_id, set())
    durable = shard.partition.durable.reached(place.end_offset)

    def decide(future: asyncio.Future[None]) -> None:
        if future.cancelled() or future.exception() is not None:
            return  # The logs have stopped. Whoever reads them next will know.
        commit = marker.kind == MarkerKind.COMMIT
        for group_id in group_ids:
            hosted = shard.groups.get(group_id)
            if hosted is not None:
                hosted.offsets.decide(marker.producer_id, commit=commit, end=place.base_offset)
                shard.drop_if_unused(hosted)

    durable.add_done_callback(decide)
