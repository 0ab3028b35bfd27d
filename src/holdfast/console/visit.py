"""Who is there, and what they may see.

A visitor is who their certificate, their `Authorization` or their cookie says; where the port is open, nobody in
particular. A login that succeeded is remembered under a random name that only the browser knows, in a cookie that no
script reads and no other site sends.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final, NamedTuple, Protocol

from holdfast.console.link import HttpRequest
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.security.errors import LoginFailed
from holdfast.security.principal import Session
from holdfast.security.rules import CLUSTER_NAME, Operation, ResourceType

COOKIE: Final = "holdfast-session"
LOGINS_MAX: Final = 1_000  # Remembered at the same time; for one more the oldest goes.
LOGIN_S: Final = 12 * 3600.0


class VisitorGate(Protocol):
    """What visitors are let through by."""

    async def admit(self, peer: str, certificate: bytes | None, authorization: str | None) -> Session:
        """Who they are. Raises LoginFailed, or Unavailable."""

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


class Visits:
    """Those who have logged in."""

    def __init__(self, door: VisitorsDoor, clock: Clock, chance: Chance) -> None:
        self.door = door
        self._clock = clock
        self._chance = chance
        self._known: dict[str, tuple[Session, float]] = {}  # By the cookie's value, and until when.

    async def visitor(self, request: HttpRequest) -> Visitor:
        """Raises LoginFailed, or Unavailable."""
        gate = self.door.gate()
        said = request.headers.get("authorization")
        if said is None and self.door.asks_login:
            session, until = self._known.get(_cookie_of(request), (None, 0.0))
            if session is None or self._clock.boottime() >= min(until, session.until):
                raise LoginFailed("there is no login")
            return Visitor(session, gate, can_leave=True)
        return Visitor(await gate.admit(request.peer, request.certificate, said), gate)

    async def log_in(self, request: HttpRequest, user: str, password: str) -> str:
        """The cookie of a visitor who says who they are. Raises LoginFailed, or Unavailable."""
        said = "Basic " + b64encode(f"{user}:{password}".encode()).decode()
        session = await self.door.gate().admit(request.peer, request.certificate, said)
        if len(self._known) >= LOGINS_MAX:
            del self._known[next(iter(self._known))]
        name = f"{self._chance.bits(256):064x}"
        self._known[name] = session, self._clock.boottime() + LOGIN_S
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
