"""A client's login with SASL on one connection, and again before each session ends (KIP-368).

The first token is ours, whatever the mechanism; SCRAM has two, and the broker must prove that it knows the password,
too. A broker that tells a lifetime is logged in to again shortly before its end, on the same connection, in front of
the request that comes next; what proves who we are is read anew each time, so that a fresh token is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from holdfast.client.errors import LoginRefused
from holdfast.client.protection.secure import MECHANISM, PROTOCOL, Credentials
from holdfast.client.protection.tokens import TOKEN_URL
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from holdfast.protocol.generated.sasl_handshake import SaslHandshakeRequest
from holdfast.security.errors import LoginFailed
from holdfast.security.logins.checks import PLAIN
from holdfast.security.logins.jaas import SETTING as JAAS
from holdfast.security.logins.jwt import encode_bearer
from holdfast.security.logins.plain import encode_plain
from holdfast.security.logins.scram import ScramClient

if TYPE_CHECKING:
    from holdfast.client.connection import Connection

_SHARE_MIN: Final = 0.85  # Of a session's life after which to log in again, as Kafka's clients do,
_SHARE_SPREAD: Final = 0.1  # and how much later at most, so that not all do it at once.
_EVERY_S_MIN: Final = 1.0  # Kafka takes no two logins of a connection within a second.
_NONCE_BITS = 192


class ClientLogin:
    """The logins of one connection. `read` gives what proves who we are, as it is now."""

    def __init__(self, read: Callable[[], Credentials], clock: Clock, chance: Chance) -> None:
        self._read = read
        self._clock = clock
        self._chance = chance
        self._again_at = -math.inf

    def keep(self, connection: Connection) -> None:
        """Log in if it is time to: at first, and before a session ends. Raises LoginRefused, and closes."""
        if self._clock.boottime() < self._again_at:
            return
        self._again_at = math.inf  # What is sent meanwhile is the login itself.
        began = self._clock.boottime()
        try:
            lifetime_s = self._log_in(connection, self._read()) / 1000
        except BaseException:
            connection.close()
            raise
        if lifetime_s > 0:
            share = _SHARE_MIN + _SHARE_SPREAD * self._chance.fraction()
            self._again_at = began + max(lifetime_s * share, _EVERY_S_MIN)

    def _log_in(self, connection: Connection, who: Credentials) -> int:
        """How long it lasts, in milliseconds; 0 is for ever."""
        self._shake_hands(connection, who)
        if who.mechanism == PLAIN:
            return self._send(connection, who, encode_plain(who.user, who.password)).session_lifetime_ms
        if who.tokens is not None:
            return self._send(connection, who, encode_bearer(who.tokens.fetch(self._clock))).session_lifetime_ms
        scram = ScramClient(who.mechanism, who.user, who.password, f"{self._chance.bits(_NONCE_BITS):048x}")
        first = self._send(connection, who, scram.first())
        try:
            message, expected = scram.final(bytes(first.auth_bytes))
            last = self._send(connection, who, message)
            scram.check(expected, bytes(last.auth_bytes))
        except LoginFailed as failure:
            why = f"{failure.why}: it is not the broker it should be, check its address and ssl.truststore.location"
            raise LoginRefused(str(connection.address), who.mechanism, who.user, why) from None
        return last.session_lifetime_ms

    def _shake_hands(self, connection: Connection, who: Credentials) -> None:
        answer = connection.ask(Key.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism=who.mechanism))
        if answer.error_code == Code.UNSUPPORTED_SASL_MECHANISM:
            why = f"it offers {', '.join(answer.mechanisms) or 'none'}: set {MECHANISM} to one of these"
        elif answer.error_code:
            why = f"it wants none there: set {PROTOCOL} to PLAINTEXT or SSL, or ask another of its listeners"
        else:
            return
        raise LoginRefused(str(connection.address), who.mechanism, who.user, why)

    def _send(self, connection: Connection, who: Credentials, token: bytes) -> SaslAuthenticateResponse:
        answer = connection.ask(Key.SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=token))
        if answer.error_code:
            todo = f"correct {JAAS}"
            if who.tokens is not None:
                who.tokens.forget()
                todo = f"give a fresh token in {TOKEN_URL}, and one that is meant for this broker"
            why = f"it did not take what proves who we are ({answer.error_message or 'no reason told'}): {todo}"
            raise LoginRefused(str(connection.address), who.mechanism, who.user, why)
        return answer
