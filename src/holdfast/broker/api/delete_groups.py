"""DeleteGroups: groups without members go, with their offsets."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DELETE_GROUP
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


async def handle(context: BrokerContext, message: DeleteGroupsRequest, request: Request) -> DeleteGroupsResponse:
    results = []
    async for group_id in request.pace.through(message.groups_names):
        code = Code.NONE
        try:
            request.rights.need(DELETE_GROUP, group_id)
            await (context.shares if context.shares.has(group_id) else context.groups).delete_group(group_id)
        except HoldfastError as failure:
            code = group_code_of(failure)
        results.append(DeletableGroupResult(group_id=group_id, error_code=code))
    return DeleteGroupsResponse(results=results)
