"""The life of a SASL connection as a value: `step(login, event) → (login, what to do)`. No socket, no clock, no thread.

    GREETING ── SaslHandshake ──► TOKENS ── token ──► CHECKING ── proven ──► OPEN
        │ ApiVersions, once         ▲                  │  │                    │ SaslHandshake: log in again
        └─────┘                     └──── one more ────┘  └─ not proven ─► CLOSED

Before OPEN nothing but ApiVersions, SaslHandshake and SaslAuthenticate is answered; everything else closes without an
answer, whatever its API key. What comes while a token is checked waits for the verdict. A new login is for the same
user with the same mechanism. A session that is over takes nothing but SaslHandshake.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from holdfast.security.logins.scram import Exchange
from holdfast.security.principal import Session

API_VERSIONS: Final = 18
SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
TOKENS_MAX: Final = 4  # Of one login; no mechanism needs more than two.


class Phase(Enum):
    """How far a connection is."""

    GREETING = "greeting"
    TOKENS = "tokens"
    CHECKING = "checking"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Login:
    """A connection on a listener with SASL."""

    mechanisms: tuple[str, ...]  # That the listener offers.
    phase: Phase = Phase.GREETING
    has_asked: bool = False  # For ApiVersions.
    mechanism: str = ""
    is_bare: bool = False  # Handshake 0: tokens come without a header, and are answered so.
    tokens: int = 0
    exchange: Exchange | None = None  # Of SCRAM, between its two messages.
    session: Session | None = None  # Of the login before, while there is another one.


@dataclass(frozen=True, slots=True)
class Frame:
    """A request by its header."""

    api_key: int
    at: float  # When it arrived, by `Clock.boottime`.


@dataclass(frozen=True, slots=True)
class Handshake:
    """SaslHandshake."""

    mechanism: str
    version: int


@dataclass(frozen=True, slots=True)
class TokenFrame:
    """A token: of SaslAuthenticate, or bare."""

    data: bytes
    is_bare: bool

    def __repr__(self) -> str:
        return f"TokenFrame(…, is_bare={self.is_bare})"


@dataclass(frozen=True, slots=True)
class More:
    """The verdict on a token: it was right, and another one must come."""

    answer: bytes
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Proven:
    """The verdict on a token: it is they."""

    answer: bytes
    session: Session


@dataclass(frozen=True, slots=True)
class Failed:
    """The verdict on a token: it is not, for whatever cause."""


Event = Frame | Handshake | TokenFrame | More | Proven | Failed


class Do(Enum):
    """What to do about an event."""

    TELL_VERSIONS = "answer ApiVersions"
    OFFER = "answer SaslHandshake: go on"
    REFUSE_MECHANISM = "answer SaslHandshake with those there are, and close"
    CHECK = "check the token, in a thread if it takes long; then step with the verdict"
    ANSWER = "answer the token"
    FAIL = "answer with the same words for every cause, after the delay, and close"
    SERVE = "hand the request on, with the session"
    HOLD = "keep it until the verdict"
    CLOSE = "close without an answer"


def step(login: Login, event: Event) -> tuple[Login, Do]:
    """What an event does."""
    if login.phase is Phase.CHECKING:
        return _judge(login, event)
    if isinstance(event, Handshake):
        return _begin(login, event)
    if isinstance(event, TokenFrame) and _takes_token(login, event):
        return replace(login, phase=Phase.CHECKING, tokens=login.tokens + 1), Do.CHECK
    if isinstance(event, Frame) and login.phase is Phase.OPEN and _is_served(login.session, event):
        return login, Do.SERVE
    is_first = login.phase is Phase.GREETING and not login.has_asked
    if isinstance(event, Frame) and event.api_key == API_VERSIONS and is_first:
        return replace(login, has_asked=True), Do.TELL_VERSIONS
    return _closed(login, Do.CLOSE)


def _takes_token(login: Login, token: TokenFrame) -> bool:
    return login.phase is Phase.TOKENS and token.is_bare is login.is_bare and login.tokens < TOKENS_MAX


def _is_served(session: Session | None, frame: Frame) -> bool:
    return session is not None and not session.is_over(frame.at)


def _begin(login: Login, handshake: Handshake) -> tuple[Login, Do]:
    if login.phase not in (Phase.GREETING, Phase.OPEN) or handshake.version not in (0, 1):
        return _closed(login, Do.CLOSE)
    is_again = login.phase is Phase.OPEN
    if is_again and handshake.version == 0:  # Behind a bare token nothing tells a request from a token.
        return _closed(login, Do.CLOSE)
    if handshake.mechanism not in login.mechanisms or (is_again and handshake.mechanism != login.mechanism):
        return _closed(login, Do.REFUSE_MECHANISM)
    begun = replace(login, phase=Phase.TOKENS, mechanism=handshake.mechanism, is_bare=handshake.version == 0, tokens=0)
    return begun, Do.OFFER


def _judge(login: Login, event: Event) -> tuple[Login, Do]:
    if isinstance(event, More):
        return replace(login, phase=Phase.TOKENS, exchange=event.exchange), Do.ANSWER
    if isinstance(event, Failed):
        return _closed(login, Do.FAIL)
    if not isinstance(event, Proven):
        return login, Do.HOLD
    before = login.session
    if before is not None and before.principal != event.session.principal:
        return _closed(login, Do.FAIL)
    return replace(login, phase=Phase.OPEN, exchange=None, session=event.session), Do.ANSWER


def _closed(login: Login, do: Do) -> tuple[Login, Do]:
    return replace(login, phase=Phase.CLOSED, exchange=None, session=None), do
