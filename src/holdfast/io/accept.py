"""Taking connections from listening sockets: a few at a time, within limits, also when no file descriptor is left.

asyncio's own way takes a thousand in one turn of the loop, and writes as many tracebacks when descriptors are gone.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from holdfast.io.accept_rate import AddressRates, RateOf
from holdfast.io.quick_socket import quick
from holdfast.io.sparing import SparingLines

log = logging.getLogger(__name__)

REFUSALS = ("count", "address", "rate", "descriptors")
_AT_ONCE = 16  # In one turn of the loop.
_RETRY_S = 0.5  # When the system has nothing to give.
_BACKLOG = 1024
_DELAY_S_MAX = 1.0  # Who comes too fast is closed so much later, or comes again at once;
_DELAYED_MAX = 256  # so many at a time: others are closed at once.
_KEPT = 512  # Descriptors for files, the store and the other ports.
_GONE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


Made: TypeAlias = Callable[[str], asyncio.BaseProtocol]  # What serves a connection, by the address it comes from.


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptLimits:
    """How many connections, from where, and how fast."""

    count_max: int
    address_count_max: int = 2**31 - 1  # From one address,
    address_overrides: Mapping[str, int] = field(default_factory=dict)  # or another number for some of them.
    per_second: int = 2**31 - 1  # New ones; more than that wait to be accepted.

    def of(self, address: str) -> int:
        return self.address_overrides.get(address, self.address_count_max)


def within_descriptors(count: int) -> int:
    """So many connections, or as many as the process may open beside its files. The soft limit goes up first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _KEPT if hard == resource.RLIM_INFINITY else min(count + _KEPT, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    if soft == resource.RLIM_INFINITY or soft >= count + _KEPT:
        return count
    allowed = max(soft - _KEPT, soft // 2)
    log.warning("of %d connections only %d are taken: the process may open %d files", count, allowed, soft)
    return allowed


class Acceptor:
    """Belongs to one event loop. The limits are for all of its sockets together."""

    def __init__(
        self,
        doors: Mapping[socket.socket, Made],
        limits: AcceptLimits,
        now: Callable[[], float],
        rate_of: RateOf = lambda _: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._doors = dict(doors)
        self.limits = limits  # May be replaced: they hold for whoever comes next.
        self._now = now
        self._lines = SparingLines(log, now)
        self._open: Counter[str] = Counter()
        self._count = 0
        self._allowed = float(min(limits.per_second, _BACKLOG))  # Connections that may be taken at once.
        self._allowed_at = now()
        self._rates = AddressRates(rate_of, now)
        self._delayed: dict[socket.socket, asyncio.TimerHandle] = {}  # Refused, to be closed later.
        self._spare = os.open(os.devnull, os.O_RDONLY)  # Given up to turn one away when none is left.
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self.refused: Counter[str] = Counter()  # By the limit that was hit.
        for bound in doors:
            bound.settimeout(0)
            bound.listen(_BACKLOG)
        self._begin()

    @property
    def count(self) -> int:
        return self._count

    def close(self) -> None:
        """Take no more; those that were taken stay."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for bound in self._doors:
            self._loop.remove_reader(bound)
            bound.close()
        for taken, timer in self._delayed.items():
            timer.cancel()
            taken.close()
        self._delayed.clear()
        if self._spare >= 0:
            os.close(self._spare)

    def left(self, address: str) -> None:
        """A connection from there has ended."""
        self._count -= 1
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]

    def _begin(self) -> None:
        self._timer = None
        for bound, made in self._doors.items():
            self._loop.add_reader(bound, self._accept, bound, made)

    def _rest(self, seconds: float) -> None:
        """Nobody is taken for a while: they wait in the system's own queue, and the loop is left alone."""
        for bound in self._doors:
            self._loop.remove_reader(bound)
        self._timer = self._loop.call_later(seconds, self._begin)

    def _accept(self, bound: socket.socket, made: Made) -> None:
        for _ in range(_AT_ONCE):
            if not self._take_turn():
                self._rest(1 / self.limits.per_second)
                return
            try:
                taken, address = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                self._allowed += 1
                return
            except OSError as failure:
                if failure.errno in _GONE:
                    self._turn_away(bound, failure)
                else:  # The network's own trouble: it may be there again at once.
                    self._lines.warning("a connection was not accepted: %s", failure)
                    self._rest(_RETRY_S)
                return
            host = address[0] if isinstance(address, tuple) else str(address)
            self._admit(taken, host, made)

    def _take_turn(self) -> bool:
        """Whether the rate allows one more."""
        now, rate = self._now(), self.limits.per_second
        self._allowed = min(self._allowed + (now - self._allowed_at) * rate, float(min(rate, _BACKLOG)))
        self._allowed_at = now
        if self._allowed < 1:
            return False
        self._allowed -= 1
        return True

    def _admit(self, taken: socket.socket, host: str, made: Made) -> None:
        if self._count >= self.limits.count_max:
            self._refuse(taken, host, "count", self.limits.count_max)
            return
        if self._open[host] >= self.limits.of(host):
            self._refuse(taken, host, "address", self.limits.of(host))
            return
        wait_s = self._rates.wait_s(host)
        if wait_s > 0:
            self._refuse_later(taken, host, wait_s)
            return
        self._count += 1
        self._open[host] += 1
        task = self._loop.create_task(self._connect(taken, host, made))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, taken: socket.socket, host: str, made: Made) -> None:
        try:
            taken = quick(taken)
            taken.settimeout(0)
            await self._loop.connect_accepted_socket(lambda: made(host), taken)
        except OSError as failure:  # It was gone before it was there.
            log.debug("%s: not connected: %s", host, failure)
            taken.close()
            self.left(host)

    def _refuse(self, taken: socket.socket, host: str, limit: str, number: int) -> None:
        taken.close()
        if not self._open[host]:
            del self._open[host]
        self.refused[limit] += 1
        of = "are open" if limit == "count" else "are open from there"
        self._lines.warning("%s: refused, %d connections %s", host, number, of)

    def _refuse_later(self, taken: socket.socket, host: str, wait_s: float) -> None:
        """Who comes too fast is held for a while first: else it would come again at once."""
        if not self._open[host]:
            del self._open[host]
        self.refused["rate"] += 1
        self._lines.warning("%s: refused, connections come from there faster than its quota allows", host)
        if len(self._delayed) >= _DELAYED_MAX:
            taken.close()
            return
        self._delayed[taken] = self._loop.call_later(min(wait_s, _DELAY_S_MAX), self._close_delayed, taken)

    def _close_delayed(self, taken: socket.socket) -> None:
        del self._delayed[taken]
        taken.close()

    def _turn_away(self, bound: socket.socket, failure: OSError) -> None:
        """Without a descriptor nobody can be accepted, not even to be closed: the spare one is given up for that."""
        self.refused["descriptors"] += 1
        self._lines.warning("a connection was refused: %s", failure)
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        try:
            bound.accept()[0].close()
        except OSError:
            self._rest(_RETRY_S)
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except OSError:
            if self._timer is None:
                self._rest(_RETRY_S)
