"""ExpireDelegationToken, versions 1 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class ExpireDelegationTokenResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("error_code", "int16", (1, 2), None, None),
        ("expiry_timestamp_ms", "int64", (1, 2), None, None),
        ("throttle_time_ms", "int32", (1, 2), None, None),
    )
    error_code: Final[int] = field(0)
    expiry_timestamp_ms: Final[int] = field(1)
    throttle_time_ms: Final[int] = field(2)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
    ) -> ExpireDelegationTokenResponse:
        return new(cls, (error_code, expiry_timestamp_ms, throttle_time_ms))


class ExpireDelegationTokenRequest(RequestMessage[ExpireDelegationTokenResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("hmac", "bytes", (1, 2), None, None),
        ("expiry_time_period_ms", "int64", (1, 2), None, None),
    )
    hmac: Final[bytes] = field(0)
    expiry_time_period_ms: Final[int] = field(1)

    def __new__(
        cls,
        *,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
    ) -> ExpireDelegationTokenRequest:
        return new(cls, (hmac, expiry_time_period_ms))
