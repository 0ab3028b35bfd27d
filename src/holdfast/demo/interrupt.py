"""Ctrl-C and SIGTERM end the demo, but never inside a call of a client.

librdkafka's client calls back from C. Python's own KeyboardInterrupt, which carries no value, it loses there: the call
fails with a SystemError, and nobody knows of an interrupt.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Interrupt:
    """Raised as KeyboardInterrupt: at once, or where the call under way ends. A second one does not wait for that."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._cancel: Callable[[], object] | None = None  # Ends the call under way sooner.
        self._holds = False
        self._heard = False

    def __enter__(self) -> Self:
        for each in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(each) is not signal.SIG_IGN:  # Whoever ignores it goes on so.
                self._before[each] = signal.signal(each, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        if self._heard or not self._holds:
            raise KeyboardInterrupt
        self._heard = True
        if self._cancel is not None:
            self._cancel()

    def behind(self, call: Callable[[], T]) -> T:
        """Make a call which an interrupt must not reach; it is raised behind it. No other thread gets any."""
        if threading.current_thread() is not threading.main_thread():
            return call()
        self._holds = True
        try:
            return call()
        finally:
            self._holds = False
            if self._heard:
                raise KeyboardInterrupt

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on a loop of its own, which an interrupt cancels."""

        async def cancellable() -> T:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert task is not None
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            try:
                return await work
            finally:
                self._cancel = None

        return self.behind(lambda: asyncio.run(cancellable()))
