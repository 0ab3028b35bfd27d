"""AddRaftVoter, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class AddRaftVoterResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
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
    ) -> AddRaftVoterResponse:
        return new(cls, (throttle_time_ms, error_code, error_message))


class Listener(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 1), None, None),
        ("host", "string", (0, 1), None, None),
        ("port", "uint16", (0, 1), None, None),
    )
    name: Final[str] = field(0)
    host: Final[str] = field(1)
    port: Final[int] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> Listener:
        return new(cls, (name, host, port))


class AddRaftVoterRequest(RequestMessage[AddRaftVoterResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("cluster_id", "string", (0, 1), (0, 1), None),
        ("timeout_ms", "int32", (0, 1), None, None),
        ("voter_id", "int32", (0, 1), None, None),
        ("voter_directory_id", "uuid", (0, 1), None, None),
        ("listeners", "[]Listener", (0, 1), None, None),
        ("ack_when_committed", "bool", (1, 1), None, None),
    )
    cluster_id: Final[str | None] = field(0)
    timeout_ms: Final[int] = field(1)
    voter_id: Final[int] = field(2)
    voter_directory_id: Final[UUID | None] = field(3)
    listeners: Final[Sequence[Listener]] = field(4)
    ack_when_committed: Final[bool] = field(5)

    def __new__(
        cls,
        *,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: UUID | None = None,
        listeners: Sequence[Listener] = (),
        ack_when_committed: bool = True,
    ) -> AddRaftVoterRequest:
        return new(cls, (cluster_id, timeout_ms, voter_id, voter_directory_id, listeners, ack_when_committed))
