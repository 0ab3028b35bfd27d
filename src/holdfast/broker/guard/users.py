"""The users and rules of a cluster, as a broker sees and changes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import NoReturn

from holdfast.cluster.auth import Auth
from holdfast.cluster.auth_log import AuthLog
from holdfast.cluster.version_log import Step
from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.security.rules import Rule, Rules

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0


class Users:
    """Those of the newest version that is known. State changes on the loop; the store is asked in threads."""

    def __init__(self, auth: AuthLog, calls: BlockingCalls, rules_of: Callable[[Iterable[Rule]], Rules]) -> None:
        """`rules_of` makes of rules what they are looked up in."""
        self._auth = auth
        self._calls = calls
        self._changing = asyncio.Lock()
        self._rules_of = rules_of
        self._known = auth.value.rules
        self.rules = rules_of(self._known)
        self.on_rules: list[Callable[[], None]] = []  # Called when they are other ones.

    @property
    def value(self) -> Auth:
        return self._auth.value

    async def commit(self, *steps: Step) -> Auth:
        """All of the steps, or none; durable on return. Raises what a step that does not fit raises."""
        async with self._changing:
            try:
                return await self._calls.run(self._auth.commit, *steps)
            finally:
                await self._look_up_anew()

    async def _look_up_anew(self) -> None:
        """Other rules count from here on, for everybody: before those who changed them hear of it."""
        known = self._auth.value.rules
        if known is not self._known:
            self.rules = await self._calls.run(self._looked_up, known)
            self._known = known
            for each in list(self.on_rules):
                each()

    def _looked_up(self, rules: frozenset[Rule]) -> Rules:
        """In a thread: there may be many."""
        return self.rules if rules == self._known else self._rules_of(rules)

    async def follow(self) -> NoReturn:
        """Look for what others have changed."""
        while True:
            await self._calls.pause(LOOK_EVERY_S)
            try:
                async with self._changing:
                    await self._calls.run(self._auth.refresh)
                    await self._look_up_anew()
            except HoldfastError as failure:
                log.debug("the users cannot be looked at, those before count: %s", failure)
