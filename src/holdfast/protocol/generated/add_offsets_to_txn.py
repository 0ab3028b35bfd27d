"""AddOffsetsToTxn, versions 0 to 4. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class AddOffsetsToTxnResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("throttle_time_ms", "int32", (0, 4), None, None),
        ("error_code", "int16", (0, 4), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> AddOffsetsToTxnResponse:
        return new(cls, (throttle_time_ms, error_code))


class AddOffsetsToTxnRequest(RequestMessage[AddOffsetsToTxnResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("transactional_id", "string", (0, 4), None, None),
        ("producer_id", "int64", (0, 4), None, None),
        ("producer_epoch", "int16", (0, 4), None, None),
        ("group_id", "string", (0, 4), None, None),
    )
    transactional_id: Final[str] = field(0)
    producer_id: Final[int] = field(1)
    producer_epoch: Final[int] = field(2)
    group_id: Final[str] = field(3)

    def __new__(
        cls,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> AddOffsetsToTxnRequest:
        return new(cls, (transactional_id, producer_id, producer_epoch, group_id))
