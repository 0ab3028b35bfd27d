"""CreateTopics, versions 2 to 7. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class CreatableTopicConfigs(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (5, 7), None, None),
        ("value", "string", (5, 7), (5, 7), None),
        ("read_only", "bool", (5, 7), None, None),
        ("config_source", "int8", (5, 7), None, None),
        ("is_sensitive", "bool", (5, 7), None, None),
    )
    name: Final[str] = field(0)
    value: Final[str | None] = field(1)
    read_only: Final[bool] = field(2)
    config_source: Final[int] = field(3)
    is_sensitive: Final[bool] = field(4)

    def __new__(
        cls,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> CreatableTopicConfigs:
        return new(cls, (name, value, read_only, config_source, is_sensitive))


class CreatableTopicResult(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (2, 7), None, None),
        ("topic_id", "uuid", (7, 7), None, None),
        ("error_code", "int16", (2, 7), None, None),
        ("error_message", "string", (2, 7), (2, 7), None),
        ("topic_config_error_code", "int16", (5, 7), None, 0),
        ("num_partitions", "int32", (5, 7), None, None),
        ("replication_factor", "int16", (5, 7), None, None),
        ("configs", "[]CreatableTopicConfigs", (5, 7), (5, 7), None),
    )
    name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    error_code: Final[int] = field(2)
    error_message: Final[str | None] = field(3)
    topic_config_error_code: Final[int] = field(4)
    num_partitions: Final[int] = field(5)
    replication_factor: Final[int] = field(6)
    configs: Final[Sequence[CreatableTopicConfigs] | None] = field(7)

    def __new__(
        cls,
        *,
        name: str = "",
        topic_id: UUID | None = None,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: Sequence[CreatableTopicConfigs] | None = (),
    ) -> CreatableTopicResult:
        return new(cls, (name, topic_id, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs))


class CreateTopicsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 5
    ROWS = (
        ("throttle_time_ms", "int32", (2, 7), None, None),
        ("topics", "[]CreatableTopicResult", (2, 7), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[CreatableTopicResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[CreatableTopicResult] = (),
    ) -> CreateTopicsResponse:
        return new(cls, (throttle_time_ms, topics))


class CreatableReplicaAssignment(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (2, 7), None, None),
        ("broker_ids", "[]int32", (2, 7), None, None),
    )
    partition_index: Final[int] = field(0)
    broker_ids: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        broker_ids: Sequence[int] = (),
    ) -> CreatableReplicaAssignment:
        return new(cls, (partition_index, broker_ids))


class CreatableTopicConfig(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (2, 7), None, None),
        ("value", "string", (2, 7), (2, 7), None),
    )
    name: Final[str] = field(0)
    value: Final[str | None] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        value: str | None = "",
    ) -> CreatableTopicConfig:
        return new(cls, (name, value))


class CreatableTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (2, 7), None, None),
        ("num_partitions", "int32", (2, 7), None, None),
        ("replication_factor", "int16", (2, 7), None, None),
        ("assignments", "[]CreatableReplicaAssignment", (2, 7), None, None),
        ("configs", "[]CreatableTopicConfig", (2, 7), None, None),
    )
    name: Final[str] = field(0)
    num_partitions: Final[int] = field(1)
    replication_factor: Final[int] = field(2)
    assignments: Final[Sequence[CreatableReplicaAssignment]] = field(3)
    configs: Final[Sequence[CreatableTopicConfig]] = field(4)

    def __new__(
        cls,
        *,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: Sequence[CreatableReplicaAssignment] = (),
        configs: Sequence[CreatableTopicConfig] = (),
    ) -> CreatableTopic:
        return new(cls, (name, num_partitions, replication_factor, assignments, configs))


class CreateTopicsRequest(RequestMessage[CreateTopicsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 5
    ROWS = (
        ("topics", "[]CreatableTopic", (2, 7), None, None),
        ("timeout_ms", "int32", (2, 7), None, None),
        ("validate_only", "bool", (2, 7), None, None),
    )
    topics: Final[Sequence[CreatableTopic]] = field(0)
    timeout_ms: Final[int] = field(1)
    validate_only: Final[bool] = field(2)

    def __new__(
        cls,
        *,
        topics: Sequence[CreatableTopic] = (),
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> CreateTopicsRequest:
        return new(cls, (topics, timeout_ms, validate_only))
