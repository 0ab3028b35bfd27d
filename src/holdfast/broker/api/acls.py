"""DescribeAcls, CreateAcls, DeleteAcls: there is no authorizer, and whoever asks is told."""

from __future__ import annotations

from typing import Any

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from holdfast.protocol.generated.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from holdfast.protocol.generated.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_REFUSED: dict[str, Any] = {"error_code": Code.SECURITY_DISABLED, "error_message": "this broker has no authorizer"}


async def describe(context: BrokerContext, message: DescribeAclsRequest, request: Request) -> DescribeAclsResponse:
    del context, message, request
    return DescribeAclsResponse(resources=[], **_REFUSED)


async def create(context: BrokerContext, message: CreateAclsRequest, request: Request) -> CreateAclsResponse:
    del context
    results = [AclCreationResult(**_REFUSED) async for _ in request.pace.through(message.creations)]
    return CreateAclsResponse(results=results)


async def delete(context: BrokerContext, message: DeleteAclsRequest, request: Request) -> DeleteAclsResponse:
    del context
    results = [
        DeleteAclsFilterResult(matching_acls=[], **_REFUSED) async for _ in request.pace.through(message.filters)
    ]
    return DeleteAclsResponse(filter_results=results)
