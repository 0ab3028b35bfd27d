"""ShareGroupHeartbeat: a member of a share group comes, stays or goes, and hears what it shall read."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.coordinator.share.group import ShareBeat, by_topic
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

_Answer = response_class(Key.SHARE_GROUP_HEARTBEAT)


async def handle(parts: BrokerContext, message: Message, request: Request) -> Message:
    names = message.subscribed_topic_names
    wanted = ShareBeat(
        member_id=message.member_id,
        epoch=message.member_epoch,
        rack_id=message.rack_id,
        topics=None if names is None else frozenset(names),
        client_id=request.header.client_id or "",
        client_host=f"/{request.client_host}",
    )
    try:
        beaten = await parts.shares.beat(message.group_id, wanted)
    except HoldfastError as failure:
        code = group_code_of(failure)
        return _Answer(error_code=code, error_message=str(failure), member_id=message.member_id, member_epoch=0)
    assignment = None
    if beaten.assignment is not None:
        row = _Answer.Assignment.TopicPartitions
        rows = [row(topic_id=topic_id, partitions=found) for topic_id, found in by_topic(beaten.assignment).items()]
        assignment = _Answer.Assignment(topic_partitions=rows)
    return _Answer(
        error_code=Code.NONE,
        member_id=beaten.member_id,
        member_epoch=beaten.epoch,
        heartbeat_interval_ms=beaten.interval_ms,
        assignment=assignment,
    )
