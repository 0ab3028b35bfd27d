"""Whether a stream may go on: rules change, and sessions end, while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from math import inf

from holdfast.io.clock import Clock
from holdfast.security.principal import ANONYMOUS, Session
from holdfast.subscribe.errors import SessionOver
from holdfast.subscribe.server.gate import ReaderGate, ReaderRights

NOBODY = Session(ANONYMOUS, "", "")
_TOPICS_A_TURN = 64
_LOOK_S = 5.0


class Guard:
    """Of one stream. What is raised here ends it."""

    def __init__(self, gate: ReaderGate, session: Session, clock: Clock) -> None:
        self.rights = ReaderRights(gate, session)
        self.changes = 0  # Of rules, since it began.
        self._session = session
        self._clock = clock
        self._changed = asyncio.Event()
        self._known = asyncio.Event()  # Nothing is sent while nobody knows whether it still may be.
        self._known.set()

    def note(self) -> None:
        """Rules are other ones from here on."""
        self.changes += 1
        self._known.clear()
        self._changed.set()

    async def passed(self) -> None:
        """Before anything is sent. Raises SessionOver."""
        if not self._known.is_set():
            await self._known.wait()
        self._check_session()

    async def watch_rules(self, topics: Callable[[], Collection[str]], on_change: Callable[[], None]) -> None:
        """Raises NotPermitted for the first of the topics that may not be read any more; there may be others now."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                for number, topic in enumerate(topics()):
                    self.rights.need(topic)
                    if not number % _TOPICS_A_TURN:
                        await asyncio.sleep(0)
                if not self._changed.is_set():
                    self._known.set()
                    on_change()
        finally:
            self._known.set()

    async def watch_session(self) -> None:
        """Raises SessionOver. The time is looked at again and again: a machine that sleeps wakes up late."""
        while self._session.until < inf:
            self._check_session()
            left_s = self._session.until - self._clock.boottime()
            await asyncio.sleep(min(max(left_s, 0.001), _LOOK_S))

    def _check_session(self) -> None:
        if self._session.until < inf and self._session.is_over(self._clock.boottime()):
            raise SessionOver
