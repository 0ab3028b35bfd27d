"""SASL, SCRAM credentials and delegation tokens: there is no authentication here, and whoever asks is told so."""

from __future__ import annotations

from collections import Counter

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from holdfast.protocol.generated.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from holdfast.protocol.generated.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from holdfast.protocol.generated.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from holdfast.protocol.generated.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from holdfast.protocol.generated.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from holdfast.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from holdfast.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

_ANYBODY = ("User", "ANONYMOUS")
_NO_SCRAM = "this broker authenticates nobody, and keeps no credentials"


async def handshake(context: BrokerContext, message: SaslHandshakeRequest, request: Request) -> SaslHandshakeResponse:
    del context, message, request
    return SaslHandshakeResponse(error_code=Code.ILLEGAL_SASL_STATE, mechanisms=[])


async def authenticate(
    context: BrokerContext, message: SaslAuthenticateRequest, request: Request
) -> SaslAuthenticateResponse:
    del context, message, request
    reason = "this listener has no SASL: clients need no authentication"
    return SaslAuthenticateResponse(error_code=Code.ILLEGAL_SASL_STATE, error_message=reason, auth_bytes=b"")


async def describe_scram(
    context: BrokerContext, message: DescribeUserScramCredentialsRequest, request: Request
) -> DescribeUserScramCredentialsResponse:
    """Nobody has any; a user that is named is told so."""
    del context
    named = Counter(each.name for each in message.users or [])
    results = []
    async for name, count in request.pace.through(named.items()):
        code, reason = Code.RESOURCE_NOT_FOUND, f"{name} has none: {_NO_SCRAM}"
        if count > 1:
            code, reason = Code.DUPLICATE_RESOURCE, f"the request names {name} twice"
        results.append(
            DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=reason, credential_infos=[])
        )
    return DescribeUserScramCredentialsResponse(error_code=Code.NONE, error_message=None, results=results)


async def alter_scram(
    context: BrokerContext, message: AlterUserScramCredentialsRequest, request: Request
) -> AlterUserScramCredentialsResponse:
    del context
    gone, wanted = {each.name for each in message.deletions}, {each.name for each in message.upsertions}
    results = []
    async for name in request.pace.through(gone | wanted):
        code = Code.SECURITY_DISABLED if name in wanted else Code.RESOURCE_NOT_FOUND
        results.append(AlterUserScramCredentialsResult(user=name, error_code=code, error_message=_NO_SCRAM))
    return AlterUserScramCredentialsResponse(results=results)


async def create_token(
    context: BrokerContext, message: CreateDelegationTokenRequest, request: Request
) -> CreateDelegationTokenResponse:
    del context, message, request
    return CreateDelegationTokenResponse(
        error_code=Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type=_ANYBODY[0],
        principal_name=_ANYBODY[1],
        token_requester_principal_type=_ANYBODY[0],
        token_requester_principal_name=_ANYBODY[1],
        token_id="",
        hmac=b"",
    )


async def renew_token(
    context: BrokerContext, message: RenewDelegationTokenRequest, request: Request
) -> RenewDelegationTokenResponse:
    del context, message, request
    return RenewDelegationTokenResponse(error_code=Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


async def expire_token(
    context: BrokerContext, message: ExpireDelegationTokenRequest, request: Request
) -> ExpireDelegationTokenResponse:
    del context, message, request
    return ExpireDelegationTokenResponse(error_code=Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


async def describe_tokens(
    context: BrokerContext, message: DescribeDelegationTokenRequest, request: Request
) -> DescribeDelegationTokenResponse:
    del context, message, request
    return DescribeDelegationTokenResponse(error_code=Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, tokens=[])
