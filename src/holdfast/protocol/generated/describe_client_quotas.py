"""DescribeClientQuotas, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class EntityData(Message):
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
    ) -> EntityData:
        return new(cls, (entity_type, entity_name))


class ValueData(Message):
    __slots__ = ()
    ROWS = (
        ("key", "string", (0, 1), None, None),
        ("value", "float64", (0, 1), None, None),
    )
    key: Final[str] = field(0)
    value: Final[float] = field(1)

    def __new__(
        cls,
        *,
        key: str = "",
        value: float = 0.0,
    ) -> ValueData:
        return new(cls, (key, value))


class EntryData(Message):
    __slots__ = ()
    ROWS = (
        ("entity", "[]EntityData", (0, 1), None, None),
        ("values", "[]ValueData", (0, 1), None, None),
    )
    entity: Final[Sequence[EntityData]] = field(0)
    values: Final[Sequence[ValueData]] = field(1)

    def __new__(
        cls,
        *,
        entity: Sequence[EntityData] = (),
        values: Sequence[ValueData] = (),
    ) -> EntryData:
        return new(cls, (entity, values))


class DescribeClientQuotasResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 1
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
        ("entries", "[]EntryData", (0, 1), (0, 1), None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    entries: Final[Sequence[EntryData] | None] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: Sequence[EntryData] | None = (),
    ) -> DescribeClientQuotasResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, entries))


class ComponentData(Message):
    __slots__ = ()
    ROWS = (
        ("entity_type", "string", (0, 1), None, None),
        ("match_type", "int8", (0, 1), None, None),
        ("match", "string", (0, 1), (0, 1), None),
    )
    entity_type: Final[str] = field(0)
    match_type: Final[int] = field(1)
    match: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> ComponentData:
        return new(cls, (entity_type, match_type, match))


class DescribeClientQuotasRequest(RequestMessage[DescribeClientQuotasResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 1
    ROWS = (
        ("components", "[]ComponentData", (0, 1), None, None),
        ("strict", "bool", (0, 1), None, None),
    )
    components: Final[Sequence[ComponentData]] = field(0)
    strict: Final[bool] = field(1)

    def __new__(
        cls,
        *,
        components: Sequence[ComponentData] = (),
        strict: bool = False,
    ) -> DescribeClientQuotasRequest:
        return new(cls, (components, strict))
