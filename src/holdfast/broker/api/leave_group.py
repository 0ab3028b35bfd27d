"""LeaveGroup: members go, one before version 3, many since."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import pieces_of
from holdfast.coordinator.group.requests import REASON_MAX, Leaving
from holdfast.errors import HoldfastError, Rejected
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

_MANY_FROM = 3
_TOGETHER = 100  # Members that leave in one step: for each that is not there a refusal is made.


async def handle(context: BrokerContext, message: LeaveGroupRequest, request: Request) -> LeaveGroupResponse:
    if not request.rights.may(READ_GROUP, message.group_id):
        return LeaveGroupResponse(error_code=Code.GROUP_AUTHORIZATION_FAILED, members=[])
    try:
        if request.version < _MANY_FROM:
            [result] = await context.groups.leave(message.group_id, [Leaving(message.member_id)])
            return LeaveGroupResponse(error_code=_code_of(result))
        members: list[MemberResponse] = []
        for some in pieces_of(message.members, _TOGETHER):
            leaving = [
                Leaving(each.member_id, each.group_instance_id, (each.reason or "")[:REASON_MAX]) for each in some
            ]
            results = await context.groups.leave(message.group_id, leaving)
            members += [
                MemberResponse(
                    member_id=each.member_id, group_instance_id=each.instance_id, error_code=_code_of(result)
                )
                for each, result in zip(leaving, results, strict=True)
            ]
            await request.pace.rest()
    except HoldfastError as failure:
        return LeaveGroupResponse(error_code=group_code_of(failure), members=[])
    return LeaveGroupResponse(error_code=Code.NONE, members=members)


def _code_of(result: Rejected | None) -> Code:
    return Code.NONE if result is None else group_code_of(result)
