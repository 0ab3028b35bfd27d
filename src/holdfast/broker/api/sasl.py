"""SASL on a listener without it, and delegation tokens: whoever asks is told that there is none.

Logins on a listener with SASL never come here: `broker.net.login`.
"""

from __future__ import annotations

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from holdfast.protocol.generated.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from holdfast.protocol.generated.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from holdfast.protocol.generated.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from holdfast.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from holdfast.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

_ANYBODY = ("User", "ANONYMOUS")


async def handshake(context: BrokerContext, message: SaslHandshakeRequest, request: Request) -> SaslHandshakeResponse:
    del context, message, request
    return SaslHandshakeResponse(error_code=Code.ILLEGAL_SASL_STATE, mechanisms=[])


async def authenticate(
    context: BrokerContext, message: SaslAuthenticateRequest, request: Request
) -> SaslAuthenticateResponse:
    del context, message, request
    reason = "this listener has no SASL: clients need no authentication"
    return SaslAuthenticateResponse(error_code=Code.ILLEGAL_SASL_STATE, error_message=reason, auth_bytes=b"")


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
