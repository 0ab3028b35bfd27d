"""ListOffsets: the earliest, the latest, and the first offset of a time."""

from __future__ import annotations

from collections import Counter

from holdfast.broker.api.leader_epochs import check_epoch
from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_TOPIC
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED, _EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
# From which version on a client may ask for what stands in place of a time. Nothing here is tiered in Kafka's sense:
# a reader sees one log, all of which is local.
_SINCE = {_LATEST: 1, _EARLIEST: 1, _MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, _LATEST_TIERED: 9, _EARLIEST_PENDING: 11}
_NEVER = 1 << 15
_READ_COMMITTED = 1


async def handle(context: BrokerContext, message: ListOffsetsRequest, request: Request) -> ListOffsetsResponse:
    committed = request.version >= 2 and message.isolation_level == _READ_COMMITTED
    pace, topics = request.pace, []
    named: Counter[tuple[str, int]] = Counter()
    async for topic in pace.through(message.topics):
        async for each in pace.through(topic.partitions):
            named[topic.name, each.partition_index] += 1
    async for topic in pace.through(message.topics):
        answers, is_hidden = [], not request.rights.may(DESCRIBE_TOPIC, topic.name)
        async for each in pace.through(topic.partitions):
            if is_hidden:
                number, code = each.partition_index, Code.TOPIC_AUTHORIZATION_FAILED
                answers.append(ListOffsetsPartitionResponse(partition_index=number, error_code=code))
            elif named[topic.name, each.partition_index] > 1:
                number, code = each.partition_index, Code.INVALID_REQUEST
                answers.append(ListOffsetsPartitionResponse(partition_index=number, error_code=code))
            else:
                answers.append(await _answer(context, topic.name, each, request.version, committed=committed))
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


async def _answer(
    context: BrokerContext, topic: str, wanted: ListOffsetsPartition, version: int, *, committed: bool
) -> ListOffsetsPartitionResponse:
    number = wanted.partition_index
    if wanted.timestamp < 0 and version < _SINCE.get(wanted.timestamp, _NEVER):
        return ListOffsetsPartitionResponse(partition_index=number, error_code=Code.UNSUPPORTED_VERSION)
    try:
        partition = await context.topics.led(topic, number)
        refused = check_epoch(partition, wanted.current_leader_epoch)
        if refused:
            return ListOffsetsPartitionResponse(partition_index=number, error_code=refused)
        offset, timestamp = await _find(partition, wanted.timestamp, committed=committed)
    except HoldfastError as failure:
        return ListOffsetsPartitionResponse(partition_index=number, error_code=code_of(failure))
    epochs = partition.epochs
    epoch = -1 if offset < 0 else epochs.current if wanted.timestamp == _LATEST else epochs.at(offset)
    return ListOffsetsPartitionResponse(
        partition_index=number, error_code=Code.NONE, timestamp=timestamp, offset=offset, leader_epoch=epoch
    )


async def _find(partition: PartitionLog, timestamp: int, *, committed: bool) -> tuple[int, int]:
    if timestamp == _LATEST:
        return (partition.last_stable if committed else partition.marks.high_watermark), -1
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return partition.marks.log_start, -1
    if timestamp in (_LATEST_TIERED, _EARLIEST_PENDING):
        return -1, -1
    found = await (
        partition.find_max_timestamp() if timestamp == _MAX_TIMESTAMP else partition.find_timestamp(timestamp)
    )
    if found is None or (committed and found[0] >= partition.last_stable):
        return -1, -1
    return found
