"""Looks, again and again, whether this process still owns the store.

A store that is away proves nothing: acknowledgements go on, since they are durable here. But a process that has not
even tried to look for a while was stopped, or its machine slept, and another may have taken its place: before it
acknowledges anything it looks (`hold`), for as long as the store may take to answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from holdfast.errors import Fenced, HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.log.background.rest import BACKGROUND, rest
from holdfast.log.ownership.life_seat import LifeOwner
from holdfast.log.ownership.owner import Owner

log = logging.getLogger(__name__)

_LATE_S = 1.0  # Later than this after the next look was due, the process was stopped: a busy loop is late, too.
_PATIENCE_S = 5.0  # So long the store may take to answer before a process that was stopped goes on without.


class OwnerWatch:
    """Belongs to one event loop."""

    def __init__(
        self,
        owner: Owner | LifeOwner,
        calls: BlockingCalls,
        clock: Clock,
        interval_s: float,
        on_fenced: Callable[[Fenced], None],
        is_disk_low: Callable[[], bool],
    ) -> None:
        """On a disk that is full what little room there is belongs to those who free some."""
        self._owner = owner
        self._calls = calls
        self._clock = clock
        self._interval_s = interval_s
        self._on_fenced = on_fenced
        self._is_disk_low = is_disk_low
        self._task: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._alive_at = clock.boottime()
        self._waiting: list[Callable[[], None]] = []
        self._woken = asyncio.Event()
        self._is_blind = False
        self.looks = 0
        self.failures = 0
        self.is_owner = True
        self.seen_at = clock.boottime()  # When we were the owner for sure.

    @property
    def claim(self) -> int:
        """The number of our claim."""
        return self._owner.claim.number

    @property
    def writer(self) -> tuple[str, str, str]:
        """Who we are in it: the broker's id, that of this process, and where it is, for people."""
        claim = self._owner.claim
        return claim.broker, self._owner.incarnation, claim.here.name

    def start(self) -> None:
        self._alive_at = self._clock.boottime()
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Look no more. A look that hangs is left to itself."""
        left = [each for each in (self._task, self._looking) if each is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._task = None
        self._let_go()

    def hold(self, then: Callable[[], None]) -> bool:
        """Whether `then` has to wait; it is called when we have looked."""
        if self._task is None or not (self._waiting or self._is_late()):
            return False
        self._waiting.append(then)
        self._woken.set()
        return True

    def _is_late(self) -> bool:
        return self._clock.boottime() - self._alive_at > self._interval_s + _LATE_S

    async def _run(self) -> None:
        while self.is_owner:
            await rest(self._woken, self._calls, self._interval_s)
            self._woken.clear()
            await self._tick()

    async def _tick(self) -> None:
        if self._waiting or self._is_late():  # It was stopped. What a look under way has seen may be from before.
            await asyncio.wait([self._begin()], timeout=_PATIENCE_S)  # Meanwhile it is still late, and `hold` holds.
            self._alive_at = self._clock.boottime()
            self._let_go()
            return
        self._alive_at = self._clock.boottime()
        if self._looking is None or self._looking.done():
            self._looking = self._begin()

    def _begin(self) -> asyncio.Task[None]:
        self._looking = asyncio.create_task(self.look(), name=BACKGROUND)
        return self._looking

    async def look(self) -> None:
        """Look once. A failure of the store is told once, until it answers again."""
        try:
            await self.check()
        except Fenced:
            pass  # It is told.
        except HoldfastError as failure:
            self.failures += 1
            level = logging.DEBUG if self._is_blind else logging.WARNING
            log.log(level, "whether this broker still owns the store is not known: %s", failure)
            self._is_blind = True
        else:
            self._is_blind = False

    async def check(self) -> None:
        """Look once. Raises OwnerChanged if another has taken the store over, or why that is not known."""
        began = self._clock.boottime()
        self.looks += 1
        try:
            await self._calls.run(self._owner.look, may_claim=not self._is_disk_low())
        except Fenced as failure:
            if self.is_owner:
                self.is_owner = False
                self._on_fenced(failure)
            raise
        self.seen_at = began

    def _let_go(self) -> None:
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()
