"""ConsumerGroupHeartbeat: a member of a consumer group comes, stays or goes, and hears what it shall read."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.broker.api.named_topics import subscribed
from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_TOPIC, READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.coordinator.group.consumer.member import Partitions
from holdfast.coordinator.group.consumer.requests import HeartbeatRequest
from holdfast.coordinator.group.topic_view import Sight
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
    ResponseTopicPartitions,
)
from holdfast.types import PartitionId

_OWN_ID_FROM = 1  # From this version on clients make their ids themselves.
_NO_ID = UUID(int=0)


async def handle(
    context: BrokerContext, message: ConsumerGroupHeartbeatRequest, request: Request
) -> ConsumerGroupHeartbeatResponse:
    member_id = message.member_id
    if not member_id and message.member_epoch == 0 and request.version < _OWN_ID_FROM:
        member_id = str(UUID(int=context.chance.bits(128), version=4))
    try:
        request.rights.need(READ_GROUP, message.group_id)
        sight = _sight(request) if context.gate.is_on else None
        beaten = await context.groups.beat(message.group_id, await _wanted(message, member_id, request, sight))
    except HoldfastError as failure:
        return ConsumerGroupHeartbeatResponse(
            error_code=group_code_of(failure), error_message=str(failure), member_id=member_id or None, member_epoch=0
        )
    assignment = None
    if beaten.assignment is not None:
        assignment = Assignment(topic_partitions=_by_topic(beaten.assignment))
    return ConsumerGroupHeartbeatResponse(
        error_code=Code.NONE,
        member_id=beaten.member_id,
        member_epoch=beaten.epoch,
        heartbeat_interval_ms=beaten.interval_ms,
        assignment=assignment,
    )


def _sight(request: Request) -> Sight:
    """What a pattern may match: topics that its member may not describe are none."""
    rights, session = request.rights, request.session
    return Sight((session.principal, session.host), lambda name: rights.sees(DESCRIBE_TOPIC, name))


async def _wanted(
    message: ConsumerGroupHeartbeatRequest, member_id: str, request: Request, sight: Sight | None
) -> HeartbeatRequest:
    owned = message.topic_partitions
    return HeartbeatRequest(
        member_id=member_id,
        epoch=message.member_epoch,
        instance_id=message.instance_id,
        rack_id=message.rack_id,
        rebalance_timeout_ms=message.rebalance_timeout_ms,
        topics=await subscribed(message.subscribed_topic_names, request),
        regex=message.subscribed_topic_regex,
        assignor=message.server_assignor,
        owned=None if owned is None else await _partitions(owned, request.pace),
        client_id=request.header.client_id or "",
        client_host=f"/{request.client_host}",
        sight=sight,
    )


async def _partitions(topics: Sequence[RequestTopicPartitions], pace: Slices) -> Partitions:
    return frozenset(
        {
            PartitionId(topic.topic_id or _NO_ID, number)
            async for topic in pace.through(topics)
            async for number in pace.through(topic.partitions)
        }
    )


def _by_topic(partitions: Partitions) -> list[ResponseTopicPartitions]:
    numbers: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(partitions):
        numbers.setdefault(topic_id, []).append(number)
    return [ResponseTopicPartitions(topic_id=topic_id, partitions=found) for topic_id, found in numbers.items()]
