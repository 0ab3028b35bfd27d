"""Heartbeat: a member is still there."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.coordinator.group.requests import Caller
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse


async def handle(context: BrokerContext, message: HeartbeatRequest, request: Request) -> HeartbeatResponse:
    caller = Caller(message.member_id, message.generation_id, message.group_instance_id)
    try:
        request.rights.need(READ_GROUP, message.group_id)
        await context.groups.heartbeat(message.group_id, caller)
    except HoldfastError as failure:
        return HeartbeatResponse(error_code=group_code_of(failure))
    return HeartbeatResponse(error_code=Code.NONE)
