"""JoinGroup: be in a group's next generation. The answer comes when the generation is complete."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP
from holdfast.broker.net.request import Request
from holdfast.coordinator.group.errors import MemberIdRequired
from holdfast.coordinator.group.requests import REASON_MAX, JoinRequest, Protocol
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

_ID_FIRST = 4  # From this version on a new member gets an id, and joins again with it.
_NULL_NAME_FROM = 7  # From this version on a protocol may have no name.
_SKIPS_FROM = 9  # From this version on a leader can be told not to assign.


async def handle(context: BrokerContext, message: JoinGroupRequest, request: Request) -> JoinGroupResponse:
    wanted = JoinRequest(
        protocol_type=message.protocol_type,
        protocols=tuple(Protocol(each.name, each.metadata) for each in message.protocols),
        session_timeout_ms=message.session_timeout_ms,
        rebalance_timeout_ms=message.rebalance_timeout_ms if request.version > 0 else message.session_timeout_ms,
        member_id=message.member_id,
        instance_id=message.group_instance_id,
        client_id=request.header.client_id or "",
        client_host=f"/{request.client_host}",
        needs_known_id=request.version >= _ID_FIRST,
        can_skip_assignment=request.version >= _SKIPS_FROM,
        reason=(message.reason or "")[:REASON_MAX],
    )
    try:
        request.rights.need(READ_GROUP, message.group_id)
        joined = await context.groups.join(message.group_id, wanted)
    except MemberIdRequired as failure:
        return _refused(group_code_of(failure), failure.member_id, request.version)
    except HoldfastError as failure:
        return _refused(group_code_of(failure), message.member_id, request.version)
    return JoinGroupResponse(
        error_code=Code.NONE,
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol_name,
        leader=joined.leader_id,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=each.member_id, group_instance_id=each.instance_id, metadata=each.metadata
            )
            for each in joined.members
        ],
    )


def _refused(code: Code, member_id: str, version: int) -> JoinGroupResponse:
    name = None if version >= _NULL_NAME_FROM else ""
    return JoinGroupResponse(
        error_code=code, generation_id=-1, protocol_name=name, leader="", member_id=member_id, members=[]
    )
