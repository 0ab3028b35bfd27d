r"""SASL PLAIN (RFC 4616): one message, `[authzid]\0user\0password`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.security.errors import LoginFailed
from holdfast.security.logins.scram import Verifier
from holdfast.security.secret import Secret


@dataclass(frozen=True, slots=True)
class PlainClaim:
    """Who somebody says they are, and their password for it."""

    user: str
    password: Secret


def encode_plain(user: str, password: Secret) -> bytes:
    return f"\0{user}\0{password.reveal()}".encode()


def parse_plain(token: bytes) -> PlainClaim:
    """Raises LoginFailed."""
    try:
        parts = token.decode("utf-8").split("\0")
    except UnicodeDecodeError:
        raise LoginFailed("the message is not UTF-8") from None
    if len(parts) != 3 or not parts[1] or not parts[2]:
        raise LoginFailed("the message does not hold a name and a password")
    if parts[0] and parts[0] != parts[1]:
        raise LoginFailed("to log in as one user and act as another is not offered", parts[1])
    return PlainClaim(parts[1], Secret(parts[2]))


def check_plain(claim: PlainClaim, passwords: Mapping[str, Secret], known: Verifier | None, fake: Verifier) -> None:
    """Against `user_NAME` of the settings, else against what is kept for SCRAM. Raises LoginFailed.

    Takes milliseconds: call it in a thread. A failure takes as long for a name that does not exist.
    """
    if claim.user in passwords:
        is_right = passwords[claim.user] == claim.password
        if not is_right:
            fake.accepts(claim.password)
    else:
        is_right = (fake if known is None else known).accepts(claim.password) and known is not None
    if not is_right:
        is_user = claim.user in passwords or known is not None
        raise LoginFailed("the password is wrong" if is_user else "there is no such user", claim.user)
