"""What can be wrong with settings of security, and with a login.

Rejected
├── BadSetting       a setting that cannot be taken, and what to write instead
└── LoginFailed      who it is was not proven; clients are told the same words whatever the cause
"""

from __future__ import annotations

from holdfast.errors import Rejected


class BadSetting(Rejected):
    """A setting that cannot be taken. Its text never holds the value of a secret."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name
        self.why = why


class LoginFailed(Rejected):
    """Who it is was not proven. `why` is for the audit log, never for the client, and holds no secret."""

    def __init__(self, why: str, user: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.user = user  # As it was claimed; empty if it was not even said.

    @property
    def for_audit(self) -> str:
        """Who, and why not."""
        return f"{self.user[:80]!r}: {self.why}" if self.user else self.why
