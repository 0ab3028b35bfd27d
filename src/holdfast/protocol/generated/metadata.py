"""Metadata, versions 0 to 13. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class MetadataResponseBroker(Message):
    __slots__ = ()
    ROWS = (
        ("node_id", "int32", (0, 13), None, None),
        ("host", "string", (0, 13), None, None),
        ("port", "int32", (0, 13), None, None),
        ("rack", "string", (1, 13), (1, 13), None),
    )
    node_id: Final[int] = field(0)
    host: Final[str] = field(1)
    port: Final[int] = field(2)
    rack: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> MetadataResponseBroker:
        return new(cls, (node_id, host, port, rack))


class MetadataResponsePartition(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 13), None, None),
        ("partition_index", "int32", (0, 13), None, None),
        ("leader_id", "int32", (0, 13), None, None),
        ("leader_epoch", "int32", (7, 13), None, None),
        ("replica_nodes", "[]int32", (0, 13), None, None),
        ("isr_nodes", "[]int32", (0, 13), None, None),
        ("offline_replicas", "[]int32", (5, 13), None, None),
    )
    error_code: Final[int] = field(0)
    partition_index: Final[int] = field(1)
    leader_id: Final[int] = field(2)
    leader_epoch: Final[int] = field(3)
    replica_nodes: Final[Sequence[int]] = field(4)
    isr_nodes: Final[Sequence[int]] = field(5)
    offline_replicas: Final[Sequence[int]] = field(6)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        offline_replicas: Sequence[int] = (),
    ) -> MetadataResponsePartition:
        return new(cls, (error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))


class MetadataResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 13), None, None),
        ("name", "string", (0, 13), (12, 13), None),
        ("topic_id", "uuid", (10, 13), None, None),
        ("is_internal", "bool", (1, 13), None, None),
        ("partitions", "[]MetadataResponsePartition", (0, 13), None, None),
        ("topic_authorized_operations", "int32", (8, 13), None, None),
    )
    error_code: Final[int] = field(0)
    name: Final[str | None] = field(1)
    topic_id: Final[UUID | None] = field(2)
    is_internal: Final[bool] = field(3)
    partitions: Final[Sequence[MetadataResponsePartition]] = field(4)
    topic_authorized_operations: Final[int] = field(5)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: UUID | None = None,
        is_internal: bool = False,
        partitions: Sequence[MetadataResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> MetadataResponseTopic:
        return new(cls, (error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))


class MetadataResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 9
    ROWS = (
        ("throttle_time_ms", "int32", (3, 13), None, None),
        ("brokers", "[]MetadataResponseBroker", (0, 13), None, None),
        ("cluster_id", "string", (2, 13), (2, 13), None),
        ("controller_id", "int32", (1, 13), None, None),
        ("topics", "[]MetadataResponseTopic", (0, 13), None, None),
        ("cluster_authorized_operations", "int32", (8, 10), None, None),
        ("error_code", "int16", (13, 13), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    brokers: Final[Sequence[MetadataResponseBroker]] = field(1)
    cluster_id: Final[str | None] = field(2)
    controller_id: Final[int] = field(3)
    topics: Final[Sequence[MetadataResponseTopic]] = field(4)
    cluster_authorized_operations: Final[int] = field(5)
    error_code: Final[int] = field(6)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        brokers: Sequence[MetadataResponseBroker] = (),
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: Sequence[MetadataResponseTopic] = (),
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> MetadataResponse:
        return new(cls, (throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, error_code))


class MetadataRequestTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (10, 13), None, None),
        ("name", "string", (0, 13), (10, 13), None),
    )
    topic_id: Final[UUID | None] = field(0)
    name: Final[str | None] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        name: str | None = "",
    ) -> MetadataRequestTopic:
        return new(cls, (topic_id, name))


class MetadataRequest(RequestMessage[MetadataResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 9
    ROWS = (
        ("topics", "[]MetadataRequestTopic", (0, 13), (1, 13), None),
        ("allow_auto_topic_creation", "bool", (4, 13), None, None),
        ("include_cluster_authorized_operations", "bool", (8, 10), None, None),
        ("include_topic_authorized_operations", "bool", (8, 13), None, None),
    )
    topics: Final[Sequence[MetadataRequestTopic] | None] = field(0)
    allow_auto_topic_creation: Final[bool] = field(1)
    include_cluster_authorized_operations: Final[bool] = field(2)
    include_topic_authorized_operations: Final[bool] = field(3)

    def __new__(
        cls,
        *,
        topics: Sequence[MetadataRequestTopic] | None = (),
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> MetadataRequest:
        return new(cls, (topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations))
