"""AlterUserScramCredentials, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class AlterUserScramCredentialsResult(Message):
    __slots__ = ()
    ROWS = (
        ("user", "string", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
    )
    user: Final[str] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> AlterUserScramCredentialsResult:
        return new(cls, (user, error_code, error_message))


class AlterUserScramCredentialsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("results", "[]AlterUserScramCredentialsResult", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    results: Final[Sequence[AlterUserScramCredentialsResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AlterUserScramCredentialsResult] = (),
    ) -> AlterUserScramCredentialsResponse:
        return new(cls, (throttle_time_ms, results))


class ScramCredentialDeletion(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
        ("mechanism", "int8", (0, 0), None, None),
    )
    name: Final[str] = field(0)
    mechanism: Final[int] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        mechanism: int = 0,
    ) -> ScramCredentialDeletion:
        return new(cls, (name, mechanism))


class ScramCredentialUpsertion(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
        ("mechanism", "int8", (0, 0), None, None),
        ("iterations", "int32", (0, 0), None, None),
        ("salt", "bytes", (0, 0), None, None),
        ("salted_password", "bytes", (0, 0), None, None),
    )
    name: Final[str] = field(0)
    mechanism: Final[int] = field(1)
    iterations: Final[int] = field(2)
    salt: Final[bytes] = field(3)
    salted_password: Final[bytes] = field(4)

    def __new__(
        cls,
        *,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> ScramCredentialUpsertion:
        return new(cls, (name, mechanism, iterations, salt, salted_password))


class AlterUserScramCredentialsRequest(RequestMessage[AlterUserScramCredentialsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("deletions", "[]ScramCredentialDeletion", (0, 0), None, None),
        ("upsertions", "[]ScramCredentialUpsertion", (0, 0), None, None),
    )
    deletions: Final[Sequence[ScramCredentialDeletion]] = field(0)
    upsertions: Final[Sequence[ScramCredentialUpsertion]] = field(1)

    def __new__(
        cls,
        *,
        deletions: Sequence[ScramCredentialDeletion] = (),
        upsertions: Sequence[ScramCredentialUpsertion] = (),
    ) -> AlterUserScramCredentialsRequest:
        return new(cls, (deletions, upsertions))
