"""The listening sockets, all connections, and the limits they share."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Protocol

from holdfast.broker.guard.audit import Audit
from holdfast.broker.net.budget import Budget
from holdfast.broker.net.connection import Connection
from holdfast.broker.net.frames import SHARED_SIZE
from holdfast.broker.net.listener import OpenListener
from holdfast.broker.net.login import LoginConnection
from holdfast.broker.net.loop_watch import HeldLoop
from holdfast.broker.net.request import Done, Request
from holdfast.broker.net.tls_link import RECEIVED_SIZE, TlsLink
from holdfast.io.accept import REFUSALS, AcceptLimits, Acceptor, within_descriptors
from holdfast.io.accept_rate import RateOf
from holdfast.io.calls import ThreadCalls
from holdfast.io.clock import Clock
from holdfast.io.sparing import SparingLines
from holdfast.io.turns import AT_ONCE, a_few_a_turn
from holdfast.measure import PortCounts
from holdfast.protocol.api import Key
from holdfast.security.logins.checks import KnownUsers
from holdfast.security.principal import Session
from holdfast.types import Buffer

log = logging.getLogger(__name__)

MIB = 1 << 20
_LOOK_S = 0.25
_UNPROVEN_PART = 4  # Of all connections, at most one in so many may be without a session.
_LOGIN_THREADS = 2  # For checks of logins that need this machine only, and as many for those that need others.
_PRESSED_S = 1.0  # Without progress, when others wait.
_FAILED_STOP_S = 0.5  # For answers to be sent, when what answers has failed.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """How much clients may use."""

    frame_size_max: int = 100 * MIB
    connections_max: int = 10_000
    address_connections_max: int = 2**31 - 1  # From one address,
    address_overrides: Mapping[str, int] = field(default_factory=dict)  # or another number for some of them.
    connections_per_second: int = 2**31 - 1
    connection_size_max: int = 32 * MIB  # Bytes of unanswered requests of one connection.
    requests_size_max: int = 512 * MIB  # The same, of all connections together.
    answers_size_max: int = 256 * MIB  # Bytes of answers that clients have not taken, of all connections together.
    idle_ms_max: int = 600_000
    arrive_ms_max: int = 30_000  # For a whole request to arrive; a large one has longer.
    take_ms_max: int = 30_000  # Without any progress in taking answers.
    failed_login_ms: int = 100  # A failure is told so long after the token came.
    login_ms_max: int = 10_000  # For a handshake and a login, from the first byte to the last.


class Work(Protocol):
    """What requests are given to."""

    def start_produce(self, request: Request, done: Done) -> bool:
        """Begin a produce request now and call back with the answer; False when it has to wait."""

    async def handle(self, request: Request) -> Sequence[Buffer]:
        """The framed answer to a request; empty when none is to be sent."""


class Server:
    """Accepts connections and hands their requests to `work`."""

    def __init__(self, work: Work, limits: ConnectionLimits, clock: Clock, held: HeldLoop | None = None) -> None:
        self._work = work
        self.limits = limits
        self.clock = clock
        self.lines = SparingLines(log, clock.monotonic)
        self.shared_buffer = memoryview(bytearray(SHARED_SIZE + 4))
        self.received = memoryview(bytearray(RECEIVED_SIZE))  # What links with TLS receive, still encrypted.
        self._handshakes: dict[TlsLink, float] = {}  # And since when, the oldest first.
        self._logins: dict[LoginConnection, float] = {}  # The same of those who have not said who they are.
        self.users: Callable[[], KnownUsers | None] = lambda: (
            None
        )  # None: the store that keeps them has not answered yet.
        self.is_peer: Callable[[memoryview], bool] = lambda _: False  # Whether a frame proves to be another broker's.
        self.audit = Audit(clock.monotonic)
        self.login_calls = ThreadCalls(_LOGIN_THREADS, _LOGIN_THREADS)
        self.requests = Budget(limits.requests_size_max)  # Bytes that have arrived and are not answered.
        self.requests.on_room = self._read_again
        self.answers = Budget(limits.answers_size_max)  # Bytes of answers that nobody has taken.
        self.arriving: dict[Connection, None] = {}  # Whose requests are not whole, the oldest first.
        self.sending: dict[Connection, None] = {}  # Who has not taken all answers.
        self.throttled: dict[Connection, None] = {}  # Whom a quota holds back, the first of them first.
        self._granted: set[Connection] = set()  # Whose requests may become whole although there is no room.
        self._connections: set[Connection] = set()
        self.leaving: set[Connection] = set()  # Whose clients have gone, and whose produce requests are worked on.
        self._acceptor: Acceptor | None = None
        self._sweep: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._answered: dict[Connection, None] = {}  # Who has answers that are not sent yet.
        self._send_due = False
        self._is_held_back = False
        self.is_ending = False  # Nothing more is read.
        self._has_new_room = False  # Since connections were last told of it.
        self._idle_looked_at = clock.monotonic()
        self.start_produce = work.start_produce
        self.handle = work.handle
        self.held = held  # Who is told of steps that hold the loop; a broker that becomes whole has its own.
        self.has_failed: Callable[[], bool] = lambda: False  # Whether nothing more can be answered: a broker knows.
        self.hold: Callable[[Callable[[], None]], bool] = lambda then: False  # noqa: ARG005  # Whether answers wait.
        self.address_rate: RateOf = lambda _: None  # New connections a second of an address: a broker knows its quotas.
        self.closed: Counter[str] = Counter(
            late=0, unread=0, tls=0, sasl=0
        )  # Connections that were closed for what they did, by the reason.

    def note_held(self, began: float) -> None:
        """Bytes were taken in since `began`, and produce requests in them have begun: it must not have taken long."""
        if self.held is not None:
            self.held.note(Key.PRODUCE, self.clock.monotonic() - began)

    async def listen(self, listeners: Sequence[OpenListener]) -> None:
        """Begin to accept connections."""
        accept = _accept_limits(self.limits)
        doors = {each.bound: partial(self._made, each) for each in listeners}
        now = self.clock.monotonic
        self._acceptor = Acceptor(doors, accept, now, lambda address: self.address_rate(address))
        self._sweep = asyncio.ensure_future(self._look_after())

    def _made(self, listener: OpenListener, peer: str) -> asyncio.BaseProtocol:
        if listener.tls is not None:
            return TlsLink(self, listener, peer)
        return self.connection(listener, listener.session(peer), peer, self.clock.monotonic())

    def connection(self, listener: OpenListener, session: Session, peer: str, began: float) -> Connection:
        """What begins behind TLS, or at once."""
        if listener.checks is None:
            return Connection(self, listener.told, session, peer)
        return LoginConnection(self, listener.told, session, peer, listener.checks, began)

    def change_limits(self, limits: ConnectionLimits) -> None:
        """Other limits of connections, for whoever comes next; all others must be as they were."""
        self.limits = limits
        if self._acceptor is not None:
            self._acceptor.limits = _accept_limits(limits)

    async def stop(self, timeout: float) -> None:
        """Accept nothing more, let requests that were taken be answered, as far as they can be, then close.

        Nothing is worked on afterwards: what it would need is closed next.
        """
        if self._acceptor is not None:
            self._acceptor.close()
        if self._sweep is not None:
            self._sweep.cancel()
        self.is_ending = True
        async for each in a_few_a_turn([*self._connections]):
            each.update_reading()
        deadline = self.clock.monotonic() + (_FAILED_STOP_S if self.has_failed() else timeout)
        while self._is_busy() and self.clock.monotonic() < deadline:
            await asyncio.sleep(0.01)
        for link in list(self._handshakes):
            link.abort()
        async for each in a_few_a_turn([*self._connections, *self.leaving]):
            each.stop()
        self.login_calls.close()

    def _is_busy(self) -> bool:
        return bool(self.sending or self.leaving or any(not each.is_idle for each in self._connections))

    # Connections

    def add(self, connection: Connection) -> None:
        self._connections.add(connection)

    def remove(self, connection: Connection) -> None:
        if connection in self._connections and self._acceptor is not None:
            self._acceptor.left(connection.peer)
        if isinstance(connection, LoginConnection):
            self.end_login(connection)
        self._connections.discard(connection)
        self._granted.discard(connection)
        self.arriving.pop(connection, None)
        self.sending.pop(connection, None)
        self.throttled.pop(connection, None)

    def add_handshake(self, link: TlsLink) -> None:
        """A connection that may become one."""
        self._handshakes[link] = self.clock.monotonic()
        self._bound_unproven()

    def end_handshake(self, link: TlsLink, *, is_lost: bool = False) -> float:
        """Since when it was one."""
        began = self._handshakes.pop(link, None)
        if began is not None and is_lost and self._acceptor is not None:
            self._acceptor.left(link.peer)
        return self.clock.monotonic() if began is None else began

    def add_login(self, connection: LoginConnection, began: float) -> None:
        """A connection of somebody who has still to say who they are."""
        self._logins[connection] = began
        self._bound_unproven()

    def end_login(self, connection: LoginConnection) -> None:
        self._logins.pop(connection, None)

    def _bound_unproven(self) -> None:
        """Who is slow to say who they are leaves room for those who did."""
        if len(self._handshakes) + len(self._logins) <= max(self.limits.connections_max // _UNPROVEN_PART, 1):
            return
        link, connection = next(iter(self._handshakes), None), next(iter(self._logins), None)
        if connection is not None and (link is None or self._logins[connection] < self._handshakes[link]):
            self._close(connection, "sasl", "too many others wait for their login, too")
        elif link is not None:
            self._close(link, "tls", "too many others wait for their handshake, too")

    @property
    def connection_count(self) -> int:
        return len(self._connections) + len(self._handshakes)

    @property
    def refused(self) -> Mapping[str, int]:
        """Connections that were not taken, by the limit that was hit."""
        return {} if self._acceptor is None else self._acceptor.refused

    def counts(self) -> PortCounts:
        refused = {limit: self.refused.get(limit, 0) for limit in REFUSALS}
        return PortCounts(self.connection_count, self.requests.size, self.answers.size, refused, dict(self.closed))

    # Answers

    def send_soon(self, connection: Connection) -> None:
        """It has answers to send, perhaps with more to come in this turn of the loop: a call of the system for all."""
        self._answered[connection] = None
        self._send_next()

    def _send_next(self) -> None:
        if self._answered and not self._send_due and not self._is_held_back:
            self._send_due = True
            asyncio.get_running_loop().call_soon(self._send_answered)

    def _send_answered(self) -> None:
        """To a few of them; the others are next."""
        self._send_due = False
        try:
            for each in list(islice(self._answered, AT_ONCE)):
                del self._answered[each]
                each.send_ready()
        finally:
            self._send_next()

    def holds_back(self, connection: Connection) -> bool:
        """Whether its answers have to wait. They were decided on, and then this process was stopped: perhaps another
        has taken its place, and that is looked up before anything goes out."""
        if not self._is_held_back:
            self._is_held_back = self.hold(self._let_go)
        if self._is_held_back:
            self._answered[connection] = None
        return self._is_held_back

    def _let_go(self) -> None:
        self._is_held_back = False
        if self.has_failed():
            waiting, self._answered = self._answered, {}
            for each in waiting:
                each.abort()  # What it would say is not true any more.
        self._send_next()

    # Room for requests

    def may_read(self, connection: Connection) -> bool:
        return self.requests.has_room or connection in self._granted

    def _read_again(self) -> None:
        self._granted.clear()
        self._has_new_room = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.ensure_future(self._tell_of_room())

    async def _tell_of_room(self) -> None:
        """All connections, and all of them again if the room went and came back meanwhile."""
        while self._has_new_room:
            self._has_new_room = False
            async for each in a_few_a_turn(list(self._connections)):
                each.update_reading()

    def _grant(self) -> None:
        """Let the oldest requests become whole, beyond the limit by one request's size: or none would ever."""
        left = self.limits.requests_size_max + self.limits.frame_size_max - self.requests.size
        for each in self.arriving:
            left -= each.missing
            if left < 0:
                return
            if each not in self._granted:
                self._granted.add(each)
                each.update_reading()

    # Closing

    async def _look_after(self) -> None:
        """From time to time close whoever takes what others need."""
        quick = min(_LOOK_S, self.limits.idle_ms_max / 1000, self.limits.arrive_ms_max / 4000)
        while True:
            is_busy = self.arriving or self.sending or self._handshakes or self._logins
            await asyncio.sleep(quick if is_busy else min(4 * quick, 1.0))
            now = self.clock.monotonic()
            self.lines.look()
            await self._close_late(now)
            await self._close_unproven(now)
            await self._make_room(now)
            if now - self._idle_looked_at >= self.limits.idle_ms_max / 4000:
                self._idle_looked_at = now
                await self._close_idle(now)

    async def _close_late(self, now: float) -> None:
        arrive_s, take_s = self.limits.arrive_ms_max / 1000, self.limits.take_ms_max / 1000
        async for each in a_few_a_turn([each for each in self.arriving if each.is_late(now, arrive_s)]):
            if each.is_late(now, arrive_s):  # Still so: others had their turns meanwhile.
                self._close(each, "late", "a request has not arrived whole in its time")
        async for each in a_few_a_turn([each for each in self.sending if each.takes_nothing(now, take_s)]):
            if each.takes_nothing(now, take_s):
                self._close(each, "unread", f"{each.untaken} bytes of answers are not taken")

    async def _close_unproven(self, now: float) -> None:
        before = now - self.limits.login_ms_max / 1000
        late = [each for each, began in self._handshakes.items() if began < before]
        async for each in a_few_a_turn(late):
            if each in self._handshakes:
                self._close(each, "tls", f"no handshake within {self.limits.login_ms_max} ms")
        strangers = [each for each, began in self._logins.items() if began < before]
        async for connection in a_few_a_turn(strangers):
            if connection in self._logins:
                self._close(connection, "sasl", f"no login within {self.limits.login_ms_max} ms")

    async def _make_room(self, now: float) -> None:
        """Nothing is left for others: who does not move, neither sends nor takes nor may, is closed at once."""
        if not self.requests.has_room:
            async for each in a_few_a_turn([each for each in self.throttled if each.keeps_room(now, _PRESSED_S)]):
                if not self.requests.has_room and each.keeps_room(now, _PRESSED_S):
                    each.forget_waiting()
                    self._close(each, "late", "its quota is used up, and others wait for the room of its requests")
            async for each in a_few_a_turn([each for each in self._granted if each.is_stalled(now, _PRESSED_S)]):
                if each.is_stalled(now, _PRESSED_S):
                    self._close(each, "late", "a request stopped arriving half-way while others wait for room")
            self._grant()
        if not self.answers.has_room:
            async for each in a_few_a_turn([each for each in self.sending if each.takes_nothing(now, _PRESSED_S)]):
                if each.takes_nothing(now, _PRESSED_S):
                    sentence = f"{each.untaken} bytes of answers are not taken while others wait for room"
                    self._close(each, "unread", sentence)

    async def _close_idle(self, now: float) -> None:
        before = now - self.limits.idle_ms_max / 1000
        idle = [each for each in self._connections if each.is_idle and each.active_at < before]
        async for each in a_few_a_turn(idle):
            if each.is_idle and each.active_at < before:
                log.debug("%s: closed, idle for %d ms", each.peer, self.limits.idle_ms_max)
                each.close()

    def _close(self, connection: Connection | TlsLink, why: str, sentence: str) -> None:
        self.closed[why] += 1
        self.lines.warning("%s: closed, %s", connection.peer, sentence)
        connection.abort()


def _accept_limits(limits: ConnectionLimits) -> AcceptLimits:
    return AcceptLimits(
        count_max=within_descriptors(limits.connections_max),
        address_count_max=limits.address_connections_max,
        address_overrides=limits.address_overrides,
        per_second=limits.connections_per_second,
    )
