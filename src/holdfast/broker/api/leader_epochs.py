"""OffsetForLeaderEpoch: where an epoch ends, so that a reader learns whether what it has read is still there."""

from __future__ import annotations

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import CLUSTER_ACTION, DESCRIBE_TOPIC
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

_UNKNOWN = (-1, -1)


def check_epoch(partition: PartitionLog, epoch: int) -> Code:
    """Why a client that believes in this leader epoch must ask for metadata first; NONE if it need not."""
    if 0 <= epoch < partition.epochs.current:
        return Code.FENCED_LEADER_EPOCH
    return Code.UNKNOWN_LEADER_EPOCH if epoch > partition.epochs.current else Code.NONE


async def handle(
    context: BrokerContext, message: OffsetForLeaderEpochRequest, request: Request
) -> OffsetForLeaderEpochResponse:
    pace, rights, topics = request.pace, request.rights, []
    sees_all = rights.sees(CLUSTER_ACTION)
    async for topic in pace.through(message.topics):
        is_hidden = not sees_all and not rights.may(DESCRIBE_TOPIC, topic.topic)
        answers = [
            _answer(context, topic.topic, each, is_hidden=is_hidden) async for each in pace.through(topic.partitions)
        ]
        topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
    return OffsetForLeaderEpochResponse(topics=topics)


def _answer(context: BrokerContext, topic: str, wanted: OffsetForLeaderPartition, *, is_hidden: bool) -> EpochEndOffset:
    epoch, end = _UNKNOWN
    if is_hidden:
        code = Code.TOPIC_AUTHORIZATION_FAILED
        return EpochEndOffset(error_code=code, partition=wanted.partition, leader_epoch=epoch, end_offset=end)
    try:
        partition = context.topics.get(topic).partition(wanted.partition)
        code = check_epoch(partition, wanted.current_leader_epoch)
        if not code:
            epoch, end = _end_of(partition, wanted.leader_epoch)
    except HoldfastError as failure:
        code = code_of(failure)
    return EpochEndOffset(error_code=code, partition=wanted.partition, leader_epoch=epoch, end_offset=end)


def _end_of(partition: PartitionLog, epoch: int) -> tuple[int, int]:
    if not 0 <= epoch <= partition.epochs.current:
        return _UNKNOWN
    # Below all that are known: it ended where the first known one begins.
    return partition.end_of_epoch(epoch) or (epoch, partition.epochs.above(epoch)[0].start)
