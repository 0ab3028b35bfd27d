"""Who is there, and what they may see.

A visitor is who their certificate, their `Authorization` or their cookie says; where the port is open, nobody in
particular. A login that succeeded is remembered under a random name that only the browser knows, in a cookie that no
script reads and no other site sends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final, NamedTuple, Protocol

from holdfast.console.link import HttpRequest
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.security.errors import LoginFailed
from holdfast.security.header import encode_authorization
from holdfast.security.logins.plain import PlainClaim
from holdfast.security.principal import Session
from holdfast.security.rules import CLUSTER_NAME, Operation, ResourceType
from holdfast.security.secret import Secret

COOKIE: Final = "holdfast-session"
LOGINS_MAX: Final = 1_000  # Remembered at the same time; for one more the oldest goes.
LOGIN_S: Final = 12 * 3600.0


class VisitorGate(Protocol):
    """What visitors are let through by."""

    async def admit(self, peer: str, certificate: bytes | None, authorization: str | None) -> Session:
        """Who they are. Raises LoginFailed, or Unavailable."""

    def proof(self, session: Session) -> object:
        """What a login of theirs rests on: another one when their password is, None when there is no such user."""

    def sees(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        """Whether it is shown to them."""

    def need(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> None:
        """Raises Rejected, and a line of the audit log says so."""

    def changed(self, session: Session, what: str) -> None:
        """A line of the audit log."""


class VisitorsDoor(NamedTuple):
    """How visitors come in."""

    gate: Callable[[], VisitorGate]  # As it is now.
    asks_login: bool  # A user and a password are asked for, or a token.


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who is there."""

    session: Session
    gate: VisitorGate
    is_over: Callable[[], bool]  # Whether their login counts no more.
    can_leave: bool = False  # They have logged in by a form.

    def sees(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME) -> bool:
        return self.gate.sees(self.session, operation, kind, name)

    def need(self, operation: Operation, kind: ResourceType, name: str = CLUSTER_NAME) -> None:
        self.gate.need(self.session, operation, kind, name)

    def sees_topic(self, name: str) -> bool:
        return self.sees(Operation.DESCRIBE, ResourceType.TOPIC, name)

    def sees_group(self, name: str) -> bool:
        return self.sees(Operation.DESCRIBE, ResourceType.GROUP, name)

    @property
    def name(self) -> str:
        return self.session.principal.name


class _Login(NamedTuple):
    """One that succeeded."""

    session: Session
    until: float
    proof: object


class Visits:
    """Those who have logged in."""

    def __init__(self, door: VisitorsDoor, clock: Clock, chance: Chance) -> None:
        self.door = door
        self._clock = clock
        self._chance = chance
        self._known: dict[str, _Login] = {}  # By the cookie's value.

    async def visitor(self, request: HttpRequest) -> Visitor:
        """Raises LoginFailed, or Unavailable."""
        gate = self.door.gate()
        said = request.headers.get("authorization")
        if said is None and self.door.asks_login:
            name = _cookie_of(request)
            if self._is_over(name):
                raise LoginFailed("there is no login")
            return Visitor(self._known[name].session, gate, lambda: self._is_over(name), can_leave=True)
        session = await gate.admit(request.peer, request.certificate, said)
        return Visitor(session, gate, lambda: session.is_over(self._clock.boottime()))

    def _is_over(self, name: str) -> bool:
        """Whether a login was never there, has ended, or rests on a password that is another one by now."""
        login = self._known.get(name)
        if login is None:
            return True
        now, gate = self._clock.boottime(), self.door.gate()
        if now < login.until and not login.session.is_over(now) and gate.proof(login.session) == login.proof:
            return False
        del self._known[name]
        return True

    async def log_in(self, request: HttpRequest, who: PlainClaim | Secret) -> str:
        """The cookie of a visitor who says who they are, or has a token. Raises LoginFailed, or Unavailable."""
        try:
            said = encode_authorization(who)
            said.encode()
        except UnicodeEncodeError:
            raise LoginFailed("a user, a password or a token is no text") from None
        gate = self.door.gate()
        session = await gate.admit(request.peer, request.certificate, said)
        if len(self._known) >= LOGINS_MAX:
            del self._known[next(iter(self._known))]
        name = f"{self._chance.bits(256):064x}"
        self._known[name] = _Login(session, self._clock.boottime() + LOGIN_S, gate.proof(session))
        return _cookie(name, request, int(LOGIN_S))

    def log_out(self, request: HttpRequest) -> str:
        """Forget them; the cookie that takes theirs away."""
        self._known.pop(_cookie_of(request), None)
        return _cookie("", request, 0)


def _cookie(value: str, request: HttpRequest, seconds: int) -> str:
    secure = "; Secure" if request.is_private else ""
    return f"{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


def _cookie_of(request: HttpRequest) -> str:
    try:
        found = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""
