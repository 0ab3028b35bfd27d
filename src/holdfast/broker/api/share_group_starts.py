"""AlterShareGroupOffsets and DeleteShareGroupOffsets: where share groups without members go on."""

from __future__ import annotations

import contextlib
from uuid import UUID

from holdfast.broker.codes import code_of, group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DELETE_GROUP, READ_GROUP, READ_TOPIC, NotAllowed
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError, Rejected
from holdfast.log.errors import LedElsewhere
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from holdfast.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from holdfast.types import PartitionId

_NO_ID = UUID(int=0)


async def alter(
    context: BrokerContext, message: AlterShareGroupOffsetsRequest, request: Request
) -> AlterShareGroupOffsetsResponse:
    rights, starts = request.rights, dict[PartitionId, int]()
    if not rights.may(READ_GROUP, message.group_id):
        refusal = NotAllowed(READ_GROUP, message.group_id)
        return AlterShareGroupOffsetsResponse(
            error_code=group_code_of(refusal), error_message=str(refusal), responses=[]
        )
    topics = []
    async for topic in request.pace.through(message.topics):
        is_hidden = not rights.may(READ_TOPIC, topic.topic_name)
        opened = None if is_hidden else context.topics.find(topic.topic_name)
        rows = []
        async for each in request.pace.through(topic.partitions):
            number, failure = each.partition_index, None
            try:
                if is_hidden:
                    raise NotAllowed(READ_TOPIC, topic.topic_name)
                home, start = _wanted(context, topic.topic_name, each)
                if starts.setdefault(home, start) != start:
                    raise Rejected("the request names this partition twice")
            except HoldfastError as refused:
                failure = refused
            rows.append(
                AlterShareGroupOffsetsResponsePartition(
                    partition_index=number, error_code=_code(failure), error_message=_say(failure)
                )
            )
        topic_id = _NO_ID if opened is None else opened.topic.topic_id
        topics.append(
            AlterShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, topic_id=topic_id, partitions=rows)
        )
    try:
        await context.shares.alter_offsets(message.group_id, starts)
    except HoldfastError as failure:
        return AlterShareGroupOffsetsResponse(
            error_code=group_code_of(failure), error_message=str(failure), responses=[]
        )
    return AlterShareGroupOffsetsResponse(error_code=Code.NONE, responses=topics)


def _wanted(
    context: BrokerContext, name: str, wanted: AlterShareGroupOffsetsRequestPartition
) -> tuple[PartitionId, int]:
    opened = context.topics.get(name)
    with contextlib.suppress(LedElsewhere):
        opened.partition(wanted.partition_index)
    if wanted.start_offset < 0:
        raise Rejected(f"there is no offset {wanted.start_offset}")
    return PartitionId(opened.topic.topic_id, wanted.partition_index), wanted.start_offset


async def delete(
    context: BrokerContext, message: DeleteShareGroupOffsetsRequest, request: Request
) -> DeleteShareGroupOffsetsResponse:
    rights = request.rights
    try:
        rights.need(DELETE_GROUP, message.group_id)
        group = context.shares.find_empty(message.group_id)
        known = {home.topic_id for home in group.partitions}
        homes: list[PartitionId] = []
        topics = []
        async for topic in request.pace.through(message.topics):
            is_hidden = not rights.may(READ_TOPIC, topic.topic_name)
            opened = None if is_hidden else context.topics.find(topic.topic_name)
            code: Code = Code.UNKNOWN_TOPIC_OR_PARTITION
            said: str | None = f"there is no topic {topic.topic_name}"
            if is_hidden:
                code, said = Code.TOPIC_AUTHORIZATION_FAILED, str(NotAllowed(READ_TOPIC, topic.topic_name))
            elif opened is not None and opened.topic.topic_id not in known:
                said = f"the group knows nothing of topic {topic.topic_name}"
            elif opened is not None:
                code, said = Code.NONE, None
                homes += [PartitionId(opened.topic.topic_id, number) for number in range(opened.topic.partitions)]
            topic_id = _NO_ID if opened is None else opened.topic.topic_id
            row = DeleteShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name, topic_id=topic_id, error_code=code, error_message=said
            )
            topics.append(row)
        await context.shares.delete_offsets(message.group_id, homes)
    except HoldfastError as failure:
        return DeleteShareGroupOffsetsResponse(
            error_code=group_code_of(failure), error_message=str(failure), responses=[]
        )
    return DeleteShareGroupOffsetsResponse(error_code=Code.NONE, responses=topics)


def _code(failure: HoldfastError | None) -> Code:
    return Code.NONE if failure is None else code_of(failure)


def _say(failure: HoldfastError | None) -> str | None:
    return None if failure is None else str(failure)
