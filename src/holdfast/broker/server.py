"""The listening socket, all connections, and the limits they share."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.broker.connection import Connection
from holdfast.broker.held import HeldLoop
from holdfast.broker.request import Done, Request
from holdfast.io.clock import Clock
from holdfast.protocol.api import Key
from holdfast.types import Buffer

log = logging.getLogger(__name__)

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much clients may use."""

    frame_size_max: int = 100 * MIB
    connections_max: int = 10_000
    connection_size_max: int = 32 * MIB  # Bytes of unanswered requests of one connection.
    requests_size_max: int = 512 * MIB  # The same, of all connections together.
    idle_ms_max: int = 600_000
    stall_ms_max: int = 30_000  # A request of which nothing more arrives for this long gives its room back.


class Work(Protocol):
    """What requests are given to."""

    def start_produce(self, request: Request, done: Done) -> bool:
        """Begin a produce request now and call back with the answer; False when it has to wait."""

    async def handle(self, request: Request) -> Sequence[Buffer]:
        """The framed answer to a request; empty when none is to be sent."""


class Server:
    """Accepts connections and hands their requests to `work`."""

    def __init__(self, work: Work, limits: Limits, clock: Clock, held: HeldLoop | None = None) -> None:
        self._work = work
        self.limits = limits
        self.clock = clock
        self._connections: set[Connection] = set()
        self._held_size = 0
        self._listener: asyncio.Server | None = None
        self._sweep: asyncio.Task[None] | None = None
        self.start_produce = work.start_produce
        self.handle = work.handle
        self.held = held  # Who is told of steps that hold the loop; a broker that becomes whole has its own.

    def note_held(self, began: float) -> None:
        """Bytes were taken in since `began`, and produce requests in them have begun: it must not have taken long."""
        if self.held is not None:
            self.held.note(Key.PRODUCE, self.clock.monotonic() - began)

    async def listen(self, bound: socket.socket) -> None:
        """Begin to accept connections on a socket that is bound already."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), sock=bound, backlog=1024)
        self._sweep = asyncio.ensure_future(self._close_idle())

    async def stop(self, timeout: float) -> None:
        """Accept nothing more, let requests that were taken be answered, then close."""
        if self._listener is not None:
            self._listener.close()
        if self._sweep is not None:
            self._sweep.cancel()
        deadline = self.clock.monotonic() + timeout
        while any(not each.is_idle for each in self._connections) and self.clock.monotonic() < deadline:
            await asyncio.sleep(0.01)
        for each in list(self._connections):
            each.close()

    # Connections

    def add(self, connection: Connection) -> bool:
        """Whether one more connection is allowed."""
        if len(self._connections) >= self.limits.connections_max:
            return False
        self._connections.add(connection)
        return True

    def remove(self, connection: Connection) -> None:
        self._connections.discard(connection)

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    # Bytes of requests that are not answered yet

    @property
    def has_room(self) -> bool:
        return self._held_size < self.limits.requests_size_max

    def hold(self, size: int) -> None:
        self._held_size += size

    def release(self, size: int) -> None:
        had_room = self.has_room
        self._held_size -= size
        if self.has_room and not had_room:
            for each in list(self._connections):
                each.update_reading()

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(min(self.limits.idle_ms_max, self.limits.stall_ms_max) / 1000)
            now = self.clock.monotonic()
            for each in [each for each in self._connections if each.is_stalled(now - self.limits.stall_ms_max / 1000)]:
                log.warning("%s: closed, a request stopped arriving half-way", each.peer)
                each.abort()
            before = now - self.limits.idle_ms_max / 1000
            for each in [each for each in self._connections if each.is_idle and each.active_at < before]:
                log.debug("%s: closed, idle for %d ms", each.peer, self.limits.idle_ms_max)
                each.close()
