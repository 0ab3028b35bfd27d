"""One client's connection: frames in, answers out, in the order of the requests.

Requests are worked on one at a time, as Kafka does, except that produce requests start at once behind one another, so
that many of them share an fsync. Whatever is finished early waits for its turn to be sent.

Nothing here grows without bound: past the limits of requests and bytes the socket is simply not read, and a client that
does not read its answers is not served further until it does. What a request or an answer holds is counted byte by byte
as it is there, in the budgets of the server, and whoever keeps others from them is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import select
import socket
import struct
import termios
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.broker.guard.gate import NOTHING
from holdfast.broker.net.frames import SHARED_SIZE, Frames
from holdfast.broker.net.one_batch import decode_one
from holdfast.broker.net.outgoing import PROGRESS_SIZE, Outgoing
from holdfast.broker.net.request import SHARED_PACE, Request, Wait, new_request
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.address import Address
from holdfast.protocol.api import Key
from holdfast.protocol.header import decode_request_header
from holdfast.security.principal import Session
from holdfast.types import Buffer

if TYPE_CHECKING:
    from holdfast.broker.net.server import Server

log = logging.getLogger(__name__)

_REQUESTS_MAX = 128  # Of one connection, at the same time.
_UNTAKEN_SIZE = 1 << 20  # Bytes of answers the client has not taken: past this it is not served further.
_SMALL_SIZE = 8 << 10  # Who holds less than this is read on although all together hold too much: fetches, heartbeats.
_HELD_LOOK_S = 1.0  # A connection that is held by a quota is looked at so often: its client may have gone.
_NO_LINGER = struct.pack("ii", 1, 0)  # A socket is reset when it is closed.
_BYTES_A_SECOND = 256 << 10  # A large request has a second more for so many bytes of it.


class Slot:
    """The place of one answer in the order of answers."""

    __slots__ = ("answer", "done", "size")

    def __init__(self, size: int) -> None:
        self.size = size  # Of the request.
        self.done = False
        self.answer: Sequence[Buffer] = ()


class Connection(asyncio.BufferedProtocol):
    """The server's end of one connection."""

    def __init__(self, server: Server, told: Address, session: Session, peer: str) -> None:
        self._server = server
        self._told = told
        self.session = session
        self._frames = Frames(server.limits.frame_size_max, server.shared_buffer)
        self._transport: asyncio.Transport | None = None
        self._out: Outgoing | None = None
        self._slots: deque[Slot] = deque()
        self._waiting: deque[memoryview] = deque()  # Frames behind a request that is worked on alone.
        self._task: asyncio.Task[None] | None = None
        self._is_producing = False  # Whether that task is of a produce request.
        self._is_lost = False  # The client has gone: what it has produced is still appended, nothing else is done.
        self._appended: set[asyncio.Task[None]] = set()  # Of produce requests that wait for their fsync only.
        self._held_size = 0  # Bytes of all requests that are not answered yet.
        self._arrived_size = 0  # Bytes of the one that is not whole yet.
        self._began_at = 0.0  # When that one began to arrive, and
        self._moved_at = 0.0  # when enough of it has arrived since,
        self._moved_size = 0  # counted from here.
        self._paused_at = 0.0
        self._reading = True
        self._held_until = 0.0  # By a quota: until then nothing is read, and nothing of what was read begins.
        self._wait: Wait = lambda: 0.0  # For how long that would be by the quotas of now.
        self._holding: asyncio.TimerHandle | None = None
        self.peer = peer
        self.active_at = 0.0

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._out = Outgoing(transport, self._server.answers)
        _send_at_once(transport)
        self.active_at = self._server.clock.monotonic()
        self._server.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        for task in self._appended:
            task.cancel()
        if self._holding is not None:
            self._holding.cancel()
        self._transport = None
        self._server.remove(self)
        if self._out is not None:
            self._out.drop()
        arrived, self._arrived_size = self._arrived_size, 0
        self._server.requests.release(arrived)
        self._is_lost = True
        self._server.leaving.add(self)
        if self._task is not None and not self._is_producing:
            self._task.cancel()
            self._task = None
        self._resume()

    def _end(self) -> None:
        """Nothing of what was received is worked on any more."""
        self._waiting.clear()
        self._server.leaving.discard(self)
        held, self._held_size = self._held_size, 0
        self._server.requests.release(held)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._frames.buffer(SHARED_SIZE if self._server.requests.has_room else _SMALL_SIZE)

    def buffer_updated(self, nbytes: int) -> None:
        server = self._server
        now = self.active_at = server.clock.monotonic()
        try:
            frame = self._frames.only(nbytes)
            if frame is None:
                self._take_in(nbytes, now)
                self._work()
            else:
                self._held_size += len(frame)
                server.requests.hold(len(frame))
                if self._waiting or self._task is not None or not self._may_begin:
                    self._waiting.append(frame)
                else:
                    self._begin(frame)
                self.update_reading()
        except HoldfastError as failure:
            self.refuse(failure)
        server.note_held(now)

    def _take_in(self, size: int, now: float) -> None:
        """What has come is of several frames, or of one that is not whole, or was not before."""
        before = len(self._waiting)
        for frame in self._frames.received(size):
            self._held_size += len(frame)
            self._server.requests.hold(len(frame))
            self._waiting.append(frame)
        self._count_arrived(now, is_new=len(self._waiting) > before)

    def _count_arrived(self, now: float, *, is_new: bool) -> None:
        """Count what is here of a request that is not whole, and since when."""
        arrived = self._frames.arrived
        more, self._arrived_size = arrived - self._arrived_size, arrived
        if more > 0:
            self._server.requests.hold(more)
        elif more:
            self._server.requests.release(-more)
        if not self._frames.is_partial:
            if self._began_at:
                self._began_at = 0.0
                self._server.arriving.pop(self, None)
        elif not self._began_at or is_new:
            self._began_at = self._moved_at = now
            self._moved_size = arrived
            self._server.arriving.pop(self, None)
            self._server.arriving[self] = None  # Behind those that began before.
        elif arrived - self._moved_size >= PROGRESS_SIZE:
            self._moved_at, self._moved_size = now, arrived

    def pause_writing(self) -> None:
        assert self._out is not None
        self._out.pause()

    def resume_writing(self) -> None:
        assert self._out is not None
        self.active_at = self._server.clock.monotonic()
        self._out.resume(self.active_at)
        if not self._out.size:
            self._server.sending.pop(self, None)
        self._resume()

    # Requests

    def _work(self) -> None:
        """Begin what can begin, and read on only while there is room for more."""
        while self._waiting and self._task is None and self._may_begin:
            self._begin(self._waiting.popleft())
        self.update_reading()

    @property
    def _may_begin(self) -> bool:
        return self._takes_answers and self._transport is not None and self._holding is None

    def _work_on_what_is_left(self) -> None:
        """The client has gone: what it has produced is appended, in order. With acks=0 it waits for no answer."""
        while self._waiting and self._task is None:
            frame = self._waiting.popleft()
            if decode_request_header(frame).api_key == Key.PRODUCE:
                self._begin(frame)
        if self._task is None:
            self._end()

    def _begin(self, frame: memoryview) -> None:
        one = decode_one(frame)
        header = decode_request_header(frame) if one is None else one[0]
        request: Request = new_request(
            (header, frame, self.session, self._told, SHARED_PACE, NOTHING, None, self.hold, one)
        )
        slot = Slot(len(frame))
        self._slots.append(slot)
        if header.api_key == Key.PRODUCE and self._server.start_produce(
            request, lambda answer: self._answer_soon(slot, answer)
        ):
            return
        self._is_producing = header.api_key == Key.PRODUCE
        if self._is_producing:
            request = request._replace(appended=self._go_on)
        self._task = asyncio.ensure_future(self._handle(request, slot))

    def hold(self, seconds: float, wait: Wait) -> None:
        """Throttle: answers go out, but nothing is read for so long, or until there is nothing to wait for any more."""
        now = self._server.clock.monotonic()
        self._held_until = max(self._held_until, now + seconds)
        self._wait = wait
        self.active_at = max(self.active_at, self._held_until)  # It is not the client that is silent.
        if self._holding is None and self._transport is not None:
            pause = min(self._held_until - now, _HELD_LOOK_S)
            self._holding = asyncio.get_running_loop().call_later(pause, self._let_go)
            self._server.throttled[self] = None
            self.update_reading()

    def _let_go(self) -> None:
        self._holding = None
        now = self._server.clock.monotonic()
        left = min(self._held_until - now, self._wait())
        if left <= 0:
            self._held_until = self.active_at = now
            self._server.throttled.pop(self, None)
            self._resume()
        elif self._is_forsaken(now):
            self.abort()
        else:
            self._held_until = now + left
            self.hold(left, self._wait)

    def _is_forsaken(self, now: float) -> bool:
        """Whether the client has gone: who does not read is not told so. What it has left unread is kept a while."""
        link = None if self._transport is None else self._transport.get_extra_info("socket")
        if link is None or not _has_left(link):
            return False
        return not _has_unread(link) or now - self._paused_at > self._server.limits.idle_ms_max / 1000

    def _go_on(self) -> None:
        """The request that is worked on is in the log: others begin behind it while it becomes durable."""
        if self._task is not None:
            self._appended.add(self._task)
            self._task.add_done_callback(self._appended.discard)
            self._task = None
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        try:
            if self._is_lost:
                self._work_on_what_is_left()
            else:
                self._work()
        except HoldfastError as failure:
            self.refuse(failure)

    async def _handle(self, request: Request, slot: Slot) -> None:
        try:
            answer = await self._server.handle(request)
        except HoldfastError as failure:
            self.refuse(failure)
            return
        except Exception:
            log.exception("%s: a request of API %d failed", self.peer, request.header.api_key)
            self._drop()
            return
        finally:
            if self._task is asyncio.current_task():
                self._task = None
        self._answer(slot, answer)

    def _answer(self, slot: Slot, answer: Sequence[Buffer]) -> None:
        slot.answer = answer
        slot.done = True
        self.send_ready()

    def _answer_soon(self, slot: Slot, answer: Sequence[Buffer]) -> None:
        """The same, together with whatever else becomes ready in this turn of the loop."""
        slot.answer = answer
        slot.done = True
        self._server.send_soon(self)

    def send_ready(self) -> None:
        """Send what was answered, and go on."""
        self._send()
        if self._waiting or self._is_lost or not self._reading or self.untaken:
            self._resume()  # Nothing waits for most, and nothing else has changed for them.

    def _send(self) -> None:
        if self._transport is None or self._server.holds_back(self):
            return
        ready: list[Buffer] = []
        size = 0
        while self._slots and self._slots[0].done:
            slot = self._slots.popleft()
            ready += slot.answer
            size += slot.size
        if size:
            self._held_size -= size
            self._server.requests.release(size)
        if ready and self._out is not None:
            self._out.add(ready, self._server.clock.monotonic())
            if self._out.size:
                self._server.sending[self] = None

    # Limits

    @property
    def _takes_answers(self) -> bool:
        return self._out is not None and self._out.size <= _UNTAKEN_SIZE

    @property
    def missing(self) -> int:
        """Bytes that are still to come of a request that is not whole."""
        return self._frames.missing

    @property
    def untaken(self) -> int:
        """Bytes of answers that the client has not taken."""
        return 0 if self._out is None else self._out.size

    def update_reading(self) -> None:
        """Read, or do not, as the limits say."""
        room = (
            self._out is not None
            and self._out.size <= _UNTAKEN_SIZE
            and self._holding is None
            and not self._server.is_ending
            and len(self._slots) + len(self._waiting) < _REQUESTS_MAX
            and self._held_size < self._server.limits.connection_size_max
            and (self._held_size + self._arrived_size < _SMALL_SIZE or self._server.may_read(self))
        )
        if room is self._reading or self._transport is None or self._transport.is_closing():
            return
        if room and not self._reading:
            self._reading = True
            paused = self._server.clock.monotonic() - self._paused_at
            self._began_at += paused if self._began_at else 0  # It was not the client that did nothing.
            self._moved_at += paused
            self._transport.resume_reading()
        elif not room and self._reading:
            self._reading = False
            self._paused_at = self._server.clock.monotonic()
            self._transport.pause_reading()

    def is_late(self, now: float, allowed_s: float) -> bool:
        """Whether a request takes too long to arrive, as a whole or since its last bytes worth the name."""
        if not self._reading or not self._began_at:
            return False
        whole_s = allowed_s + self._arrived_size / _BYTES_A_SECOND
        return now - self._began_at > whole_s or self.is_stalled(now, allowed_s)

    def is_stalled(self, now: float, allowed_s: float) -> bool:
        """Whether it is read, and too little of its request has come for so long."""
        return self._reading and self._began_at > 0 and now - self._moved_at > allowed_s

    def takes_nothing(self, now: float, allowed_s: float) -> bool:
        """Whether there are answers, and the client has taken too little of them for so long."""
        return self._out is not None and self._out.size > 0 and now - self._out.taken_at > allowed_s

    def keeps_room(self, now: float, allowed_s: float) -> bool:
        """Whether a quota holds it back for longer, with requests that others need the room of."""
        held_s = self._held_until - now if self._holding is not None else 0.0
        return held_s > allowed_s and self._held_size + self._arrived_size >= _SMALL_SIZE

    def forget_waiting(self) -> None:
        """What has not begun never will."""
        self._waiting.clear()

    @property
    def is_idle(self) -> bool:
        return not self._slots and not self._waiting

    def refuse(self, failure: Exception) -> None:
        """What the client sent cannot be answered: say why in the log, and close."""
        self._server.lines.warning("%s: connection closed: %s", self.peer, failure)
        if isinstance(failure, Unavailable):
            self._reset_if_new()
        self._drop()

    def _drop(self) -> None:
        """Close. What came behind a request that failed is not worked on: how should the client know of either?"""
        self._waiting.clear()
        self.abort()
        if self._is_lost:
            self._end()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Send what is ready, then close. A client that takes no answers is not waited for."""
        if self.untaken:
            self.abort()
        elif self._transport is not None:
            with contextlib.suppress(RuntimeError):
                self._transport.close()

    def _reset_if_new(self) -> None:
        """Who was never answered hears of an error when we close, and tries again: a mere end is a refusal to some."""
        link = None if self._transport is None else self._transport.get_extra_info("socket")
        if link is not None and self._out is not None and not self._out.has_begun:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)

    def stop(self) -> None:
        """Close, and work on nothing any more, whether the client is there or not."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._reset_if_new()
        self.close()
        if self._is_lost:
            self._end()


def _has_left(link: socket.socket) -> bool:
    """Whether nothing more will come."""
    watch = select.poll()
    watch.register(link.fileno(), select.POLLRDHUP)
    return bool(watch.poll(0))


def _has_unread(link: socket.socket) -> bool:
    return any(fcntl.ioctl(link.fileno(), termios.FIONREAD, bytes(4)))


def _send_at_once(transport: asyncio.Transport) -> None:
    """No waiting for more to send. asyncio does this only for sockets that were made with an explicit protocol number;
    without it the end of a large answer waits for the client's delayed ack, 40 ms."""
    link = transport.get_extra_info("socket")
    if link is not None and link.family in (socket.AF_INET, socket.AF_INET6):
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
