"""DescribeUserScramCredentials, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class CredentialInfo(Message):
    __slots__ = ()
    ROWS = (
        ("mechanism", "int8", (0, 0), None, None),
        ("iterations", "int32", (0, 0), None, None),
    )
    mechanism: Final[int] = field(0)
    iterations: Final[int] = field(1)

    def __new__(
        cls,
        *,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> CredentialInfo:
        return new(cls, (mechanism, iterations))


class DescribeUserScramCredentialsResult(Message):
    __slots__ = ()
    ROWS = (
        ("user", "string", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
        ("credential_infos", "[]CredentialInfo", (0, 0), None, None),
    )
    user: Final[str] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    credential_infos: Final[Sequence[CredentialInfo]] = field(3)

    def __new__(
        cls,
        *,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: Sequence[CredentialInfo] = (),
    ) -> DescribeUserScramCredentialsResult:
        return new(cls, (user, error_code, error_message, credential_infos))


class DescribeUserScramCredentialsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
        ("results", "[]DescribeUserScramCredentialsResult", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    results: Final[Sequence[DescribeUserScramCredentialsResult]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: Sequence[DescribeUserScramCredentialsResult] = (),
    ) -> DescribeUserScramCredentialsResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, results))


class UserName(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
    )
    name: Final[str] = field(0)

    def __new__(
        cls,
        *,
        name: str = "",
    ) -> UserName:
        return new(cls, (name,))


class DescribeUserScramCredentialsRequest(RequestMessage[DescribeUserScramCredentialsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("users", "[]UserName", (0, 0), (0, 0), None),
    )
    users: Final[Sequence[UserName] | None] = field(0)

    def __new__(
        cls,
        *,
        users: Sequence[UserName] | None = (),
    ) -> DescribeUserScramCredentialsRequest:
        return new(cls, (users,))
