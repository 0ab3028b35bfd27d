"""Records that the target refuses, in a topic of their own there: with their mark, and with why.

One partition for all. The writers of all topics write to it, each with its own numbers; what an earlier sync has set
aside is known by the marks, as everywhere, so nothing is set aside twice.
"""

from __future__ import annotations

from holdfast.client import Client
from holdfast.client.errors import Refused
from holdfast.protocol.codes import Code
from holdfast.record.build import build
from holdfast.record.records import read_records
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.carry.piece import SyncPiece
from holdfast.sync.errors import RecordRefused
from holdfast.sync.origin.scan import bounds, find_applied
from holdfast.types import TopicPartition

WHY_KEY = "holdfast.refused"  # The header that says why.

_CONFIGS = {"max.message.bytes": str(100 << 20), "retention.ms": "-1", "cleanup.policy": "delete"}


def make_topic(target: Client, name: str) -> None:
    """The topic, if it is not there yet: it keeps what it gets, and takes what others do not."""
    try:
        target.create_topics({name: 1}, _CONFIGS)
    except Refused as failure:
        if failure.code != Code.TOPIC_ALREADY_EXISTS:
            raise


def set_aside(lane: CopyLane, piece: SyncPiece, where: TopicPartition, target: Client) -> None:
    """Write one record there, unless it is there."""
    assert piece.refused is not None
    offset = int(piece.offsets[0])
    with lane.writer.lock:  # The lanes of one topic are several threads', and have one writer.
        if lane.aside is None:
            lane.aside = find_applied(target, where, lane.home, *bounds(target, where)).of
        if offset <= lane.aside:
            return
        [record] = read_records(memoryview(piece.batch))
        why = (WHY_KEY, str(piece.refused).encode())
        producer = lane.writer.producer
        batch = build(
            [record._replace(headers=(*record.headers, why), offset=None)],
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=lane.writer.sequence(where),
        )
        try:
            target.produce({where: batch})
        except Refused as failure:
            told = f"is refused by the target, and topic {where.topic} does not take it either: {failure.reason}"
            raise RecordRefused(str(lane.where), offset, told) from failure
        lane.writer.wrote(where, 1)
    lane.aside = offset
    lane.counts.set_aside += 1
