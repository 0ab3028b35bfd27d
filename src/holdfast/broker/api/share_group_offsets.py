"""DescribeShareGroupOffsets: how far share groups are in their partitions."""

from __future__ import annotations

from holdfast.broker.codes import code_of, group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.coordinator.share.durable_share import HostedShareGroup
from holdfast.coordinator.share.partition import State
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class
from holdfast.segment.names import PartitionId

_Answer = response_class(Key.DESCRIBE_SHARE_GROUP_OFFSETS)
_Group = _Answer.DescribeShareGroupOffsetsResponseGroup
_Topic = _Group.DescribeShareGroupOffsetsResponseTopic
_Partition = _Topic.DescribeShareGroupOffsetsResponsePartition


async def describe(parts: BrokerContext, message: Message, request: Request) -> Message:
    groups = []
    async for wanted in request.pace.through(message.groups):
        try:
            group = parts.shares.find(wanted.group_id)
        except HoldfastError as failure:
            code = group_code_of(failure)
            groups.append(_Group(group_id=wanted.group_id, topics=[], error_code=code, error_message=str(failure)))
            continue
        topics = []
        for name, numbers in (_all(parts, group) if wanted.topics is None else _named(wanted)).items():
            opened = parts.topics.find(name)
            topics.append(
                _Topic(
                    topic_name=name,
                    topic_id=None if opened is None else opened.topic.topic_id,
                    partitions=[_described(parts, group, name, each) async for each in request.pace.through(numbers)],
                )
            )
        groups.append(_Group(group_id=wanted.group_id, topics=topics, error_code=Code.NONE))
    return _Answer(groups=groups)


def _named(wanted: Message) -> dict[str, list[int]]:
    return {topic.topic_name: topic.partitions for topic in wanted.topics}


def _all(parts: BrokerContext, group: HostedShareGroup) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic_id, number in sorted(group.partitions):
        opened = parts.topics.find_id(topic_id)
        if opened is not None:
            found.setdefault(opened.topic.name, []).append(number)
    return found


def _described(parts: BrokerContext, group: HostedShareGroup, name: str, number: int) -> Message:
    try:
        opened = parts.topics.get(name)
        log = opened.partition(number)
    except HoldfastError as failure:
        return _Partition(
            partition_index=number, start_offset=-1, error_code=code_of(failure), error_message=str(failure)
        )
    found = group.partitions.get(PartitionId(opened.topic.topic_id, number))
    if found is None:
        return _Partition(partition_index=number, start_offset=-1, leader_epoch=0, lag=-1, error_code=Code.NONE)
    done = sum(run.end - run.first for run in found.rules.runs if run.state in (State.ACKNOWLEDGED, State.ARCHIVED))
    return _Partition(
        partition_index=number,
        start_offset=found.rules.start,
        leader_epoch=log.epochs.current,
        lag=max(log.marks.high_watermark - found.rules.start - done, 0),
        error_code=Code.NONE,
    )
