"""SASL, SCRAM credentials and delegation tokens: there is no authentication here, and whoever asks is told so."""

from __future__ import annotations

from collections import Counter

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

_Shaken = response_class(Key.SASL_HANDSHAKE)
_Authenticated = response_class(Key.SASL_AUTHENTICATE)
_Described = response_class(Key.DESCRIBE_USER_SCRAM_CREDENTIALS)
_Altered = response_class(Key.ALTER_USER_SCRAM_CREDENTIALS)
_NewToken = response_class(Key.CREATE_DELEGATION_TOKEN)
_RenewedToken = response_class(Key.RENEW_DELEGATION_TOKEN)
_ExpiredToken = response_class(Key.EXPIRE_DELEGATION_TOKEN)
_Tokens = response_class(Key.DESCRIBE_DELEGATION_TOKEN)
_ANYBODY = ("User", "ANONYMOUS")
_NO_SCRAM = "this broker authenticates nobody, and keeps no credentials"


async def handshake(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _Shaken(error_code=Code.ILLEGAL_SASL_STATE, mechanisms=[])


async def authenticate(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    reason = "this listener has no SASL: clients need no authentication"
    return _Authenticated(error_code=Code.ILLEGAL_SASL_STATE, error_message=reason, auth_bytes=b"")


async def describe_scram(parts: BrokerContext, message: Message, request: Request) -> Message:
    """Nobody has any; a user that is named is told so."""
    del parts
    named = Counter(each.name for each in message.users or [])
    results = []
    async for name, count in request.pace.through(named.items()):
        code, reason = Code.RESOURCE_NOT_FOUND, f"{name} has none: {_NO_SCRAM}"
        if count > 1:
            code, reason = Code.DUPLICATE_RESOURCE, f"the request names {name} twice"
        results.append(
            _Described.DescribeUserScramCredentialsResult(
                user=name, error_code=code, error_message=reason, credential_infos=[]
            )
        )
    return _Described(error_code=Code.NONE, error_message=None, results=results)


async def alter_scram(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts
    gone, wanted = {each.name for each in message.deletions}, {each.name for each in message.upsertions}
    results = []
    async for name in request.pace.through(gone | wanted):
        code = Code.SECURITY_DISABLED if name in wanted else Code.RESOURCE_NOT_FOUND
        results.append(_Altered.AlterUserScramCredentialsResult(user=name, error_code=code, error_message=_NO_SCRAM))
    return _Altered(results=results)


async def create_token(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _NewToken(
        error_code=Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type=_ANYBODY[0],
        principal_name=_ANYBODY[1],
        token_requester_principal_type=_ANYBODY[0],
        token_requester_principal_name=_ANYBODY[1],
        token_id="",
        hmac=b"",
    )


async def renew_token(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _RenewedToken(error_code=Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


async def expire_token(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _ExpiredToken(error_code=Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


async def describe_tokens(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _Tokens(error_code=Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, tokens=[])
