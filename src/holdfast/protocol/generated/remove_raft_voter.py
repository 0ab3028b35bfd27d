"""RemoveRaftVoter, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class RemoveRaftVoterResponse(Message):
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
    ) -> RemoveRaftVoterResponse:
        return new(cls, (throttle_time_ms, error_code, error_message))


class RemoveRaftVoterRequest(RequestMessage[RemoveRaftVoterResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("cluster_id", "string", (0, 0), (0, 0), None),
        ("voter_id", "int32", (0, 0), None, None),
        ("voter_directory_id", "uuid", (0, 0), None, None),
    )
    cluster_id: Final[str | None] = field(0)
    voter_id: Final[int] = field(1)
    voter_directory_id: Final[UUID | None] = field(2)

    def __new__(
        cls,
        *,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: UUID | None = None,
    ) -> RemoveRaftVoterRequest:
        return new(cls, (cluster_id, voter_id, voter_directory_id))
