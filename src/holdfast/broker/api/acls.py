"""DescribeAcls, CreateAcls, DeleteAcls: there is no authorizer, and whoever asks is told."""

from __future__ import annotations

from typing import Any

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

_Described = response_class(Key.DESCRIBE_ACLS)
_Created = response_class(Key.CREATE_ACLS)
_Deleted = response_class(Key.DELETE_ACLS)
_REFUSED: dict[str, Any] = {"error_code": Code.SECURITY_DISABLED, "error_message": "this broker has no authorizer"}


async def describe(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _Described(resources=[], **_REFUSED)


async def create(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts
    results = [_Created.AclCreationResult(**_REFUSED) async for _ in request.pace.through(message.creations)]
    return _Created(results=results)


async def delete(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts
    result = _Deleted.DeleteAclsFilterResult
    results = [result(matching_acls=[], **_REFUSED) async for _ in request.pace.through(message.filters)]
    return _Deleted(filter_results=results)
