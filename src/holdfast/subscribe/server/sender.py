"""The last stage: a bounded queue with a sender of its own, so that whoever reads never waits for a single send.

A failure of the sender surfaces at the next `send` and at `close`; whoever waits for room is told at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from holdfast.subscribe.merge.memory import Share

MESSAGES_MAX = 1024
_MESSAGE_SIZE = 64 << 10  # So much must be allowed for one more to be queued behind others.
SIZE_MAX = 16 << 20  # Bytes in the queue; one message is always taken.


class Sender:
    """Sends messages in order. Run `run` in a task."""

    def __init__(
        self,
        write: Callable[[bytes], Awaitable[Any]],
        messages_max: int = MESSAGES_MAX,
        size_max: int = SIZE_MAX,
        share: Share | None = None,
    ) -> None:
        self._write = write
        self._messages_max = messages_max
        self._size_max = size_max
        self._share = share or Share()  # Of what all together may hold.
        self._queue: deque[bytes] = deque()
        self._size = 0
        self._failure: BaseException | None = None
        self._refusal: Exception | None = None
        self._filled = asyncio.Event()
        self._moved = asyncio.Event()  # Something was sent, or will never be.
        self.sent = 0  # Messages.

    @property
    def queued(self) -> int:
        return len(self._queue)

    async def send(self, *messages: bytes) -> None:
        """Queue messages; waits only while the queue is full. Raises what the sender failed with."""
        for message in messages:
            while not self._has_room():
                self._moved.clear()
                await self._moved.wait()
            self._queue.append(message)
            self._size += len(message)
            self._share.add(len(message))
            self._filled.set()

    def _has_room(self) -> bool:
        self._check()
        if not self._queue:
            return True
        within = len(self._queue) < self._messages_max and self._size < self._size_max
        return within and self._share.allows(_MESSAGE_SIZE)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._refusal is not None:
            raise self._refusal

    def refuse(self, why: Exception) -> None:
        """Take nothing more: whoever wants to send, or waits for room to, is told why."""
        self._refusal = why
        self._moved.set()

    async def through(self) -> None:
        """Wait until all is sent: what comes meanwhile can go together. Raises as `send` does."""
        while self._queue:
            self._check()
            self._moved.clear()
            await self._moved.wait()
        self._check()

    async def close(self) -> None:
        """Wait until all is sent. Raises what the sender failed with."""
        while self._failure is None and self._queue:
            self._moved.clear()
            await self._moved.wait()
        if self._failure is not None:
            raise self._failure

    async def let_go(self, seconds: float) -> None:
        """Drop what is queued, and wait for what is being sent: before that nothing else can be said on its wire."""
        while len(self._queue) > 1:
            size = len(self._queue.pop())
            self._size -= size
            self._share.add(-size)
        with suppress(Exception):  # Also a time-out: a client that does not read is told nothing.
            async with asyncio.timeout(seconds):
                await self.close()

    async def run(self) -> None:
        """The sender's whole life: ends when it is cancelled, or with the first message that cannot be sent."""
        try:
            while True:
                while not self._queue:
                    self._filled.clear()
                    await self._filled.wait()
                message = self._queue[0]  # It counts as queued until it is sent: `close` waits for it.
                await self._write(message)
                self._queue.popleft()
                self._size -= len(message)
                self._share.add(-len(message))
                self.sent += 1
                self._moved.set()
        except BaseException as failure:
            self._failure = failure if isinstance(failure, Exception) else ConnectionAbortedError("the sender stopped")
            self._moved.set()
            raise
