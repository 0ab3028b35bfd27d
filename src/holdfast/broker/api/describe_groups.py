"""DescribeGroups: groups and their members, as operators see them."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_GROUP, NotAllowed
from holdfast.broker.net.request import Request
from holdfast.coordinator.group.answers import GroupDescription, GroupState, MemberDescription
from holdfast.coordinator.group.errors import GroupNotFound
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from holdfast.security.rules import ResourceType

_NOT_FOUND_FROM = 6  # Before this version a group that is not there is described as a dead one.


async def handle(context: BrokerContext, message: DescribeGroupsRequest, request: Request) -> DescribeGroupsResponse:
    asked = bool(message.include_authorized_operations)
    groups = []
    async for group_id in request.pace.through(message.groups):
        try:
            request.rights.need(DESCRIBE_GROUP, group_id)
            group = _described(await context.groups.describe(group_id))
        except GroupNotFound as failure:
            code = Code.GROUP_ID_NOT_FOUND if request.version >= _NOT_FOUND_FROM else Code.NONE
            group = _absent(group_id, GroupState.DEAD.value, code, str(failure))
        except NotAllowed as failure:
            groups.append(_absent(group_id, "", group_code_of(failure), str(failure)))
            continue
        except HoldfastError as failure:
            group = _absent(group_id, "", group_code_of(failure), str(failure))
        operations = request.rights.operations(ResourceType.GROUP, group_id, asked=asked)
        groups.append(group.replace(authorized_operations=operations))
    return DescribeGroupsResponse(groups=groups)


def _described(found: GroupDescription) -> DescribedGroup:
    return DescribedGroup(
        error_code=Code.NONE,
        group_id=found.group_id,
        group_state=found.state.value,
        protocol_type=found.protocol_type,
        protocol_data=found.protocol_name,
        members=[_member(each) for each in found.members],
    )


def _member(found: MemberDescription) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=found.member_id,
        group_instance_id=found.instance_id,
        client_id=found.client_id,
        client_host=found.client_host,
        member_metadata=found.metadata,
        member_assignment=found.assignment,
    )


def _absent(group_id: str, state: str, code: Code, reason: str) -> DescribedGroup:
    return DescribedGroup(
        error_code=code,
        error_message=reason,
        group_id=group_id,
        group_state=state,
        protocol_type="",
        protocol_data="",
        members=[],
    )
