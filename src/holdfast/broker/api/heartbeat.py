"""Heartbeat: a member is still there."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.coordinator.group.requests import Caller
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

_Answer = response_class(Key.HEARTBEAT)


async def handle(parts: BrokerContext, message: Message, request: Request) -> Message:
    del request
    caller = Caller(message.member_id, message.generation_id, message.group_instance_id)
    try:
        await parts.groups.heartbeat(message.group_id, caller)
    except HoldfastError as failure:
        return _Answer(error_code=group_code_of(failure))
    return _Answer(error_code=Code.NONE)
