"""Blocking calls that a test performs and answers itself, one by one: everything else happens in between.

A call of a thread has two moments, when it takes effect and when the loop hears of it. Both are the test's.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, ParamSpec, TypeVar

from holdfast.io.calls import made_on_purpose

P = ParamSpec("P")
T = TypeVar("T")

_PARKING: contextvars.ContextVar[bool] = contextvars.ContextVar("parking", default=False)


class Parked:
    """One blocking call that waits for the test."""

    def __init__(self, name: str, call: Callable[[], Any]) -> None:
        self.name = name
        self._call = call
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.performed = False
        self._result: Any = None
        self._failure: Exception | None = None

    def perform(self) -> None:
        """Let it take effect; nobody hears of it yet."""
        self.performed = True
        try:
            with made_on_purpose():
                self._result = self._call()
        except Exception as failure:
            self._failure = failure

    def deliver(self) -> None:
        """Let its caller hear of it, if there still is one."""
        if self.answer.done():
            return
        if self._failure is not None:
            self.answer.set_exception(self._failure)
        else:
            self.answer.set_result(self._result)


class ParkedCalls:
    """Parks the calls of tasks that were started by `start`; all others are made at once."""

    executor: Executor | None = None

    def __init__(self) -> None:
        self.parked: list[Parked] = []

    def start(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None = None) -> asyncio.Task[T]:
        """A task whose blocking calls are parked."""
        context = contextvars.copy_context()
        context.run(_PARKING.set, True)
        return (loop or asyncio.get_running_loop()).create_task(work, context=context)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if not _PARKING.get():
            await asyncio.sleep(0)
            with made_on_purpose():
                return call(*args, **kwargs)
        parked = Parked(getattr(call, "__name__", "?"), lambda: call(*args, **kwargs))
        self.parked.append(parked)
        result: T = await parked.answer
        return result

    async def local(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(call, *args, **kwargs)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(0)

    def block(self, seconds: float) -> None:
        pass

    async def ended(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass

    def perform(self) -> Parked:
        """Let the oldest call that has not happened yet happen."""
        found = next(each for each in self.parked if not each.performed)
        found.perform()
        return found

    def deliver(self) -> None:
        """Let the oldest call be heard of, which must have happened."""
        found = self.parked.pop(0)
        assert found.performed
        found.deliver()

    def let_go(self) -> None:
        """Perform and deliver the oldest call."""
        if not self.parked[0].performed:
            self.parked[0].perform()
        self.deliver()
