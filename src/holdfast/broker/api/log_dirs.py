"""DescribeLogDirs: where data is and how much; AlterReplicaLogDirs, which has nowhere else to move it to."""

from __future__ import annotations

from collections.abc import Container

from holdfast.broker.api.named_topics import check_partition
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import ALTER_CLUSTER
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.broker.topics import OpenTopic
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    AlterReplicaLogDirTopicResult,
)
from holdfast.protocol.generated.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


async def describe(
    context: BrokerContext, message: DescribeLogDirsRequest, request: Request
) -> DescribeLogDirsResponse:
    pace = request.pace
    if message.topics is None:
        topics = [
            await _describe(each, range(len(each.logs)), pace) async for each in pace.through(context.topics.all())
        ]
    else:
        asked: dict[str, set[int]] = {}
        async for each in pace.through(message.topics):
            asked.setdefault(each.topic, set()).update(each.partitions)
        topics = [
            await _describe(opened, numbers, pace)
            async for name, numbers in pace.through(asked.items())
            if (opened := context.topics.find(name)) is not None
        ]
    shown = [each for each in topics if each.partitions]
    dirs = [
        DescribeLogDirsResult(error_code=Code.NONE, log_dir=each, topics=shown) for each in sorted(_stores(context))
    ]
    return DescribeLogDirsResponse(error_code=Code.NONE, results=dirs)


async def _describe(opened: OpenTopic, wanted: Container[int], pace: Slices) -> DescribeLogDirsTopic:
    partitions = [
        DescribeLogDirsPartition(partition_index=number, partition_size=_size(log), offset_lag=0, is_future_key=False)
        async for number, log in pace.through(enumerate(opened.logs))
        if number in wanted and isinstance(log, PartitionLog)
    ]
    return DescribeLogDirsTopic(name=opened.topic.name, partitions=partitions)


def _size(log: PartitionLog) -> int:
    return sum(each.size for each in log.manifest.segments) + log.tail.size


async def move(
    context: BrokerContext, message: AlterReplicaLogDirsRequest, request: Request
) -> AlterReplicaLogDirsResponse:
    """Where a partition is already it may be moved to; there is nowhere else."""
    topics, here = [], _stores(context)
    closed = Code.NONE if request.rights.may(ALTER_CLUSTER) else Code.CLUSTER_AUTHORIZATION_FAILED
    async for each in request.pace.through(message.dirs):
        refused = closed or (Code.NONE if each.path in here else Code.LOG_DIR_NOT_FOUND)
        named = request.pace.through(each.topics)
        topics += [await _move(context, topic, request.pace, refused) async for topic in named]
    return AlterReplicaLogDirsResponse(results=topics)


async def _move(
    context: BrokerContext, topic: AlterReplicaLogDirTopic, pace: Slices, refused: Code
) -> AlterReplicaLogDirTopicResult:
    answers = []
    async for number in pace.through(topic.partitions):
        code = refused or check_partition(context, topic.name, number)
        answers.append(AlterReplicaLogDirPartitionResult(partition_index=number, error_code=code))
    return AlterReplicaLogDirTopicResult(topic_name=topic.name, partitions=answers)


def _stores(context: BrokerContext) -> set[str]:
    return {each.ground.objects.url for each in context.logs.partitions}
