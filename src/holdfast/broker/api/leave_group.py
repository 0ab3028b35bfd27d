"""LeaveGroup: members go, one before version 3, many since."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import pieces_of
from holdfast.coordinator.group.requests import REASON_MAX, Leaving
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

_MANY_FROM = 3
_TOGETHER = 100  # Members that leave in one step: for each that is not there a refusal is made.


async def handle(context: BrokerContext, message: LeaveGroupRequest, request: Request) -> LeaveGroupResponse:
    if not request.rights.may(READ_GROUP, message.group_id):
        return LeaveGroupResponse(error_code=Code.GROUP_AUTHORIZATION_FAILED, members=[])
    if request.version < _MANY_FROM:
        leaving = [Leaving(message.member_id)]
    else:
        members = request.pace.through(message.members)
        leaving = [
            Leaving(each.member_id, each.group_instance_id, (each.reason or "")[:REASON_MAX]) async for each in members
        ]
    codes: list[Code] = []
    for some in pieces_of(leaving, _TOGETHER):
        try:
            results = await context.groups.leave(message.group_id, some)
        except HoldfastError as failure:
            return LeaveGroupResponse(error_code=group_code_of(failure), members=[])
        await request.pace.rest()
        codes += [Code.NONE if each is None else group_code_of(each) for each in results]
        await request.pace.rest()
    if request.version < _MANY_FROM:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        error_code=Code.NONE,
        members=[
            MemberResponse(member_id=each.member_id, group_instance_id=each.instance_id, error_code=code)
            async for each, code in request.pace.through(zip(leaving, codes, strict=True))
        ],
    )
