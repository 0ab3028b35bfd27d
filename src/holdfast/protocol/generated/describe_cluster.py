"""DescribeCluster, versions 0 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class DescribeClusterBroker(Message):
    __slots__ = ()
    ROWS = (
        ("broker_id", "int32", (0, 2), None, None),
        ("host", "string", (0, 2), None, None),
        ("port", "int32", (0, 2), None, None),
        ("rack", "string", (0, 2), (0, 2), None),
        ("is_fenced", "bool", (2, 2), None, None),
    )
    broker_id: Final[int] = field(0)
    host: Final[str] = field(1)
    port: Final[int] = field(2)
    rack: Final[str | None] = field(3)
    is_fenced: Final[bool] = field(4)

    def __new__(
        cls,
        *,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> DescribeClusterBroker:
        return new(cls, (broker_id, host, port, rack, is_fenced))


class DescribeClusterResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 2), None, None),
        ("error_code", "int16", (0, 2), None, None),
        ("error_message", "string", (0, 2), (0, 2), None),
        ("endpoint_type", "int8", (1, 2), None, None),
        ("cluster_id", "string", (0, 2), None, None),
        ("controller_id", "int32", (0, 2), None, None),
        ("brokers", "[]DescribeClusterBroker", (0, 2), None, None),
        ("cluster_authorized_operations", "int32", (0, 2), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    endpoint_type: Final[int] = field(3)
    cluster_id: Final[str] = field(4)
    controller_id: Final[int] = field(5)
    brokers: Final[Sequence[DescribeClusterBroker]] = field(6)
    cluster_authorized_operations: Final[int] = field(7)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: Sequence[DescribeClusterBroker] = (),
        cluster_authorized_operations: int = -2147483648,
    ) -> DescribeClusterResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations))


class DescribeClusterRequest(RequestMessage[DescribeClusterResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("include_cluster_authorized_operations", "bool", (0, 2), None, None),
        ("endpoint_type", "int8", (1, 2), None, None),
        ("include_fenced_brokers", "bool", (2, 2), None, None),
    )
    include_cluster_authorized_operations: Final[bool] = field(0)
    endpoint_type: Final[int] = field(1)
    include_fenced_brokers: Final[bool] = field(2)

    def __new__(
        cls,
        *,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> DescribeClusterRequest:
        return new(cls, (include_cluster_authorized_operations, endpoint_type, include_fenced_brokers))
