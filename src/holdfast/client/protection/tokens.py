"""Where a client's tokens come from: a file that somebody keeps fresh, or their issuer.

What an issuer gave is kept for most of its life, by all clients of this process: whoever opens a hundred connections
asks once. A token that a broker has refused is asked for anew.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from holdfast.io.clock import Clock, SystemClock
from holdfast.security.errors import BadSetting
from holdfast.security.files import read_within
from holdfast.security.logins.jwt import PREFIX, TOKEN_SIZE_MAX, fetch_token
from holdfast.security.secret import NONE, Secret

TOKEN_URL: Final = PREFIX + "token.endpoint.url"
_SHARE = 0.8  # Of a token's life for which it is used for new logins, as Kafka's clients do.
_KEPT_MAX = 64
_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class TokenSource:
    """A file, or an issuer and who we are there."""

    path: str = ""
    url: str = ""
    client_id: str = ""
    client_secret: Secret = field(default=NONE)
    scope: str = ""

    def fetch(self, clock: Clock = _CLOCK) -> Secret:
        """A token that is good now. Blocks. Raises BadSetting, IssuerRefused or Unavailable."""
        if self.path:
            return _read(self.path)
        with _lock:
            now = clock.boottime()
            token, until = _kept.get(self, (NONE, 0.0))
            if now >= until:
                token, lasts_s = fetch_token(self.url, self.client_id, self.client_secret, self.scope)
                if len(_kept) >= _KEPT_MAX:
                    _kept.clear()
                _kept[self] = token, now + lasts_s * _SHARE
            return token

    def forget(self) -> None:
        """The token was refused."""
        with _lock:
            _kept.pop(self, None)


_lock = threading.Lock()
_kept: dict[TokenSource, tuple[Secret, float]] = {}  # What was fetched, and until when it is used.


def _read(path: str) -> Secret:
    data = read_within(path, TOKEN_SIZE_MAX, lambda why: BadSetting(TOKEN_URL, f"{path} {why}"))
    if not data.isascii() or not data.strip():
        raise BadSetting(TOKEN_URL, f"{path} holds no token")
    return Secret(data.decode("ascii").strip())
