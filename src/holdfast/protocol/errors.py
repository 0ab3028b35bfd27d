"""What can be wrong with a message.

Rejected
├── Malformed            the bytes are not a message of this kind: close the connection
├── UnknownApi           nobody has defined this API here
└── UnsupportedVersion   the API is known, not in this version
"""

from __future__ import annotations

from holdfast.errors import Rejected


class Malformed(Rejected):
    """The bytes are not a message of the kind that they should be."""

    def __init__(self, why: str, position: int, what: str = "message") -> None:
        super().__init__(f"{what}, byte {position}: {why}")
        self.why = why
        self.position = position
        self.what = what


class UnknownApi(Rejected):
    """There is no such API, or none that this package knows."""

    def __init__(self, api_key: int) -> None:
        super().__init__(f"the API {api_key} is unknown")
        self.api_key = api_key


class UnsupportedVersion(Rejected):
    """The API is known, but not in this version."""

    def __init__(self, name: str, version: int, min_version: int, max_version: int) -> None:
        super().__init__(f"{name} version {version} is not supported; {min_version} to {max_version} are")
        self.name = name
        self.version = version
        self.min_version = min_version
        self.max_version = max_version
