"""OffsetDelete: a group forgets how far it has read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.broker.api.named_topics import check_partition
from holdfast.broker.codes import group_code_of
from holdfast.broker.request import Request
from holdfast.coordinator.requests import TopicPartition
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

if TYPE_CHECKING:
    from holdfast.broker.broker import Parts

_Answer = response_class(Key.OFFSET_DELETE)
_Topic = _Answer.OffsetDeleteResponseTopic
_Partition = _Topic.OffsetDeleteResponsePartition


async def handle(parts: Parts, message: Message, request: Request) -> Message:
    del request
    places = [TopicPartition(topic.name, each.partition_index) for topic in message.topics for each in topic.partitions]
    codes = {each: check_partition(parts, *each) for each in places}
    try:
        known = [each for each in places if not codes[each]]
        results = await parts.groups.offsets.delete(message.group_id, known)
    except HoldfastError as failure:
        return _Answer(error_code=group_code_of(failure), topics=[])
    codes |= {each: Code.NONE if result is None else group_code_of(result) for each, result in results.items()}
    topics = [
        _Topic(
            name=topic.name,
            partitions=[
                _Partition(partition_index=number, error_code=codes[TopicPartition(topic.name, number)])
                for number in (each.partition_index for each in topic.partitions)
            ],
        )
        for topic in message.topics
    ]
    return _Answer(error_code=Code.NONE, topics=topics)
