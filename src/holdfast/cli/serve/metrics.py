"""The metrics of `holdfast serve`: what is timed for them, and the port they are read from."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from holdfast.broker.running import Opened
from holdfast.broker.server import Server
from holdfast.cli.address import Address, bind, parse_address
from holdfast.console.collect import Watched, WatchedTopic
from holdfast.console.endpoint import scraped
from holdfast.io.clock import SystemClock
from holdfast.io.objects import Objects
from holdfast.io.timed_disk import TimedDirectory
from holdfast.io.timed_objects import StoreTimes, TimedObjects
from holdfast.measure import Histogram, SubscriptionCounts, Traffic


class Metrics:
    """Takes its address at once, so that a wrong one is known before anything is opened."""

    def __init__(self, listen: str) -> None:
        self._bound = bind(parse_address(listen), "choose another with --metrics HOST:PORT (serve.metrics_listen)")
        self._clock = SystemClock()
        self._syncs = Histogram()
        self._store = StoreTimes()
        self.traffic: Traffic = {}
        self.subscriptions = SubscriptionCounts()

    @property
    def address(self) -> Address:
        return Address(*self._bound.getsockname()[:2])

    def directory(self, path: Path) -> TimedDirectory:
        """The write-ahead log's directory, with its fsyncs timed."""
        return TimedDirectory(path, self._clock, self._syncs)

    def objects(self, inner: Objects) -> Objects:
        """The store, with its calls timed."""
        return TimedObjects(inner, self._clock, self._store)

    @asynccontextmanager
    async def served(self, opened: Opened, server: Server) -> AsyncIterator[None]:
        """The port, for as long as the block lasts."""
        parts = opened.parts
        watched = Watched(
            version=importlib.metadata.version("holdfast"),
            logs=parts.logs,
            groups=parts.groups,
            transactions=parts.transactions,
            topics=lambda: [WatchedTopic(each.topic.name, each.logs) for each in parts.topics.all()],
            port=server.counts,
            traffic=self.traffic,
            held=opened.broker.held.counts,
            syncs=self._syncs,
            store=self._store,
            subscriptions=self.subscriptions,
        )
        async with scraped(watched, self._bound):
            yield
