"""The watchdog of the event loop: notices which API has held it for too long, counts it, and says so.

Every handler is stepped through here, so a step that does not give the loop back in time has a name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, TypeVar

from holdfast.io.clock import Clock
from holdfast.measure import HeldCounts
from holdfast.protocol.api import APIS, Key

log = logging.getLogger(__name__)

LIMIT_S = 0.005  # Counted from here on.
_TOLD_S = 0.05  # Worth a line from here on,
_TOLD_AGAIN_S = 60.0  # but only one a minute for each API.

T = TypeVar("T")


class HeldLoop:
    """How often, and for how long, the loop was held, by the API's name."""

    def __init__(self, clock: Clock) -> None:
        self.now = clock.monotonic
        self.counts = {APIS[key].name: HeldCounts() for key in (Key.PRODUCE, Key.FETCH)}  # So that 0 is told, too.
        self._told_at: dict[str, float] = {}

    def note(self, api_key: int, seconds: float) -> None:
        """One step of an API's work has taken so long."""
        if seconds < LIMIT_S:
            return
        name = APIS[api_key].name if api_key in APIS else "unknown"
        counts = self.counts.setdefault(name, HeldCounts())
        counts.count += 1
        counts.seconds += seconds
        now = self.now()
        if seconds >= _TOLD_S and now - self._told_at.get(name, -_TOLD_AGAIN_S) >= _TOLD_AGAIN_S:
            self._told_at[name] = now
            facts = {"event": "loop_held", "api": name, "held_ms": round(seconds * 1000)}
            log.warning("the event loop was held for %d ms by %s", seconds * 1000, name, extra={"facts": facts})

    async def watch(
        self, api_key: int, work: Coroutine[Any, Any, T], spent: Callable[[float], None] | None = None
    ) -> T:
        """Do the work, and note each of its steps; `spent` is told how long each took."""
        return await _Steps(self, api_key, work, spent)


class _Steps(Generic[T]):
    """An awaitable that does what another does, step by step."""

    __slots__ = ("_api_key", "_held", "_spent", "_work")

    def __init__(
        self, held: HeldLoop, api_key: int, work: Coroutine[Any, Any, T], spent: Callable[[float], None] | None
    ) -> None:
        self._spent = spent
        self._held = held
        self._api_key = api_key
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        held, work = self._held, self._work
        step = partial(work.send, None)
        while True:
            began = held.now()
            try:
                waited = step()
            except StopIteration as done:
                result: T = done.value
                return result
            finally:
                seconds = held.now() - began
                held.note(self._api_key, seconds)
                if self._spent is not None:
                    self._spent(seconds)
            try:
                sent = yield waited
            except GeneratorExit:
                work.close()
                raise
            except BaseException as failure:
                step = partial(work.throw, failure)
            else:
                step = partial(work.send, sent)
