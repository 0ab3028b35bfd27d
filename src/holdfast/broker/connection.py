"""One client's connection: frames in, answers out, in the order of the requests.

Requests are worked on one at a time, as Kafka does, except that produce requests start at once behind one another, so
that many of them share an fsync. Whatever is finished early waits for its turn to be sent.

Nothing here grows without bound: past the limits of requests and bytes the socket is simply not read, and a client that
does not read its answers is not served further until it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.broker.frames import Frames
from holdfast.broker.request import Request
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.header import decode_request_header
from holdfast.types import Buffer

if TYPE_CHECKING:
    from holdfast.broker.server import Server

log = logging.getLogger(__name__)

_REQUESTS_MAX = 128  # Of one connection, at the same time.
_WRITE_HIGH = 4 << 20  # Bytes of answers the client has not taken: past this it is not served further.
_JOIN_BELOW = 64 << 10
_SMALL_SIZE = 64 << 10  # Who holds less than this is read on although all together hold too much: fetches, heartbeats.


class _Slot:
    """The place of one answer in the order of answers."""

    __slots__ = ("answer", "done", "size")

    def __init__(self, size: int) -> None:
        self.size = size  # Of the request.
        self.done = False
        self.answer: Sequence[Buffer] = ()


class Connection(asyncio.BufferedProtocol):
    """The server's end of one connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._frames = Frames(server.limits.frame_size_max)
        self._transport: asyncio.Transport | None = None
        self._slots: deque[_Slot] = deque()
        self._waiting: deque[memoryview] = deque()  # Frames behind a request that is worked on alone.
        self._task: asyncio.Task[None] | None = None
        self._appended: set[asyncio.Task[None]] = set()  # Of produce requests that wait for their fsync only.
        self._held_size = 0  # Bytes of all requests that are not answered yet.
        self._reserved_size = 0  # Bytes of a large frame that is still arriving.
        self._reading = True
        self._writable = True
        self.peer = ""
        self.active_at = 0.0

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        address = transport.get_extra_info("peername")
        self.peer = address[0] if isinstance(address, tuple) else str(address)
        transport.set_write_buffer_limits(high=_WRITE_HIGH)
        _send_at_once(transport)
        self.active_at = self._server.clock.monotonic()
        if not self._server.add(self):
            log.warning("%s: refused, %d connections are open", self.peer, self._server.limits.connections_max)
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        for task in (self._task, *self._appended):
            if task is not None:
                task.cancel()
        self._transport = None
        self._server.release(self._held_size + self._reserved_size)
        self._held_size = self._reserved_size = 0
        self._waiting.clear()
        self._server.remove(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self.active_at = self._server.clock.monotonic()
        try:
            for frame in self._frames.received(nbytes):
                self._held_size += len(frame)
                self._server.hold(len(frame))
                self._waiting.append(frame)
            if self._reserved_size and not self._frames.arriving:
                self._server.release(self._reserved_size)  # It is held as a request now.
                self._reserved_size = 0
            self._work()
        except HoldfastError as failure:
            self.refuse(failure)
        self._server.note_held(self.active_at)

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._resume()

    # Requests

    def _work(self) -> None:
        """Begin what can begin, and read on only while there is room for more."""
        while self._waiting and self._task is None and self._writable and self._transport is not None:
            self._begin(self._waiting.popleft())
        self.update_reading()

    def _begin(self, frame: memoryview) -> None:
        header = decode_request_header(frame)
        request = Request(header, frame, self.peer)
        slot = _Slot(len(frame))
        self._slots.append(slot)
        if header.api_key == Key.PRODUCE and self._server.start_produce(
            request, lambda answer: self._answer(slot, answer)
        ):
            return
        if header.api_key == Key.PRODUCE:
            request = request._replace(appended=self._go_on)
        self._task = asyncio.ensure_future(self._handle(request, slot))

    def _go_on(self) -> None:
        """The request that is worked on is in the log: others begin behind it while it becomes durable."""
        if self._task is not None:
            self._appended.add(self._task)
            self._task.add_done_callback(self._appended.discard)
            self._task = None
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        try:
            self._work()
        except HoldfastError as failure:
            self.refuse(failure)

    async def _handle(self, request: Request, slot: _Slot) -> None:
        try:
            answer = await self._server.handle(request)
        except HoldfastError as failure:
            self.refuse(failure)
            return
        except Exception:
            log.exception("%s: a request of API %d failed", self.peer, request.header.api_key)
            self.abort()
            return
        if self._task is asyncio.current_task():
            self._task = None
        self._answer(slot, answer)

    def _answer(self, slot: _Slot, answer: Sequence[Buffer]) -> None:
        slot.answer = answer
        slot.done = True
        if self._transport is None:
            return
        self._send()
        self._resume()

    def _send(self) -> None:
        ready: list[Buffer] = []
        size = 0
        while self._slots and self._slots[0].done:
            slot = self._slots.popleft()
            ready += slot.answer
            size += slot.size
        if size:
            self._held_size -= size
            self._server.release(size)
        if ready and self._transport is not None:
            for piece in _pieces(ready):
                self._transport.write(piece)

    # Limits

    def update_reading(self) -> None:
        """Read, or do not, as the limits say."""
        if self._transport is None or self._transport.is_closing():
            return
        limits = self._server.limits
        room = (
            self._writable
            and len(self._slots) + len(self._waiting) < _REQUESTS_MAX
            and self._held_size < limits.connection_size_max
            and self._reserve()
        )
        if room and not self._reading:
            self._reading = True
            self._transport.resume_reading()
        elif not room and self._reading:
            self._reading = False
            self._transport.pause_reading()

    def _reserve(self) -> bool:
        """Whether there is room for what arrives. A large frame has its room from its announcement on, or waits."""
        arriving = self._frames.arriving
        if not arriving:
            return self._server.has_room or self._held_size < _SMALL_SIZE
        if not self._reserved_size and self._server.has_room:
            self._reserved_size = arriving
            self._server.hold(arriving)
        return self._reserved_size > 0

    def is_stalled(self, before: float) -> bool:
        """Whether a large frame has its room but nothing of it has come since."""
        return self._reserved_size > 0 and self._reading and self.active_at < before

    @property
    def is_idle(self) -> bool:
        return not self._slots and not self._waiting

    def refuse(self, failure: Exception) -> None:
        """What the client sent cannot be answered: say why in the log, and close."""
        log.warning("%s: connection closed: %s", self.peer, failure)
        self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Send what is ready, then close."""
        if self._transport is not None:
            with contextlib.suppress(RuntimeError):
                self._transport.close()


def _send_at_once(transport: asyncio.Transport) -> None:
    """No waiting for more to send. asyncio does this only for sockets that were made with an explicit protocol number;
    without it the end of a large answer waits for the client's delayed ack, 40 ms."""
    link = transport.get_extra_info("socket")
    if link is not None and link.family in (socket.AF_INET, socket.AF_INET6):
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _pieces(buffers: list[Buffer]) -> list[Buffer]:
    """Small buffers joined, large ones as they are: one copy is cheaper than a system call, for small ones."""
    pieces: list[Buffer] = []
    small: list[Buffer] = []
    for buffer in buffers:
        if len(buffer) < _JOIN_BELOW:
            small.append(buffer)
            continue
        if small:
            pieces.append(b"".join(small))
            small = []
        pieces.append(buffer)
    if small:
        pieces.append(b"".join(small))
    return pieces
