"""DescribeDelegationToken, versions 1 to 3. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class DescribedDelegationTokenRenewer(Message):
    __slots__ = ()
    ROWS = (
        ("principal_type", "string", (1, 3), None, None),
        ("principal_name", "string", (1, 3), None, None),
    )
    principal_type: Final[str] = field(0)
    principal_name: Final[str] = field(1)

    def __new__(
        cls,
        *,
        principal_type: str = "",
        principal_name: str = "",
    ) -> DescribedDelegationTokenRenewer:
        return new(cls, (principal_type, principal_name))


class DescribedDelegationToken(Message):
    __slots__ = ()
    ROWS = (
        ("principal_type", "string", (1, 3), None, None),
        ("principal_name", "string", (1, 3), None, None),
        ("token_requester_principal_type", "string", (3, 3), None, None),
        ("token_requester_principal_name", "string", (3, 3), None, None),
        ("issue_timestamp", "int64", (1, 3), None, None),
        ("expiry_timestamp", "int64", (1, 3), None, None),
        ("max_timestamp", "int64", (1, 3), None, None),
        ("token_id", "string", (1, 3), None, None),
        ("hmac", "bytes", (1, 3), None, None),
        ("renewers", "[]DescribedDelegationTokenRenewer", (1, 3), None, None),
    )
    principal_type: Final[str] = field(0)
    principal_name: Final[str] = field(1)
    token_requester_principal_type: Final[str] = field(2)
    token_requester_principal_name: Final[str] = field(3)
    issue_timestamp: Final[int] = field(4)
    expiry_timestamp: Final[int] = field(5)
    max_timestamp: Final[int] = field(6)
    token_id: Final[str] = field(7)
    hmac: Final[bytes] = field(8)
    renewers: Final[Sequence[DescribedDelegationTokenRenewer]] = field(9)

    def __new__(
        cls,
        *,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: Sequence[DescribedDelegationTokenRenewer] = (),
    ) -> DescribedDelegationToken:
        return new(cls, (principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers))


class DescribeDelegationTokenResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("error_code", "int16", (1, 3), None, None),
        ("tokens", "[]DescribedDelegationToken", (1, 3), None, None),
        ("throttle_time_ms", "int32", (1, 3), None, None),
    )
    error_code: Final[int] = field(0)
    tokens: Final[Sequence[DescribedDelegationToken]] = field(1)
    throttle_time_ms: Final[int] = field(2)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        tokens: Sequence[DescribedDelegationToken] = (),
        throttle_time_ms: int = 0,
    ) -> DescribeDelegationTokenResponse:
        return new(cls, (error_code, tokens, throttle_time_ms))


class DescribeDelegationTokenOwner(Message):
    __slots__ = ()
    ROWS = (
        ("principal_type", "string", (1, 3), None, None),
        ("principal_name", "string", (1, 3), None, None),
    )
    principal_type: Final[str] = field(0)
    principal_name: Final[str] = field(1)

    def __new__(
        cls,
        *,
        principal_type: str = "",
        principal_name: str = "",
    ) -> DescribeDelegationTokenOwner:
        return new(cls, (principal_type, principal_name))


class DescribeDelegationTokenRequest(RequestMessage[DescribeDelegationTokenResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("owners", "[]DescribeDelegationTokenOwner", (1, 3), (1, 3), None),
    )
    owners: Final[Sequence[DescribeDelegationTokenOwner] | None] = field(0)

    def __new__(
        cls,
        *,
        owners: Sequence[DescribeDelegationTokenOwner] | None = (),
    ) -> DescribeDelegationTokenRequest:
        return new(cls, (owners,))
