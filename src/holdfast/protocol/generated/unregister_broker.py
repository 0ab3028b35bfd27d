"""UnregisterBroker, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class UnregisterBrokerResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> UnregisterBrokerResponse:
        return new(cls, (throttle_time_ms, error_code, error_message))


class UnregisterBrokerRequest(RequestMessage[UnregisterBrokerResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("broker_id", "int32", (0, 0), None, None),
    )
    broker_id: Final[int] = field(0)

    def __new__(
        cls,
        *,
        broker_id: int = 0,
    ) -> UnregisterBrokerRequest:
        return new(cls, (broker_id,))
