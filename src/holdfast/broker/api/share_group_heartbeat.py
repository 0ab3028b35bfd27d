"""ShareGroupHeartbeat: a member of a share group comes, stays or goes, and hears what it shall read."""

from __future__ import annotations

from holdfast.broker.api.named_topics import subscribed
from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.coordinator.share.group import ShareBeat, by_topic
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)


async def handle(
    context: BrokerContext, message: ShareGroupHeartbeatRequest, request: Request
) -> ShareGroupHeartbeatResponse:
    try:
        request.rights.need(READ_GROUP, message.group_id)
        wanted = ShareBeat(
            member_id=message.member_id,
            epoch=message.member_epoch,
            rack_id=message.rack_id,
            topics=await subscribed(message.subscribed_topic_names, request),
            client_id=request.header.client_id or "",
            client_host=f"/{request.client_host}",
        )
        beaten = await context.shares.beat(message.group_id, wanted)
    except HoldfastError as failure:
        code = group_code_of(failure)
        return ShareGroupHeartbeatResponse(
            error_code=code, error_message=str(failure), member_id=message.member_id, member_epoch=0
        )
    assignment = None
    if beaten.assignment is not None:
        rows = [
            TopicPartitions(topic_id=topic_id, partitions=found)
            for topic_id, found in by_topic(beaten.assignment).items()
        ]
        assignment = Assignment(topic_partitions=rows)
    return ShareGroupHeartbeatResponse(
        error_code=Code.NONE,
        member_id=beaten.member_id,
        member_epoch=beaten.epoch,
        heartbeat_interval_ms=beaten.interval_ms,
        assignment=assignment,
    )
