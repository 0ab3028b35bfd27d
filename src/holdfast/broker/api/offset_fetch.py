"""OffsetFetch: how far groups have read. One group before version 8, many since; topics by id since version 10."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from holdfast.broker.api.named_topics import name_of
from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import PIECE_COUNT, pieces_of
from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.coordinator.group.errors import OffsetUndecided
from holdfast.coordinator.group.requests import Caller
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from holdfast.types import TopicPartition

_GROUP_CODE_FROM = 2  # Before this version a failure can be told only partition by partition.
_MANY_FROM = 8
_BY_ID_FROM = 10
_MOVED = (Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE)

Found: TypeAlias = CommittedOffset | OffsetUndecided | None
Wanted: TypeAlias = OffsetFetchRequestTopic | OffsetFetchRequestTopics
P = TypeVar("P")  # A partition of an answer,
T = TypeVar("T")  # and a topic: there is a class of each for one group, and one for many.
Make: TypeAlias = Callable[[int, Found, Code], P]
Name: TypeAlias = Callable[[str, UUID | None, list[P]], T]


async def handle(context: BrokerContext, message: OffsetFetchRequest, request: Request) -> OffsetFetchResponse:
    stable = bool(message.require_stable)
    if request.version >= _MANY_FROM:
        by_id = request.version >= _BY_ID_FROM
        wanted = request.pace.through(message.groups)
        groups = [await _answer_group(context, each, request, stable=stable, by_id=by_id) async for each in wanted]
        return OffsetFetchResponse(groups=groups)
    try:
        topics = await _find(
            context,
            request,
            message.group_id,
            message.topics,
            _old_topic,
            _old_partition,
            stable=stable,
        )
    except HoldfastError as failure:
        code = group_code_of(failure)
        if request.version >= _GROUP_CODE_FROM:
            return OffsetFetchResponse(error_code=code, topics=[])
        return OffsetFetchResponse(
            topics=[_refused(topic, code) async for topic in request.pace.through(message.topics or ())]
        )
    return OffsetFetchResponse(error_code=Code.NONE, topics=topics)


async def _answer_group(
    context: BrokerContext, wanted: OffsetFetchRequestGroup, request: Request, *, stable: bool, by_id: bool
) -> OffsetFetchResponseGroup:
    caller = _caller(wanted)
    try:
        topics = await _find(
            context,
            request,
            wanted.group_id,
            wanted.topics,
            _new_topic,
            _new_partition,
            caller,
            stable=stable,
            by_id=by_id,
        )
    except HoldfastError as failure:
        code = group_code_of(failure)
        if caller.generation >= 0 and code in _MOVED:
            # librdkafka asks once, and stands still for ever after these. A member's heartbeats tell it who to ask.
            code = Code.COORDINATOR_LOAD_IN_PROGRESS
        return OffsetFetchResponseGroup(group_id=wanted.group_id, topics=[], error_code=code)
    return OffsetFetchResponseGroup(group_id=wanted.group_id, topics=topics, error_code=Code.NONE)


def _caller(wanted: OffsetFetchRequestGroup) -> Caller:
    """Who says to be a member. Before version 9 nobody does, and the fields have these values."""
    return Caller(wanted.member_id or "", wanted.member_epoch)


async def _find(
    context: BrokerContext,
    request: Request,
    group_id: str,
    wanted: Sequence[Wanted] | None,
    make_topic: Name[P, T],
    make: Make[P],
    caller: Caller = Caller(),  # noqa: B008 (it cannot change)
    *,
    stable: bool,
    by_id: bool = False,
) -> list[T]:
    pace, rights = request.pace, request.rights
    rights.need(DESCRIBE_GROUP, group_id)
    if wanted is None:
        everything = await context.groups.offsets.fetch(group_id, None, require_stable=stable, caller=caller)
        return await _all_topics(context, request, everything, make_topic, make, by_id=by_id)
    names = [_name_of(context, topic, by_id=by_id) async for topic in pace.through(wanted)]
    topics = []
    async for name, topic in pace.through(zip(names, wanted, strict=True)):
        found: dict[TopicPartition, Found] = {}
        code = Code.UNKNOWN_TOPIC_ID if name is None else Code.NONE
        if name is not None and not rights.may(DESCRIBE_TOPIC, name):
            code = Code.TOPIC_AUTHORIZATION_FAILED
        for numbers in pieces_of(() if code else topic.partition_indexes):
            places = [TopicPartition(name or "", number) for number in numbers]
            found |= await context.groups.offsets.fetch(group_id, places, require_stable=stable, caller=caller)
            if len(numbers) == PIECE_COUNT:
                await pace.rest()
        partitions = [
            make(number, found.get(TopicPartition(name or "", number)), code)
            async for number in pace.through(topic.partition_indexes)
        ]
        topics.append(make_topic(topic.name, _id_of(topic) if by_id else None, partitions))
    return topics


async def _all_topics(
    context: BrokerContext,
    request: Request,
    everything: dict[TopicPartition, Found],
    make_topic: Name[P, T],
    make: Make[P],
    *,
    by_id: bool,
) -> list[T]:
    """All that a group has committed; a deleted topic has no id to be named by, and is left out, as what is hidden."""
    by_name: dict[str, list[P]] = {}
    async for (name, number), found in request.pace.through(everything.items()):
        by_name.setdefault(name, []).append(make(number, found, Code.NONE))
    topics = []
    for name, partitions in by_name.items():
        if not request.rights.sees(DESCRIBE_TOPIC, name):
            continue
        opened = context.topics.find(name)
        if opened is not None or not by_id:
            topics.append(make_topic(name, opened.topic.topic_id if opened and by_id else None, partitions))
    return topics


def _name_of(context: BrokerContext, topic: Wanted, *, by_id: bool) -> str | None:
    return name_of(context, topic, by_id=by_id) if isinstance(topic, OffsetFetchRequestTopics) else topic.name


def _id_of(topic: Wanted) -> UUID | None:
    return topic.topic_id if isinstance(topic, OffsetFetchRequestTopics) else None


def _old_topic(
    name: str, topic_id: UUID | None, partitions: list[OffsetFetchResponsePartition]
) -> OffsetFetchResponseTopic:
    del topic_id
    return OffsetFetchResponseTopic(name=name, partitions=partitions)


def _new_topic(
    name: str, topic_id: UUID | None, partitions: list[OffsetFetchResponsePartitions]
) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=partitions)


def _refused(topic: OffsetFetchRequestTopic, code: Code) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=topic.name, partitions=[_old_partition(each, None, code) for each in topic.partition_indexes]
    )


def _old_partition(number: int, found: Found, code: Code) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(**_fields(number, found, code))


def _new_partition(number: int, found: Found, code: Code) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(**_fields(number, found, code))


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
