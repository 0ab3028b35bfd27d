"""The life of a process in a model: a loop that turns when a rule says so, and that can go at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from tests.log.log_world import turns


class Opens(Protocol):
    """What lives in the process, and outlives it on its disk."""

    async def open(self) -> Any: ...


class Process:
    """Mixed into a machine, which has the house."""

    house: Opens
    loop: asyncio.AbstractEventLoop
    tasks: set[asyncio.Task[None]]  # What was begun and is not answered yet.

    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda *_: None)  # A process that is gone may say so.
        self.run(self.house.open())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def go(self, work: Coroutine[Any, Any, None], count: int) -> None:
        """Begin something, and let the loop turn a little."""
        self.tasks.add(self.loop.create_task(work))
        self.run(turns(count))
        self.note_ended()

    def note_ended(self) -> None:
        """What has ended must not have failed."""
        for task in [each for each in self.tasks if each.done()]:
            self.tasks.remove(task)
            task.result()

    def end_loop(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.tasks.clear()
        self.run(turns(2))
        self.loop.close()
