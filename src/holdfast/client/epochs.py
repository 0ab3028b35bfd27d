"""Where leader epochs end, so that a reader learns whether what it has read is still there."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.client.codes import check
from holdfast.client.nodes import Nodes
from holdfast.client.partition import Pair, by_topic
from holdfast.protocol.api import Key
from holdfast.protocol.messages import request_class
from holdfast.types import TopicPartition


def ends_of_epochs(nodes: Nodes, wanted: Mapping[Pair, int]) -> dict[TopicPartition, int]:
    """For each partition where that leader epoch ends, or the log does; -1 if the broker does not know the epoch."""
    request = request_class(Key.OFFSET_FOR_LEADER_EPOCH)
    topic = request.OffsetForLeaderTopic
    found: dict[TopicPartition, int] = {}
    for connection, pairs in nodes.by_leader(wanted).items():
        topics = [
            topic(
                topic=name,
                partitions=[
                    topic.OffsetForLeaderPartition(
                        partition=number, current_leader_epoch=-1, leader_epoch=wanted[name, number]
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(pairs).items()
        ]
        answer = connection.ask(Key.OFFSET_FOR_LEADER_EPOCH, request(replica_id=-1, topics=topics))
        for each in answer.topics:
            for part in each.partitions:
                pair = TopicPartition(each.topic, part.partition)
                check(f"the end of an epoch of {pair}", part.error_code)
                found[pair] = part.end_offset
    return found
