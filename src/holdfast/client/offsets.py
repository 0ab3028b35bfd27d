"""Offsets by time: the first, the end, or the first record from a moment on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.client.codes import check
from holdfast.client.nodes import Nodes
from holdfast.client.partition import Pair, by_topic
from holdfast.protocol.api import Key
from holdfast.protocol.messages import request_class
from holdfast.types import TopicPartition

LATEST = -1  # With read committed: the last stable offset.
EARLIEST = -2


class FoundOffset(NamedTuple):
    """An offset, and the timestamp of its record where a time was asked for; -1 and -1 where no record is so late."""

    offset: int
    timestamp: int
    leader_epoch: int


def list_offsets(nodes: Nodes, wanted: Mapping[Pair, int], *, committed: bool) -> dict[TopicPartition, FoundOffset]:
    """For each partition EARLIEST, LATEST or milliseconds since 1970."""
    request = request_class(Key.LIST_OFFSETS)
    topic = request.ListOffsetsTopic
    found: dict[TopicPartition, FoundOffset] = {}
    for connection, pairs in nodes.by_leader(wanted).items():
        topics = [
            topic(
                name=name,
                partitions=[
                    topic.ListOffsetsPartition(
                        partition_index=number, current_leader_epoch=-1, timestamp=wanted[name, number]
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(pairs).items()
        ]
        answer = connection.ask(
            Key.LIST_OFFSETS, request(replica_id=-1, isolation_level=int(committed), topics=topics, timeout_ms=30_000)
        )
        for each in answer.topics:
            for part in each.partitions:
                pair = TopicPartition(each.name, part.partition_index)
                check(f"the offsets of {pair}", part.error_code)
                found[pair] = FoundOffset(part.offset, part.timestamp, getattr(part, "leader_epoch", -1))
    return found
