"""Offsets of partitions, as their leaders know them: the first, the end, from a moment on, where an epoch ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.client.codes import check
from holdfast.client.nodes import Nodes
from holdfast.client.partition import Pair
from holdfast.protocol.api import Key
from holdfast.protocol.generated.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from holdfast.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
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

    def ask(topics: dict[str, list[int]]) -> ListOffsetsRequest:
        named = [
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=each, current_leader_epoch=-1, timestamp=wanted[name, each])
                    for each in numbers
                ],
            )
            for name, numbers in topics.items()
        ]
        return ListOffsetsRequest(replica_id=-1, isolation_level=int(committed), topics=named, timeout_ms=30_000)

    found: dict[TopicPartition, FoundOffset] = {}
    for pair, part in nodes.ask_leaders(Key.LIST_OFFSETS, wanted, ask):
        check(f"the offsets of {pair}", part.error_code)
        found[pair] = FoundOffset(part.offset, part.timestamp, part.leader_epoch)
    return found


def ends_of_epochs(nodes: Nodes, wanted: Mapping[Pair, int]) -> dict[TopicPartition, int]:
    """For each partition where that leader epoch ends, or the log does; -1 if the broker does not know the epoch.

    So a reader learns whether what it has read is still there.
    """

    def ask(topics: dict[str, list[int]]) -> OffsetForLeaderEpochRequest:
        named = [
            OffsetForLeaderTopic(
                topic=name,
                partitions=[
                    OffsetForLeaderPartition(partition=each, current_leader_epoch=-1, leader_epoch=wanted[name, each])
                    for each in numbers
                ],
            )
            for name, numbers in topics.items()
        ]
        return OffsetForLeaderEpochRequest(replica_id=-1, topics=named)

    found: dict[TopicPartition, int] = {}
    for pair, part in nodes.ask_leaders(Key.OFFSET_FOR_LEADER_EPOCH, wanted, ask, ("topic", "partition")):
        check(f"the end of an epoch of {pair}", part.error_code)
        found[pair] = part.end_offset
    return found
