"""Blocking calls and pauses for code on an event loop, handed in so that tests can own when they happen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Calls(Protocol):
    """Where blocking calls are made."""

    executor: Executor | None  # For parts that hand out work of their own; None: they must do without.

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a blocking call without blocking the loop."""

    async def pause(self, seconds: float) -> None:
        """Let time pass."""

    def block(self, seconds: float) -> None:
        """Let time pass inside a blocking call."""

    def close(self) -> None:
        """Take no more calls. Those under way end by themselves: a store that hangs must not keep us from stopping."""


class ThreadCalls:
    """Calls in a bounded pool of threads."""

    def __init__(self, threads: int = 8) -> None:
        self.executor: Executor | None = ThreadPoolExecutor(threads, thread_name_prefix="holdfast-call")

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.executor, lambda: call(*args, **kwargs))

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def block(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=True)


class InlineCalls:
    """Calls made at once, in the loop, one after the other: for runs that can be repeated."""

    executor: Executor | None = None

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        await asyncio.sleep(0)  # Others get their turn, as they would beside a thread.
        return call(*args, **kwargs)

    async def pause(self, seconds: float) -> None:  # noqa: ARG002
        await asyncio.sleep(0)

    def block(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass
