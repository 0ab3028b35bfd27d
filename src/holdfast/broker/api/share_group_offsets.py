"""DescribeShareGroupOffsets: how far share groups are in their partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.broker.codes import code_of, group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, NotAllowed
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.coordinator.share.durable_share import DurableShareGroup
from holdfast.coordinator.share.partition import RecordState
from holdfast.errors import HoldfastError
from holdfast.log.errors import LedElsewhere
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from holdfast.types import PartitionId


async def describe(
    context: BrokerContext, message: DescribeShareGroupOffsetsRequest, request: Request
) -> DescribeShareGroupOffsetsResponse:
    groups = []
    async for wanted in request.pace.through(message.groups):
        try:
            request.rights.need(DESCRIBE_GROUP, wanted.group_id)
            group = context.shares.find(wanted.group_id)
        except HoldfastError as failure:
            code = group_code_of(failure)
            groups.append(
                DescribeShareGroupOffsetsResponseGroup(
                    group_id=wanted.group_id, topics=[], error_code=code, error_message=str(failure)
                )
            )
            continue
        topics = []
        named = _all(context, group) if wanted.topics is None else await _named(wanted.topics, request.pace)
        async for name, numbers in request.pace.through(named.items()):
            if wanted.topics is None and not request.rights.sees(DESCRIBE_TOPIC, name):
                continue
            if wanted.topics is not None and not request.rights.may(DESCRIBE_TOPIC, name):
                topics.append(await _hidden(name, numbers, request.pace))
                continue
            opened = context.topics.find(name)
            topics.append(
                DescribeShareGroupOffsetsResponseTopic(
                    topic_name=name,
                    topic_id=None if opened is None else opened.topic.topic_id,
                    partitions=[_described(context, group, name, each) async for each in request.pace.through(numbers)],
                )
            )
        groups.append(
            DescribeShareGroupOffsetsResponseGroup(group_id=wanted.group_id, topics=topics, error_code=Code.NONE)
        )
    return DescribeShareGroupOffsetsResponse(groups=groups)


async def _hidden(name: str, numbers: Sequence[int], pace: Slices) -> DescribeShareGroupOffsetsResponseTopic:
    code, said = Code.TOPIC_AUTHORIZATION_FAILED, str(NotAllowed(DESCRIBE_TOPIC, name))
    rows = [
        DescribeShareGroupOffsetsResponsePartition(
            partition_index=each, start_offset=-1, error_code=code, error_message=said
        )
        async for each in pace.through(numbers)
    ]
    return DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=None, partitions=rows)


async def _named(topics: Sequence[DescribeShareGroupOffsetsRequestTopic], pace: Slices) -> Mapping[str, Sequence[int]]:
    return {topic.topic_name: topic.partitions async for topic in pace.through(topics)}


def _all(context: BrokerContext, group: DurableShareGroup) -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = {}
    for topic_id, number in sorted(group.partitions):
        opened = context.topics.find_id(topic_id)
        if opened is not None:
            found.setdefault(opened.topic.name, []).append(number)
    return found


def _described(
    context: BrokerContext, group: DurableShareGroup, name: str, number: int
) -> DescribeShareGroupOffsetsResponsePartition:
    epoch, end = 0, -1
    try:
        opened = context.topics.get(name)
        log = opened.partition(number)
        epoch, end = log.epochs.current, log.marks.high_watermark
    except LedElsewhere as failure:
        epoch = failure.epoch  # How far it is behind is known there.
    except HoldfastError as failure:
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=number, start_offset=-1, error_code=code_of(failure), error_message=str(failure)
        )
    found = group.partitions.get(PartitionId(opened.topic.topic_id, number))
    if found is None:
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=number, start_offset=-1, leader_epoch=0, lag=-1, error_code=Code.NONE
        )
    done = sum(
        run.end - run.first for run in found.rules.runs if run.state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
    )
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=number,
        start_offset=found.rules.start,
        leader_epoch=epoch,
        lag=max(end - found.rules.start - done, 0) if min(end, found.rules.start) >= 0 else -1,
        error_code=Code.NONE,
    )
