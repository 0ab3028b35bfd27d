"""SaslHandshake, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class SaslHandshakeResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 32768
    ROWS = (
        ("error_code", "int16", (0, 1), None, None),
        ("mechanisms", "[]string", (0, 1), None, None),
    )
    error_code: Final[int] = field(0)
    mechanisms: Final[Sequence[str]] = field(1)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        mechanisms: Sequence[str] = (),
    ) -> SaslHandshakeResponse:
        return new(cls, (error_code, mechanisms))


class SaslHandshakeRequest(RequestMessage[SaslHandshakeResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 32768
    ROWS = (
        ("mechanism", "string", (0, 1), None, None),
    )
    mechanism: Final[str] = field(0)

    def __new__(
        cls,
        *,
        mechanism: str = "",
    ) -> SaslHandshakeRequest:
        return new(cls, (mechanism,))
