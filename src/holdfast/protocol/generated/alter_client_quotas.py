"""AlterClientQuotas, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class ResponseEntityData(Message):
    __slots__ = ()
    ROWS = (
        ("entity_type", "string", (0, 1), None, None),
        ("entity_name", "string", (0, 1), (0, 1), None),
    )
    entity_type: Final[str] = field(0)
    entity_name: Final[str | None] = field(1)

    def __new__(
        cls,
        *,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> ResponseEntityData:
        return new(cls, (entity_type, entity_name))


class ResponseEntryData(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
        ("entity", "[]ResponseEntityData", (0, 1), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    entity: Final[Sequence[ResponseEntityData]] = field(2)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        entity: Sequence[ResponseEntityData] = (),
    ) -> ResponseEntryData:
        return new(cls, (error_code, error_message, entity))


class AlterClientQuotasResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 1
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("entries", "[]ResponseEntryData", (0, 1), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    entries: Final[Sequence[ResponseEntryData]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        entries: Sequence[ResponseEntryData] = (),
    ) -> AlterClientQuotasResponse:
        return new(cls, (throttle_time_ms, entries))


class RequestEntityData(Message):
    __slots__ = ()
    ROWS = (
        ("entity_type", "string", (0, 1), None, None),
        ("entity_name", "string", (0, 1), (0, 1), None),
    )
    entity_type: Final[str] = field(0)
    entity_name: Final[str | None] = field(1)

    def __new__(
        cls,
        *,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> RequestEntityData:
        return new(cls, (entity_type, entity_name))


class OpData(Message):
    __slots__ = ()
    ROWS = (
        ("key", "string", (0, 1), None, None),
        ("value", "float64", (0, 1), None, None),
        ("remove", "bool", (0, 1), None, None),
    )
    key: Final[str] = field(0)
    value: Final[float] = field(1)
    remove: Final[bool] = field(2)

    def __new__(
        cls,
        *,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> OpData:
        return new(cls, (key, value, remove))


class RequestEntryData(Message):
    __slots__ = ()
    ROWS = (
        ("entity", "[]RequestEntityData", (0, 1), None, None),
        ("ops", "[]OpData", (0, 1), None, None),
    )
    entity: Final[Sequence[RequestEntityData]] = field(0)
    ops: Final[Sequence[OpData]] = field(1)

    def __new__(
        cls,
        *,
        entity: Sequence[RequestEntityData] = (),
        ops: Sequence[OpData] = (),
    ) -> RequestEntryData:
        return new(cls, (entity, ops))


class AlterClientQuotasRequest(RequestMessage[AlterClientQuotasResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 1
    ROWS = (
        ("entries", "[]RequestEntryData", (0, 1), None, None),
        ("validate_only", "bool", (0, 1), None, None),
    )
    entries: Final[Sequence[RequestEntryData]] = field(0)
    validate_only: Final[bool] = field(1)

    def __new__(
        cls,
        *,
        entries: Sequence[RequestEntryData] = (),
        validate_only: bool = False,
    ) -> AlterClientQuotasRequest:
        return new(cls, (entries, validate_only))
