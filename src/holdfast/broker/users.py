"""The users of a cluster, as a broker sees and changes them."""

from __future__ import annotations

import asyncio
import logging
from typing import NoReturn

from holdfast.cluster.auth import Auth
from holdfast.cluster.auth_log import AuthLog
from holdfast.cluster.version_log import Step
from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0


class Users:
    """Those of the newest version that is known. State changes on the loop; the store is asked in threads."""

    def __init__(self, auth: AuthLog, calls: BlockingCalls) -> None:
        self._auth = auth
        self._calls = calls
        self._changing = asyncio.Lock()

    @property
    def value(self) -> Auth:
        return self._auth.value

    async def commit(self, *steps: Step) -> Auth:
        """All of the steps, or none; durable on return. Raises what a step that does not fit raises."""
        async with self._changing:
            return await self._calls.run(self._auth.commit, *steps)

    async def follow(self) -> NoReturn:
        """Look for what others have changed."""
        while True:
            await self._calls.pause(LOOK_EVERY_S)
            try:
                await self._calls.run(self._auth.refresh)
            except HoldfastError as failure:
                log.debug("the users cannot be looked at, those before count: %s", failure)
