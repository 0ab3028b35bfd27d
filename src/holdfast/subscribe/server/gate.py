"""Who subscribers are, and which topics they may read. Others know the rules; this package only asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from holdfast.security.principal import ANONYMOUS, Session
from holdfast.subscribe.errors import NotPermitted


class ReaderGate(Protocol):
    """What every call goes through."""

    @property
    def on_change(self) -> list[Callable[[], None]]:
        """Those who are told when somebody may do other things than before."""

    async def admit(self, peer: str, certificate: bytes | None, authorization: str | None) -> Session:
        """Who calls. `certificate` is DER. Raises LoginFailed, or Unavailable."""

    def may_read(self, session: Session, topic: str) -> bool:
        """Whether they may; if not, it is noted that they tried."""

    def sees(self, session: Session, topic: str) -> bool:
        """Whether they may know that it is there."""


class OpenGate:
    """Everybody may everything."""

    def __init__(self) -> None:
        self.on_change: list[Callable[[], None]] = []

    async def admit(self, peer: str, certificate: bytes | None, authorization: str | None) -> Session:
        del certificate, authorization
        return Session(ANONYMOUS, peer, "")

    def may_read(self, session: Session, topic: str) -> bool:
        del session, topic
        return True

    sees = may_read


@dataclass(frozen=True, slots=True)
class ReaderRights:
    """What one subscriber may read."""

    gate: ReaderGate
    session: Session

    def need(self, topic: str) -> None:
        """Raises NotPermitted, whether it is there or not."""
        if not self.gate.may_read(self.session, topic):
            raise NotPermitted(topic)

    def sees(self, topic: str) -> bool:
        return self.gate.sees(self.session, topic)
