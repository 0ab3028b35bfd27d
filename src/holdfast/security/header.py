"""`Authorization` as HTTP and gRPC send it: Basic for a user and a password, Bearer for a token."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Final

from holdfast.security.errors import LoginFailed
from holdfast.security.logins.plain import PlainClaim
from holdfast.security.secret import Secret

SIZE_MAX: Final = 64 << 10  # Characters.


def encode_authorization(who: PlainClaim | Secret) -> str:
    """What a client sends."""
    if isinstance(who, Secret):
        return f"Bearer {who.reveal()}"
    return f"Basic {b64encode(f'{who.user}:{who.password.reveal()}'.encode()).decode()}"


def parse_authorization(text: str) -> PlainClaim | Secret:
    """A user and a password, or a token. Raises LoginFailed, which never holds what was sent."""
    scheme, _, rest = text.strip().partition(" ")
    if len(text) > SIZE_MAX or scheme.lower() not in ("basic", "bearer"):
        raise LoginFailed("the header is neither Basic nor Bearer")
    return Secret(rest.strip()) if scheme.lower() == "bearer" else _claim(rest.strip())


def _claim(text: str) -> PlainClaim:
    try:
        user, _, password = b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        user = password = ""
    if not user or not password:
        raise LoginFailed("Basic does not hold a user and a password")
    return PlainClaim(user, Secret(password))
