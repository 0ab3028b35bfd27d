"""The metrics of `holdfast serve`: the port they are read from."""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, nullcontext
from itertools import chain

from holdfast.broker.guard.gate import Gate
from holdfast.broker.guard.side_door import MetricsGate, SideDoor
from holdfast.broker.net.server import Server
from holdfast.broker.running import Opened
from holdfast.cli.serve.doors import Door
from holdfast.cli.serve.timings import Timings
from holdfast.io.address import Address, bind, parse_address
from holdfast.log.logs import Logs
from holdfast.metrics.collect import Sample, Watched, WatchedTopic, samples, store_samples, traffic_samples
from holdfast.metrics.collect_waiting import WatchedStandby, WatchedWait, standby_samples, waiting_samples
from holdfast.metrics.endpoint import PortProtection, scraped
from holdfast.security.rules import Rules

log = logging.getLogger("holdfast")


class Metrics:
    """Takes its address at once, so that a wrong one is known before anything is opened."""

    def __init__(self, door: Door, timings: Timings) -> None:
        self._timings = timings
        self._listener = door.listener
        self._gate: MetricsGate | None = None
        self._bound = bind(parse_address(door.listen), "choose another with --metrics HOST:PORT (serve.metrics_listen)")
        self._samples: Callable[[], AsyncIterator[Sample]] = nothing
        self._unready: Callable[[], str] = lambda: "starting"
        self._is_open = False

    @property
    def address(self) -> Address:
        return Address(*self._bound.getsockname()[:2])

    @asynccontextmanager
    async def waiting(self, watched: WatchedWait, server: Server, rules: Rules | None) -> AsyncIterator[None]:
        """The port, while the store is away and after. `rules` are those without the store; None: no authorizer."""
        self._unready = lambda: "the store has not answered since the start: writes are refused"
        self._samples = lambda: waiting_samples(version(), watched, self._of_ports())
        async with self._opened_early(server, rules):
            yield

    @asynccontextmanager
    async def standing_by(self, watched: WatchedStandby, server: Server, rules: Rules | None) -> AsyncIterator[None]:
        """The port, while another broker leads and after: who starts this one again must see that it lives."""
        self._unready = watched.unready
        self._samples = lambda: standby_samples(version(), watched, self._of_ports())
        async with self._opened_early(server, rules):
            yield

    def _of_ports(self) -> Iterator[Sample]:
        return chain(traffic_samples(self._timings.traffic), store_samples(self._timings.store))

    @asynccontextmanager
    async def _opened_early(self, server: Server, rules: Rules | None) -> AsyncIterator[None]:
        """Before there is a broker that could say who may read them."""
        self._let_through(server, Gate(server.audit, None if rules is None else lambda: rules))
        async with self._opened():
            yield

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        protection, scheme = None, "http"
        if self._listener is not None:
            protection = PortProtection(self._listener.tls, self._gate_now)
            scheme = "http" if self._listener.tls is None else "https"
        async with scraped(lambda: self._samples(), lambda: self._unready(), self._bound, protection):
            self._is_open = True
            log.info("metrics at %s://%s/metrics", scheme, self.address, extra={"facts": {"event": "metrics"}})
            yield

    def _let_through(self, server: Server, gate: Gate) -> None:
        if self._listener is not None:
            self._gate = MetricsGate(SideDoor(server, self._listener), gate)

    def _gate_now(self) -> MetricsGate:
        assert self._gate is not None
        return self._gate

    @asynccontextmanager
    async def served(
        self, opened: Opened, server: Server, unreachable: Callable[[], Collection[int]] = tuple
    ) -> AsyncIterator[None]:
        """The port, for as long as the block lasts. `unreachable` are other brokers that do not answer this one."""
        context = opened.context
        self._let_through(server, context.gate)
        watched = Watched(
            version=version(),
            logs=context.logs,
            clock=context.clock,
            groups=context.groups,
            shares=context.shares,
            transactions=context.transactions,
            topics=lambda: [WatchedTopic(each.topic.name, each.logs) for each in context.topics.all()],
            port=server.counts,
            unreachable=unreachable,
            racks=opened.broker.rack_counts,
            traffic=self._timings.traffic,
            errors=opened.broker.errors,
            held=opened.broker.held.counts,
            throttled={kind.value: counts for kind, counts in context.throttle.counts.items()},
            syncs=self._timings.syncs,
            store=self._timings.store,
            subscriptions=self._timings.subscriptions,
        )
        before, self._samples = self._samples, lambda: samples(watched)
        self._unready = lambda: _unready(context.logs)
        try:
            async with nullcontext() if self._is_open else self._opened():
                yield
        finally:
            self._samples, self._unready = before, lambda: "stopping"


def _unready(logs: Logs) -> str:
    if logs.failure is not None:
        return str(logs.failure)
    return "" if logs.owner.is_owner else "another broker has taken the store over"


def version() -> str:
    return importlib.metadata.version("holdfast")


async def nothing() -> AsyncIterator[Sample]:
    """Before anything is watched, and after."""
    none: tuple[Sample, ...] = ()
    for sample in none:
        yield sample
