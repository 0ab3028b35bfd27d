"""How the logins of one listener are checked: each mechanism with its own settings, each token to a verdict.

PLAIN looks at `user_NAME` of the settings, else at what is kept for SCRAM; SCRAM at what is kept; OAUTHBEARER at the
keys that an issuer publishes. It blocks, for milliseconds or for as long as an issuer takes: call it in a thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from holdfast.errors import Unavailable
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.security.errors import BadSetting, LoginFailed
from holdfast.security.header import parse_authorization
from holdfast.security.logins.jaas import SETTING as JAAS
from holdfast.security.logins.jaas import parse_jaas
from holdfast.security.logins.jwt import TokenKeys, TokenSettings, check_token, parse_bearer
from holdfast.security.logins.login import Login, More, Proven
from holdfast.security.logins.plain import PlainClaim, check_plain, parse_plain
from holdfast.security.logins.scram import MECHANISMS as SCRAM
from holdfast.security.logins.scram import (
    Shape,
    Verifier,
    fake_verifier,
    parse_client_first,
    server_final,
    server_first,
)
from holdfast.security.principal import Principal, Session
from holdfast.security.secret import Secret

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
OFFERED: Final = (PLAIN, *SCRAM, OAUTHBEARER)
ENABLED: Final = "sasl.enabled.mechanisms"
CALLBACK: Final = "sasl.server.callback.handler.class"
REAUTH_MS: Final = "connections.max.reauth.ms"
RECEIVE_SIZE: Final = "sasl.server.max.receive.size"
VALIDATORS: Final = (  # Of Kafka 4, and of those before. What they do is built in here.
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
)
_NONCE_BITS = 192
_STRONGEST_FIRST = tuple(reversed(SCRAM))


class KnownUsers(Protocol):
    """What is kept of users."""

    @property
    def secret(self) -> bytes:
        """Of it the salts of users who do not exist are made."""

    def verifier(self, user: str, mechanism: str) -> Verifier | None: ...

    def shapes(self, mechanism: str) -> Sequence[Shape]:
        """Those of all verifiers, each once."""


@dataclass(frozen=True, slots=True)
class _Mechanism:
    """One mechanism of a listener."""

    reauth_ms: int = 0  # How long a session lasts at most; 0: for ever.
    passwords: Mapping[str, Secret] = field(default_factory=dict)  # Of PLAIN.
    keys: TokenKeys | None = None  # Of OAUTHBEARER.


class LoginChecks:
    """The mechanisms of one listener."""

    def __init__(self, words_of: Callable[[str], Mapping[str, str]], clock: Clock, chance: Chance) -> None:
        """`words_of` gives what is set for a mechanism, or with "" for the listener. Raises BadSetting."""
        self._clock = clock
        self._chance = chance
        words = words_of("")
        self.mechanisms = _enabled(words.get(ENABLED, ""))
        self.receive_size_max = int(words[RECEIVE_SIZE])
        shared = words.get(JAAS, "")
        if shared and not any(each.startswith(parse_jaas(shared).mechanism) for each in self.mechanisms):
            raise BadSetting(JAAS, f"its module is of none of the mechanisms: {ENABLED} does not name it")
        self._by_name = {each: _parsed(each, words_of(each), shared, clock) for each in self.mechanisms}

    def needs_others(self, mechanism: str) -> bool:
        """Whether a check may wait for somebody else than this machine."""
        return mechanism == OAUTHBEARER

    def check(self, login: Login, token: bytes, before: Session, users: KnownUsers | None) -> More | Proven:
        """The verdict on a token. `before` is who they were until now; without `users` the store has not answered yet.

        Raises LoginFailed, or Unavailable.
        """
        name = login.mechanism
        if name == PLAIN:
            return self._password(parse_plain(token), name, before, users)
        if name == OAUTHBEARER:
            return self._token(*parse_bearer(token), before)
        if login.exchange is not None:
            answer = server_final(login.exchange, token)
            return self._proven(before, name, login.exchange.user, answer)
        first, kept = parse_client_first(token), _there(users)
        fake = fake_verifier(name, first.user, kept.secret, kept.shapes(name))
        ours = f"{self._chance.bits(_NONCE_BITS):048x}"
        exchange, answer = server_first(first, kept.verifier(first.user, name), fake, ours)
        return More(answer, exchange)

    def check_header(self, text: str, before: Session, users: KnownUsers | None, *, is_private: bool) -> Session:
        """Who somebody is by `Authorization`, where no SASL is spoken: Basic as PLAIN, Bearer as OAUTHBEARER.

        KnownUsers of SCRAM are known by Basic, too, if the way is private: with SCRAM no password is ever sent.
        Raises LoginFailed, or Unavailable.
        """
        said = parse_authorization(text)
        if isinstance(said, Secret):
            if OAUTHBEARER not in self.mechanisms:
                raise LoginFailed("Bearer is for OAUTHBEARER, which is not enabled")
            return self._token(said, "", before).session
        taken = [
            each for each in (PLAIN, *_STRONGEST_FIRST) if each in self.mechanisms and (is_private or each == PLAIN)
        ]
        if not taken:
            raise LoginFailed("Basic is for PLAIN, or with TLS for SCRAM, which is not enabled", said.user)
        return self._password(said, taken[0], before, users).session

    def _password(self, claim: PlainClaim, name: str, before: Session, users: KnownUsers | None) -> Proven:
        """`name` is the mechanism: with PLAIN those of SCRAM are users, too."""
        kept, fits = _there(users), _STRONGEST_FIRST if name == PLAIN else self.mechanisms
        found = (kept.verifier(claim.user, each) for each in _STRONGEST_FIRST if each in fits)
        known = next((each for each in found if each is not None), None)
        strongest = _STRONGEST_FIRST[0]
        fake = fake_verifier(strongest, claim.user, kept.secret, kept.shapes(strongest))
        check_plain(claim, self._by_name[name].passwords, known, fake)
        return self._proven(before, name, claim.user)

    def _token(self, secret: Secret, wanted: str, before: Session) -> Proven:
        keys = self._by_name[OAUTHBEARER].keys
        assert keys is not None
        now_s = self._clock.now_ms() / 1000
        token = check_token(secret, keys.settings, keys.find, now_s, wanted)
        return self._proven(before, OAUTHBEARER, token.user, b"", max(token.expires_s - now_s, 0.0))

    def _proven(self, before: Session, name: str, user: str, answer: bytes = b"", lasts_s: float = math.inf) -> Proven:
        reauth_ms = self._by_name[name].reauth_ms
        lasts_s = min(lasts_s, reauth_ms / 1000 if reauth_ms else math.inf)
        until = self._clock.boottime() + lasts_s
        return Proven(answer, Session(Principal(user), before.host, before.listener, name, until))


def _there(users: KnownUsers | None) -> KnownUsers:
    if users is None:
        raise Unavailable("nobody can log in before the store answers, which keeps the users")
    return users


def _enabled(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(each.strip().upper() for each in text.split(",") if each.strip()))
    unknown = [each for each in names if each not in OFFERED]
    if unknown or not names:
        wrong = f"there is no {', '.join(unknown)}" if unknown else "a listener with SASL needs some"
        raise BadSetting(ENABLED, f"{wrong}: choose of {', '.join(OFFERED)}")
    return names


def _parsed(name: str, words: Mapping[str, str], shared: str, clock: Clock) -> _Mechanism:
    handler, jaas = words.get(CALLBACK, ""), words.get(JAAS, "")
    if handler and (handler not in VALIDATORS or name != OAUTHBEARER):
        raise BadSetting(CALLBACK, f"no classes are loaded: remove it; for OAUTHBEARER {VALIDATORS[0]} is built in")
    parsed = parse_jaas(jaas) if jaas else None
    if parsed is not None and jaas != shared and not name.startswith(parsed.mechanism):
        raise BadSetting(JAAS, f"that of {name} has a module of {parsed.mechanism}")
    reauth_ms = int(words.get(REAUTH_MS, "0"))
    if name == OAUTHBEARER:
        return _Mechanism(reauth_ms, keys=TokenKeys(TokenSettings.parse(words), clock))
    users = parsed.users if parsed is not None and parsed.mechanism == PLAIN == name else {}
    return _Mechanism(reauth_ms, users)
