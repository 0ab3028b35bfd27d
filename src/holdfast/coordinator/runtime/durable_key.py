"""One key of an internal topic: what changes is written as a whole, and whoever depends on it waits until it is safe.

While a record is on its way to the disk, no other one follows it; the next one covers everything that has changed
meanwhile. So a burst of changes costs a few records, not one each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from holdfast.coordinator.runtime.writer import PartitionWriter
from holdfast.errors import HoldfastError
from holdfast.io.clock import Clock
from holdfast.record.records import Record


class DurableKey:
    """One value under one key. Belongs to one event loop."""

    def __init__(self, key: bytes, value: Callable[[], bytes | None], writer: PartitionWriter, clock: Clock) -> None:
        """`value` is asked when there is something to write; None takes the key back."""
        self._key = key
        self._value = value
        self._writer = writer
        self._clock = clock
        self._changes = 0
        self._written = 0  # The changes that are in the log …
        self._durable = 0  # … and that are durable there.
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._failure: BaseException | None = None

    def changed(self) -> None:
        """Have the value written. Nobody has to wait for it."""
        self._changes += 1
        self._write()

    async def durable(self) -> None:
        """Wait until all changes so far are durable; raises if they never will be."""
        if self._failure is not None:
            raise self._failure
        if self._durable == self._changes:
            return
        wait: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._changes, wait))
        await wait

    def _write(self) -> None:
        changes = self._changes
        if self._failure is not None or self._written > self._durable or changes == self._written:
            return
        record = Record(self._key, self._value(), self._clock.now_ms())
        try:
            self._writer.append([record], lambda _, failure: self._note_durable(changes, failure))
        except HoldfastError as failure:
            self._fail(failure)
            return
        self._written = changes

    def _note_durable(self, changes: int, failure: BaseException | None) -> None:
        if failure is not None:
            self._fail(failure)
            return
        self._durable = changes
        while self._waiting and self._waiting[0][0] <= changes:
            _, wait = self._waiting.popleft()
            if not wait.done():
                wait.set_result(None)
        self._write()

    def _fail(self, failure: BaseException) -> None:
        """The log has stopped: nothing more can be promised."""
        self._failure = failure
        while self._waiting:
            _, wait = self._waiting.popleft()
            if not wait.done():
                wait.set_exception(failure)
