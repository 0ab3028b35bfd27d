"""SyncGroup: the leader hands in everybody's assignment, and everybody gets theirs, byte for byte."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.coordinator.group.requests import Caller, SyncRequest
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse

_NAMES_PROTOCOL_FROM = 5


async def handle(context: BrokerContext, message: SyncGroupRequest, request: Request) -> SyncGroupResponse:
    if request.version >= _NAMES_PROTOCOL_FROM and None in (message.protocol_type, message.protocol_name):
        return SyncGroupResponse(error_code=Code.INCONSISTENT_GROUP_PROTOCOL, assignment=b"")
    wanted = SyncRequest(
        caller=Caller(message.member_id, message.generation_id, message.group_instance_id),
        protocol_type=message.protocol_type,
        protocol_name=message.protocol_name,
        assignments={each.member_id: each.assignment for each in message.assignments},
    )
    try:
        request.rights.need(READ_GROUP, message.group_id)
        synced = await context.groups.sync(message.group_id, wanted)
    except HoldfastError as failure:
        return SyncGroupResponse(error_code=group_code_of(failure), assignment=b"")
    return SyncGroupResponse(
        error_code=Code.NONE,
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol_name,
        assignment=synced.assignment,
    )
