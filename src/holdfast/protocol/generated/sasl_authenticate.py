"""SaslAuthenticate, versions 0 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class SaslAuthenticateResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("error_code", "int16", (0, 2), None, None),
        ("error_message", "string", (0, 2), (0, 2), None),
        ("auth_bytes", "bytes", (0, 2), None, None),
        ("session_lifetime_ms", "int64", (1, 2), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    auth_bytes: Final[bytes] = field(2)
    session_lifetime_ms: Final[int] = field(3)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> SaslAuthenticateResponse:
        return new(cls, (error_code, error_message, auth_bytes, session_lifetime_ms))


class SaslAuthenticateRequest(RequestMessage[SaslAuthenticateResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("auth_bytes", "bytes", (0, 2), None, None),
    )
    auth_bytes: Final[bytes] = field(0)

    def __new__(
        cls,
        *,
        auth_bytes: bytes = b"",
    ) -> SaslAuthenticateRequest:
        return new(cls, (auth_bytes,))
