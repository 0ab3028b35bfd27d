"""OffsetCommit: how far a group has read. Durable before it is answered."""

from __future__ import annotations

from holdfast.broker.api.named_topics import check_partition, look_for, name_of
from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP, READ_TOPIC
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import in_pieces
from holdfast.coordinator.group.requests import Caller, OffsetToCommit
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from holdfast.types import TopicPartition

_BY_ID_FROM = 10
_EPOCHS_FROM = 9
_BEFORE_EPOCHS = {
    Code.STALE_MEMBER_EPOCH: Code.UNSUPPORTED_VERSION,  # Who knows no epochs must not speak for a member that has one.
    Code.GROUP_ID_NOT_FOUND: Code.ILLEGAL_GENERATION,
}
_RETENTION_UNTIL = 4  # Up to this version clients may say how long an offset is kept.


async def handle(context: BrokerContext, message: OffsetCommitRequest, request: Request) -> OffsetCommitResponse:
    expires_at_ms = -1
    if request.version <= _RETENTION_UNTIL and message.retention_time_ms >= 0:
        expires_at_ms = context.clock.now_ms() + message.retention_time_ms
    offsets: dict[TopicPartition, OffsetToCommit] = {}
    rows: list[list[tuple[int, TopicPartition | Code]]] = []  # For each topic: where a partition's code comes from.
    pace, rights = request.pace, request.rights
    closed = Code.NONE if rights.may(READ_GROUP, message.group_id) else Code.GROUP_AUTHORIZATION_FAILED
    by_id = request.version >= _BY_ID_FROM
    await look_for(
        context, request, lambda: ((name_of(context, each, by_id=by_id), each.partitions) for each in message.topics)
    )
    async for topic in pace.through(message.topics):
        name = name_of(context, topic, by_id=by_id)
        rows.append([])
        hidden = closed
        if not closed and name is not None and not rights.may(READ_TOPIC, name):
            hidden = Code.TOPIC_AUTHORIZATION_FAILED
        async for each in pace.through(topic.partitions):
            refused = hidden or check_partition(context, name, each.partition_index)
            place = TopicPartition(name or "", each.partition_index)
            rows[-1].append((each.partition_index, refused or place))
            if not refused:
                offsets[place] = OffsetToCommit(
                    each.committed_offset, each.committed_leader_epoch, each.committed_metadata or "", expires_at_ms
                )
    caller = Caller(message.member_id, message.generation_id_or_member_epoch, message.group_instance_id)
    codes = await _commit(context, message.group_id, caller, offsets)
    if request.version < _EPOCHS_FROM:
        codes = {each: _BEFORE_EPOCHS.get(code, code) for each, code in codes.items()}
    topics = []
    async for topic, row in pace.through(zip(message.topics, rows, strict=True)):
        partitions = [
            OffsetCommitResponsePartition(
                partition_index=number, error_code=codes[of] if isinstance(of, TopicPartition) else of
            )
            async for number, of in pace.through(row)
        ]
        topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
    return OffsetCommitResponse(topics=topics)


async def _commit(
    context: BrokerContext, group_id: str, caller: Caller, offsets: dict[TopicPartition, OffsetToCommit]
) -> dict[TopicPartition, Code]:
    found = {each.topic: context.topics.find(each.topic) for each in offsets}

    def is_there(topic: str) -> bool:
        """Still the same topic, not one made again under its name."""
        before, now = found.get(topic), context.topics.find(topic)
        return before is not None and now is not None and before.topic.topic_id == now.topic.topic_id

    codes: dict[TopicPartition, Code] = {}
    for some in in_pieces(offsets):
        try:
            results = await context.groups.offsets.commit(group_id, caller, some, is_there=is_there)
        except HoldfastError as failure:
            codes |= dict.fromkeys(some, group_code_of(failure))
        else:
            codes |= {each: Code.NONE if said is None else group_code_of(said) for each, said in results.items()}
    return codes
