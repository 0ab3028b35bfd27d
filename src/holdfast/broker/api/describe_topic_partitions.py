"""DescribeTopicPartitions: topics with their partitions, a page at a time."""

from __future__ import annotations

from holdfast.broker.api.metadata import leader_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_TOPIC
from holdfast.broker.net.request import Request
from holdfast.broker.topics import INTERNAL, OpenTopic
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from holdfast.security.rules import ResourceType

_PARTITIONS_MAX = 2000  # Of one answer.


async def handle(
    context: BrokerContext, message: DescribeTopicPartitionsRequest, request: Request
) -> DescribeTopicPartitionsResponse:
    rights, pace = request.rights, request.pace
    first, start = (message.cursor.topic_name, message.cursor.partition_index) if message.cursor else ("", 0)
    named = {each.name async for each in pace.through(message.topics)}
    names = named or {each.topic.name async for each in pace.through(context.topics.all())}
    from_first = {each async for each in pace.through(names) if each >= first}
    left = max(1, min(message.response_partition_limit, _PARTITIONS_MAX))
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    async for name in pace.in_order(from_first):
        if not named and not rights.sees(DESCRIBE_TOPIC, name):
            continue
        begin = max(start, 0) if name == first else 0
        if left == 0:
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=_cursor(name, begin))
        if named and not rights.may(DESCRIBE_TOPIC, name):
            topics.append(_refused(name, Code.TOPIC_AUTHORIZATION_FAILED))
            continue
        found = context.topics.find(name)
        if found is None:
            topics.append(_refused(name, Code.UNKNOWN_TOPIC_OR_PARTITION))
            continue
        end = min(begin + left, len(found.logs))
        operations = rights.operations(ResourceType.TOPIC, name, asked=True)
        topics.append(_describe(context, found, begin, end, operations))
        if end < len(found.logs):
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=_cursor(name, end))
        left -= max(end - begin, 0)
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=None)


def _cursor(name: str, number: int) -> ResponseCursor:
    return ResponseCursor(topic_name=name, partition_index=number)


def _refused(name: str, code: Code) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name, partitions=[])


def _describe(
    context: BrokerContext, opened: OpenTopic, begin: int, end: int, operations: int
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=Code.NONE,
        name=opened.topic.name,
        topic_id=opened.topic.topic_id,
        is_internal=opened.topic.name in INTERNAL,
        partitions=[_partition(context, opened, number) for number in range(begin, end)],
        topic_authorized_operations=operations,
    )


def _partition(context: BrokerContext, opened: OpenTopic, number: int) -> DescribeTopicPartitionsResponsePartition:
    code, leader, epoch = leader_of(context, opened.logs[number])
    nodes = [leader] if leader >= 0 else []
    return DescribeTopicPartitionsResponsePartition(
        error_code=code,
        partition_index=number,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=nodes,
        isr_nodes=nodes,
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[],
    )
