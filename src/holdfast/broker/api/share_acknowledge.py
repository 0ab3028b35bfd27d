"""ShareAcknowledge: a member of a share group says what has become of records. Durable before it is answered."""

from __future__ import annotations

from uuid import UUID

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.broker.share.acks import acknowledge, judged, named, split_by_leader, split_by_right
from holdfast.broker.share.moved import addresses, leader_of
from holdfast.broker.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSessionEpochWrong
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from holdfast.types import PartitionId

_RENEWS_FROM = 2


async def handle(
    context: BrokerContext, message: ShareAcknowledgeRequest, request: Request
) -> ShareAcknowledgeResponse:
    group_id, member_id, epoch = message.group_id or "", message.member_id or "", message.share_session_epoch
    renews = request.version >= _RENEWS_FROM and bool(message.is_renew_ack)
    try:
        request.rights.need(READ_GROUP, group_id)
        group = context.led_shares.find(group_id)
        if epoch == INITIAL_EPOCH:
            raise ShareSessionEpochWrong("nothing can be acknowledged before a session has begun")
        judgements = await judged(message.topics, request.pace, renews=renews)
        context.share_sessions.take(group_id, member_id, epoch, (), ())
    except HoldfastError as failure:
        return ShareAcknowledgeResponse(
            error_code=code_of(failure), error_message=str(failure), responses=[], node_endpoints=[]
        )
    judgements, hidden = split_by_right(context.topics, judgements, request.rights)
    judgements, moved = split_by_leader(context.topics, judgements)
    results = {**await acknowledge(group, member_id, judgements, request.pace), **hidden, **moved}
    if epoch == FINAL_EPOCH:
        context.led_shares.release(group_id, member_id)
    rows: dict[UUID, list[PartitionData]] = {}
    async for home in request.pace.through(dict.fromkeys(home for home, _ in named(message.topics))):
        rows.setdefault(home.topic_id, []).append(_partition(context, home, results.get(home)))
    return ShareAcknowledgeResponse(
        error_code=Code.NONE,
        acquisition_lock_timeout_ms=group.limits.lock_ms,
        responses=[
            ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=found) for topic_id, found in rows.items()
        ],
        node_endpoints=[
            NodeEndpoint(node_id=node_id, host=host, port=port)
            for node_id, host, port in addresses(context, request, results.values())
        ],
    )


def _partition(context: BrokerContext, home: PartitionId, failure: HoldfastError | None) -> PartitionData:
    leader, leader_epoch = leader_of(context, failure)
    return PartitionData(
        partition_index=home.partition,
        error_code=Code.NONE if failure is None else code_of(failure),
        error_message=None if failure is None else str(failure),
        current_leader=LeaderIdAndEpoch(leader_id=leader, leader_epoch=leader_epoch),
    )
