"""ElectLeaders, versions 0 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class PartitionResult(Message):
    __slots__ = ()
    ROWS = (
        ("partition_id", "int32", (0, 2), None, None),
        ("error_code", "int16", (0, 2), None, None),
        ("error_message", "string", (0, 2), (0, 2), None),
    )
    partition_id: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> PartitionResult:
        return new(cls, (partition_id, error_code, error_message))


class ReplicaElectionResult(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (0, 2), None, None),
        ("partition_result", "[]PartitionResult", (0, 2), None, None),
    )
    topic: Final[str] = field(0)
    partition_result: Final[Sequence[PartitionResult]] = field(1)

    def __new__(
        cls,
        *,
        topic: str = "",
        partition_result: Sequence[PartitionResult] = (),
    ) -> ReplicaElectionResult:
        return new(cls, (topic, partition_result))


class ElectLeadersResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (0, 2), None, None),
        ("error_code", "int16", (1, 2), None, None),
        ("replica_election_results", "[]ReplicaElectionResult", (0, 2), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    replica_election_results: Final[Sequence[ReplicaElectionResult]] = field(2)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: Sequence[ReplicaElectionResult] = (),
    ) -> ElectLeadersResponse:
        return new(cls, (throttle_time_ms, error_code, replica_election_results))


class TopicPartitions(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (0, 2), None, None),
        ("partitions", "[]int32", (0, 2), None, None),
    )
    topic: Final[str] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> TopicPartitions:
        return new(cls, (topic, partitions))


class ElectLeadersRequest(RequestMessage[ElectLeadersResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("election_type", "int8", (1, 2), None, None),
        ("topic_partitions", "[]TopicPartitions", (0, 2), (0, 2), None),
        ("timeout_ms", "int32", (0, 2), None, None),
    )
    election_type: Final[int] = field(0)
    topic_partitions: Final[Sequence[TopicPartitions] | None] = field(1)
    timeout_ms: Final[int] = field(2)

    def __new__(
        cls,
        *,
        election_type: int = 0,
        topic_partitions: Sequence[TopicPartitions] | None = (),
        timeout_ms: int = 60000,
    ) -> ElectLeadersRequest:
        return new(cls, (election_type, topic_partitions, timeout_ms))
