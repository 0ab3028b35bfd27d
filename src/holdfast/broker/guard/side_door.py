"""Ports beside Kafka's, for subscribers, for metrics and for the console: who comes through them, and what they may do.

Each has the protection of one listener. Where that asks for SASL, these ports take `Authorization`: Basic or Bearer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from holdfast.broker.guard.gate import Gate
from holdfast.broker.guard.rights import (
    ALTER_TOPIC_CONFIGS,
    CREATE_CLUSTER,
    CREATE_TOPIC,
    DELETE_GROUP,
    DELETE_TOPIC,
    DESCRIBE_CLUSTER,
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    DESCRIBE_TRANSACTION,
    METRICS,
    READ_TOPIC,
    SUBSCRIBE,
    WRITE_TOPIC,
    WRITE_TRANSACTION,
)
from holdfast.broker.guard.users import Users
from holdfast.broker.net.listener import OpenListener
from holdfast.broker.net.server import Server
from holdfast.errors import Rejected, Unavailable
from holdfast.security.errors import LoginFailed
from holdfast.security.logins.checks import LoginChecks
from holdfast.security.logins.scram import MECHANISMS
from holdfast.security.principal import ANONYMOUS, Session, host_of
from holdfast.security.rules import Operation, ResourceType

CHECKED_MAX: Final = 64  # Logins that are looked at, at the same time.
HELD_MAX: Final = 256  # Failures that are not told yet; for one more the oldest is told.


class SideDoor:
    """Says who somebody is, once for each call. A failure is told late, with the same words whatever the cause."""

    def __init__(self, server: Server, listener: OpenListener) -> None:
        self.listener = listener
        self._server = server
        self._checked = 0
        self._held: dict[asyncio.Event, None] = {}

    async def admit(self, peer: str, certificate: bytes | None, authorization: str | None) -> Session:
        """Raises LoginFailed, or Unavailable: try again."""
        began = self._server.clock.monotonic()
        try:
            return await self._session(peer, certificate, authorization)
        except LoginFailed as failure:
            self._server.audit.failed_login(peer, self.listener.name, failure.for_audit)
            await self._hold_back(began)
            raise

    async def _session(self, peer: str, certificate: bytes | None, authorization: str | None) -> Session:
        checks = self.listener.checks
        try:
            session = self.listener.session(peer, certificate)
        except Rejected as failure:
            raise LoginFailed(str(failure)) from None
        if checks is not None:
            if not authorization:
                raise LoginFailed("there is no Authorization")
            return await self._proven(checks, authorization, session)
        if authorization:
            raise LoginFailed("there is an Authorization, but this port's listener has no SASL")
        return session

    async def _proven(self, checks: LoginChecks, authorization: str, session: Session) -> Session:
        if self._checked >= CHECKED_MAX:
            raise Unavailable(f"{self._checked} logins are looked at: try again later")
        calls = self._server.login_calls
        run = calls.run if authorization[:6].lower() == "bearer" else calls.local  # Others may have to be asked.
        self._checked += 1
        try:
            users, is_private = self._server.users(), self.listener.protocol.has_tls
            return await run(checks.check_header, authorization, session, users, is_private=is_private)
        finally:
            self._checked -= 1

    def verifiers(self, session: Session) -> object:
        """Those of a user in the store; None of others."""
        users = self._server.users()
        return users and tuple(users.verifier(session.principal.name, each) for each in MECHANISMS)

    async def _hold_back(self, began: float) -> None:
        """Until the failure may be told: at the same time after the call, however long its check took."""
        if len(self._held) >= HELD_MAX:
            oldest = next(iter(self._held))
            del self._held[oldest]
            oldest.set()
        told = asyncio.Event()
        self._held[told] = None
        left_s = self._server.limits.failed_login_ms / 1000 - (self._server.clock.monotonic() - began)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), max(left_s, 0))
        finally:
            self._held.pop(told, None)


class SubscriberGate:
    """What subscribers are let through by."""

    def __init__(self, door: SideDoor, gate: Gate, users: Users) -> None:
        self.admit = door.admit
        self.on_change: list[Callable[[], None]] = users.on_rules
        self._gate = gate

    def may_read(self, session: Session, topic: str) -> bool:
        return self._gate.rights(SUBSCRIBE, session, "Subscribe").may(READ_TOPIC, topic)

    def sees(self, session: Session, topic: str) -> bool:
        return self._gate.rights(SUBSCRIBE, session, "Subscribe").sees(DESCRIBE_TOPIC, topic)


class ConsoleGate:
    """What visitors of the console are let through by. Without a door everybody is."""

    def __init__(self, door: SideDoor | None, gate: Gate) -> None:
        self._door = door
        self._gate = gate

    async def admit(self, peer: str, certificate: bytes | None, authorization: str | None) -> Session:
        """Raises LoginFailed, or Unavailable."""
        if self._door is not None:
            return await self._door.admit(peer, certificate, authorization)
        return Session(ANONYMOUS, host_of(peer), "CONSOLE")

    def proof(self, session: Session) -> object:
        """What a login of theirs rests on: another one when their password is."""
        return None if self._door is None else self._door.verifiers(session)

    def sees(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        return self._gate.may(session, _RIGHTS[operation, kind], name)

    def need(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> None:
        """Raises NotAllowed."""
        self._gate.need(session, _RIGHTS[operation, kind], name, "Console")

    def changed(self, session: Session, what: str) -> None:
        """For the audit log."""
        self._gate.audit.changed(session, what)


_RIGHTS: Final = {
    (each.operation, each.kind): each
    for each in (
        *(DESCRIBE_CLUSTER, DESCRIBE_TOPIC, READ_TOPIC, DESCRIBE_GROUP, DESCRIBE_TRANSACTION, CREATE_CLUSTER),
        *(CREATE_TOPIC, DELETE_TOPIC, WRITE_TOPIC, ALTER_TOPIC_CONFIGS, DELETE_GROUP, WRITE_TRANSACTION),
    )
}


class MetricsGate:
    """What those who read metrics are let through by."""

    def __init__(self, door: SideDoor, gate: Gate) -> None:
        self._door = door
        self._gate = gate

    async def admits(self, peer: str, certificate: bytes | None, authorization: str | None) -> bool:
        """Whether they may read them. Raises LoginFailed, or Unavailable."""
        session = await self._door.admit(peer, certificate, authorization)
        return self._gate.rights(METRICS, session, "Metrics").may(DESCRIBE_CLUSTER)
