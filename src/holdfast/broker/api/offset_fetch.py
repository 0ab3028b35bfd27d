"""OffsetFetch: how far groups have read. One group before version 8, many since; topics by id since version 10."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from holdfast.broker.api.named_topics import name_of
from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import PIECE_COUNT, Pace, pieces_of
from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.coordinator.group.errors import OffsetUndecided
from holdfast.coordinator.group.requests import Caller
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class
from holdfast.types import TopicPartition

_Answer = response_class(Key.OFFSET_FETCH)
_Topic = _Answer.OffsetFetchResponseTopic
_Group = _Answer.OffsetFetchResponseGroup
_GroupTopic = _Group.OffsetFetchResponseTopics
_GROUP_CODE_FROM = 2  # Before this version a failure can be told only partition by partition.
_MANY_FROM = 8
_BY_ID_FROM = 10

Found: TypeAlias = CommittedOffset | OffsetUndecided | None
Make: TypeAlias = Callable[[int, Found, Code], Message]


async def handle(parts: BrokerContext, message: Message, request: Request) -> Message:
    stable = bool(message.require_stable)
    if request.version >= _MANY_FROM:
        by_id = request.version >= _BY_ID_FROM
        pace, wanted = request.pace, request.pace.through(message.groups)
        groups = [await _answer_group(parts, each, pace, stable=stable, by_id=by_id) async for each in wanted]
        return _Answer(groups=groups)
    try:
        topics = await _find(
            parts, request.pace, message.group_id, message.topics, _Topic, _old_partition, stable=stable
        )
    except HoldfastError as failure:
        code = group_code_of(failure)
        if request.version >= _GROUP_CODE_FROM:
            return _Answer(error_code=code, topics=[])
        return _Answer(topics=[_refused(topic, code) async for topic in request.pace.through(message.topics)])
    return _Answer(error_code=Code.NONE, topics=topics)


async def _answer_group(parts: BrokerContext, wanted: Message, pace: Pace, *, stable: bool, by_id: bool) -> Message:
    try:
        topics = await _find(
            parts,
            pace,
            wanted.group_id,
            wanted.topics,
            _GroupTopic,
            _new_partition,
            _caller(wanted),
            stable=stable,
            by_id=by_id,
        )
    except HoldfastError as failure:
        return _Group(group_id=wanted.group_id, topics=[], error_code=group_code_of(failure))
    return _Group(group_id=wanted.group_id, topics=topics, error_code=Code.NONE)


def _caller(wanted: Message) -> Caller:
    """Who says to be a member. Before version 9 nobody does, and the fields have these values."""
    return Caller(wanted.member_id or "", wanted.member_epoch)


async def _find(
    parts: BrokerContext,
    pace: Pace,
    group_id: str,
    wanted: Sequence[Message] | None,
    answer: Any,
    make: Make,
    caller: Caller = Caller(),  # noqa: B008 (it cannot change)
    *,
    stable: bool,
    by_id: bool = False,
) -> list[Message]:
    if wanted is None:
        everything = await parts.groups.offsets.fetch(group_id, None, require_stable=stable, caller=caller)
        return await _all_topics(parts, pace, everything, answer, make, by_id=by_id)
    names = [name_of(parts, topic, by_id=by_id) async for topic in pace.through(wanted)]
    topics = []
    async for name, topic in pace.through(zip(names, wanted, strict=True)):
        found: dict[TopicPartition, Found] = {}
        for numbers in pieces_of(topic.partition_indexes if name is not None else ()):
            places = [TopicPartition(name or "", number) for number in numbers]
            found |= await parts.groups.offsets.fetch(group_id, places, require_stable=stable, caller=caller)
            if len(numbers) == PIECE_COUNT:
                await pace.rest()
        unknown = Code.UNKNOWN_TOPIC_ID if name is None else Code.NONE
        partitions = [
            make(number, found.get(TopicPartition(name or "", number)), unknown)
            async for number in pace.through(topic.partition_indexes)
        ]
        topics.append(_named(answer, topic.name, topic.topic_id if by_id else None, partitions))
    return topics


async def _all_topics(
    parts: BrokerContext, pace: Pace, everything: dict[TopicPartition, Found], answer: Any, make: Make, *, by_id: bool
) -> list[Message]:
    """All that a group has committed; a deleted topic has no id to be named by, and is left out."""
    by_name: dict[str, list[Message]] = {}
    async for (name, number), found in pace.through(everything.items()):
        by_name.setdefault(name, []).append(make(number, found, Code.NONE))
    topics = []
    for name, partitions in by_name.items():
        opened = parts.topics.find(name)
        if opened is not None or not by_id:
            topics.append(_named(answer, name, opened.topic.topic_id if opened and by_id else None, partitions))
    return topics


def _named(answer: Any, name: str, topic_id: object, partitions: list[Message]) -> Message:
    if answer is _Topic:
        return _Topic(name=name, partitions=partitions)
    return _GroupTopic(name=name, topic_id=topic_id, partitions=partitions)


def _refused(topic: Message, code: Code) -> Message:
    return _Topic(name=topic.name, partitions=[_old_partition(each, None, code) for each in topic.partition_indexes])


def _old_partition(number: int, found: Found, code: Code) -> Message:
    return _Topic.OffsetFetchResponsePartition(**_fields(number, found, code))


def _new_partition(number: int, found: Found, code: Code) -> Message:
    return _GroupTopic.OffsetFetchResponsePartitions(**_fields(number, found, code))


def _fields(number: int, found: Found, code: Code) -> dict[str, Any]:
    if isinstance(found, OffsetUndecided):
        code, found = group_code_of(found), None
    committed = found or CommittedOffset(-1)
    return {
        "partition_index": number,
        "committed_offset": committed.offset,
        "committed_leader_epoch": committed.leader_epoch,
        "metadata": committed.metadata,
        "error_code": code,
    }
