"""Blocking calls and pauses for code on an event loop, handed in so that tests can own when they happen.

Calls of the store and calls of this machine (its disk, its processor) have threads of their own: when a store hangs,
all of its threads may wait for it, and the local disk is read as if nothing were the matter.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_here = threading.local()  # `inside`: whether this thread, though it runs a loop, makes a blocking call on purpose.


class BlockingCalls(Protocol):
    """Where blocking calls are made."""

    executor: Executor | None  # For parts that hand out work of their own; None: they must do without.

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call that may wait for the store, without blocking the loop."""

    async def local(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a call that needs nothing but this machine: it never waits behind one of the store."""

    async def pause(self, seconds: float) -> None:
        """Let time pass."""

    def block(self, seconds: float) -> None:
        """Let time pass inside a blocking call."""

    async def ended(self, seconds: float) -> None:
        """Wait until no call is under way, also of those whose callers have gone; at most so long."""

    def close(self) -> None:
        """Take no more calls. Those under way end by themselves: a store that hangs must not keep us from stopping."""


def is_on_loop() -> bool:
    """Whether a call made here and now would block an event loop."""
    return asyncio._get_running_loop() is not None and not getattr(_here, "inside", False)


@contextmanager
def made_on_purpose() -> Iterator[None]:
    """What blocks in here is meant to, although a loop runs in this thread: the calls of a simulation."""
    before, _here.inside = getattr(_here, "inside", False), True
    try:
        yield
    finally:
        _here.inside = before


class ThreadCalls:
    """Calls in two bounded pools of threads."""

    def __init__(self, threads: int = 8, local_threads: int = 4) -> None:
        self.executor: Executor | None = ThreadPoolExecutor(threads, thread_name_prefix="holdfast-call")
        self._local = ThreadPoolExecutor(local_threads, thread_name_prefix="holdfast-local")
        self._under_way: set[Future[Any]] = set()

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        assert self.executor is not None
        return await self._made(self.executor, lambda: call(*args, **kwargs))

    async def local(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._made(self._local, lambda: call(*args, **kwargs))

    def _made(self, executor: Executor, call: Callable[[], T]) -> asyncio.Future[T]:
        under_way = executor.submit(call)
        self._under_way.add(under_way)
        under_way.add_done_callback(self._under_way.discard)
        return asyncio.wrap_future(under_way)

    async def ended(self, seconds: float) -> None:
        under_way = [asyncio.wrap_future(each) for each in list(self._under_way)]
        if under_way:
            await asyncio.wait(under_way, timeout=seconds)
            for each in under_way:
                each.add_done_callback(_hear)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def block(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=True)
        self._local.shutdown(wait=False, cancel_futures=True)


def _hear(ended: asyncio.Future[Any]) -> None:
    """Its caller has gone: nobody else asks how it ended."""
    if not ended.cancelled():
        ended.exception()


class InlineCalls:
    """Calls made at once, in the loop, one after the other: for runs that can be repeated."""

    executor: Executor | None = None

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        await asyncio.sleep(0)  # Others get their turn, as they would beside a thread.
        with made_on_purpose():
            return call(*args, **kwargs)

    async def local(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(call, *args, **kwargs)

    async def pause(self, seconds: float) -> None:  # noqa: ARG002
        await asyncio.sleep(0)

    def block(self, seconds: float) -> None:
        pass

    async def ended(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass
