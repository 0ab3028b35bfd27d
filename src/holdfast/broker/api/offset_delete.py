"""OffsetDelete: a group forgets how far it has read."""

from __future__ import annotations

from holdfast.broker.api.named_topics import check_partition
from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DELETE_GROUP, READ_TOPIC
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from holdfast.types import TopicPartition


async def handle(context: BrokerContext, message: OffsetDeleteRequest, request: Request) -> OffsetDeleteResponse:
    pace, rights = request.pace, request.rights
    if not rights.may(DELETE_GROUP, message.group_id):
        return OffsetDeleteResponse(error_code=Code.GROUP_AUTHORIZATION_FAILED, topics=[])
    codes: dict[TopicPartition, Code] = {}
    async for topic in pace.through(message.topics):
        hidden = Code.NONE if rights.may(READ_TOPIC, topic.name) else Code.TOPIC_AUTHORIZATION_FAILED
        async for each in pace.through(topic.partitions):
            codes[TopicPartition(topic.name, each.partition_index)] = hidden or check_partition(
                context, topic.name, each.partition_index
            )
    try:
        known = [each for each, code in codes.items() if not code]
        results = await context.groups.offsets.delete(message.group_id, known)
    except HoldfastError as failure:
        return OffsetDeleteResponse(error_code=group_code_of(failure), topics=[])
    codes |= {each: Code.NONE if result is None else group_code_of(result) for each, result in results.items()}
    topics = []
    async for topic in pace.through(message.topics):
        numbers = pace.through(each.partition_index for each in topic.partitions)
        partitions = [
            OffsetDeleteResponsePartition(partition_index=number, error_code=codes[TopicPartition(topic.name, number)])
            async for number in numbers
        ]
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return OffsetDeleteResponse(error_code=Code.NONE, topics=topics)
