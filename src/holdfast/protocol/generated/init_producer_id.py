"""InitProducerId, versions 0 to 5. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class InitProducerIdResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (0, 5), None, None),
        ("error_code", "int16", (0, 5), None, None),
        ("producer_id", "int64", (0, 5), None, None),
        ("producer_epoch", "int16", (0, 5), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    producer_id: Final[int] = field(2)
    producer_epoch: Final[int] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
    ) -> InitProducerIdResponse:
        return new(cls, (throttle_time_ms, error_code, producer_id, producer_epoch))


class InitProducerIdRequest(RequestMessage[InitProducerIdResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("transactional_id", "string", (0, 5), (0, 5), None),
        ("transaction_timeout_ms", "int32", (0, 5), None, None),
        ("producer_id", "int64", (3, 5), None, None),
        ("producer_epoch", "int16", (3, 5), None, None),
    )
    transactional_id: Final[str | None] = field(0)
    transaction_timeout_ms: Final[int] = field(1)
    producer_id: Final[int] = field(2)
    producer_epoch: Final[int] = field(3)

    def __new__(
        cls,
        *,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> InitProducerIdRequest:
        return new(cls, (transactional_id, transaction_timeout_ms, producer_id, producer_epoch))
