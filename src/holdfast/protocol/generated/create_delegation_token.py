"""CreateDelegationToken, versions 1 to 3. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class CreateDelegationTokenResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("error_code", "int16", (1, 3), None, None),
        ("principal_type", "string", (1, 3), None, None),
        ("principal_name", "string", (1, 3), None, None),
        ("token_requester_principal_type", "string", (3, 3), None, None),
        ("token_requester_principal_name", "string", (3, 3), None, None),
        ("issue_timestamp_ms", "int64", (1, 3), None, None),
        ("expiry_timestamp_ms", "int64", (1, 3), None, None),
        ("max_timestamp_ms", "int64", (1, 3), None, None),
        ("token_id", "string", (1, 3), None, None),
        ("hmac", "bytes", (1, 3), None, None),
        ("throttle_time_ms", "int32", (1, 3), None, None),
    )
    error_code: Final[int] = field(0)
    principal_type: Final[str] = field(1)
    principal_name: Final[str] = field(2)
    token_requester_principal_type: Final[str] = field(3)
    token_requester_principal_name: Final[str] = field(4)
    issue_timestamp_ms: Final[int] = field(5)
    expiry_timestamp_ms: Final[int] = field(6)
    max_timestamp_ms: Final[int] = field(7)
    token_id: Final[str] = field(8)
    hmac: Final[bytes] = field(9)
    throttle_time_ms: Final[int] = field(10)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
    ) -> CreateDelegationTokenResponse:
        return new(cls, (error_code, principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, token_id, hmac, throttle_time_ms))


class CreatableRenewers(Message):
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
    ) -> CreatableRenewers:
        return new(cls, (principal_type, principal_name))


class CreateDelegationTokenRequest(RequestMessage[CreateDelegationTokenResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("owner_principal_type", "string", (3, 3), (3, 3), None),
        ("owner_principal_name", "string", (3, 3), (3, 3), None),
        ("renewers", "[]CreatableRenewers", (1, 3), None, None),
        ("max_lifetime_ms", "int64", (1, 3), None, None),
    )
    owner_principal_type: Final[str | None] = field(0)
    owner_principal_name: Final[str | None] = field(1)
    renewers: Final[Sequence[CreatableRenewers]] = field(2)
    max_lifetime_ms: Final[int] = field(3)

    def __new__(
        cls,
        *,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: Sequence[CreatableRenewers] = (),
        max_lifetime_ms: int = 0,
    ) -> CreateDelegationTokenRequest:
        return new(cls, (owner_principal_type, owner_principal_name, renewers, max_lifetime_ms))
