"""A stream of routes: who leads what a client means, until that is not so any more.

Nobody is told a part of it. While some partition has no leader, or its leader has not said yet where it serves
subscriptions, the client gets signs of life; after `KNOWN_S` it is told what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from math import inf
from typing import Any

from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.security.principal import Session
from holdfast.subscribe.errors import LeaseOver, NoLeaderYet, NoSubscribers, SessionOver, SourceGone
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.gate import ReaderRights
from holdfast.subscribe.server.guard import NOBODY
from holdfast.subscribe.server.keepalive import with_signs
from holdfast.subscribe.server.leaders import Leaders
from holdfast.subscribe.server.topics import PlacedPartition, matching, resolve
from holdfast.subscribe.wire import messages
from holdfast.subscribe.wire.messages import RoutedPartition
from holdfast.subscribe.wire.request import SubscribeRequest

KNOWN_S = 10.0  # So long it is waited for who leads, and where.
_LOOK_S = 0.2
_WATCH_S = 1.0  # How long a session, or a lease, that is over is not seen at most.
_PAUSE_S = 0.05
_NOBODY_LEADS = -1


class RouteStream:
    """Runs until a route changes, the client goes away (then it is cancelled), or something fails."""

    def __init__(
        self,
        site: ServerContext,
        leaders: Leaders,
        asked: SubscribeRequest,
        write: Callable[[bytes], Awaitable[Any]],
        session: Session = NOBODY,
    ) -> None:
        self._site = site
        self._leaders = leaders
        self._asked = asked
        self._write = write
        self._session = session
        self._rights = ReaderRights(site.gate, session)
        self._changed = asyncio.Event()
        self._told: dict[tuple[str, int], RoutedPartition] = {}

    async def run(self) -> None:
        """The whole life of the stream. On return the client knows that its routes are old."""
        site = self._site
        site.catalogue.on_change.append(self._changed.set)
        site.gate.on_change.append(self._changed.set)
        try:
            servers = await with_signs(self._known(), self._give_sign, site.settings.sign_ms)
            await self._write(
                messages.routes(site.cluster_id, servers, self._told.values(), site.settings.heartbeat_ms)
            )
            await self._watch()
            await self._write(messages.rerouted())
        finally:
            site.catalogue.on_change.remove(self._changed.set)
            site.gate.on_change.remove(self._changed.set)

    async def _give_sign(self) -> None:
        await self._write(messages.marker({}, ()))

    async def _known(self) -> Mapping[int, str]:
        """Wait until all routes are known; where the brokers are."""
        clock = self._site.clock
        give_up = clock.monotonic() + KNOWN_S
        while True:
            self._check_still_heard()
            found = await resolve(self._site.catalogue, self._asked.sources, self._rights)
            servers = self._leaders.servers()
            self._told = {(each.topic, each.partition): self._route(each) for each in found}
            missing = _missing(self._told.values(), servers)
            if missing is None:
                return {broker: address for broker, address in servers.items() if address}
            if clock.monotonic() >= give_up:
                raise NoLeaderYet(missing.name, missing.broker)
            await asyncio.sleep(_LOOK_S)

    async def _watch(self) -> None:
        """Return when a route is another one, or a partition has come."""
        clock, heartbeat_s = self._site.clock, self._site.settings.heartbeat_ms / 1000
        told_at = clock.monotonic()
        while True:  # What has changed while it was being told is looked at first.
            left_s = told_at + heartbeat_s - clock.monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(min(left_s, _WATCH_S), 0)):
                    await self._changed.wait()
            self._check_still_heard()
            if self._changed.is_set():
                self._changed.clear()
                if not self._is_still_so():
                    return
                await asyncio.sleep(_PAUSE_S)  # Changes come many at a time.
            if clock.monotonic() >= told_at + heartbeat_s:
                told_at = clock.monotonic()
                await self._give_sign()

    def _is_still_so(self) -> bool:
        self._check_named()
        for each in matching(self._site.catalogue, self._asked.sources, self._rights):
            told = self._told.get((each.topic, each.partition))
            is_meant = told is not None or not self._asked.until_now  # By then there was no more than what was told.
            if is_meant and self._route(each) != told:
                return False
        return True

    def _check_named(self) -> None:
        """Raises SourceGone: one of a pattern may go, one that was named may not."""
        ids = {each.topic: each.topic_id for each in self._told.values()}
        for source in self._asked.sources:
            if not source.is_pattern:
                found = self._site.catalogue.find(source.topic)
                if found is None or found.topic.topic_id != ids[source.topic]:
                    raise SourceGone(source.topic)

    def _check_still_heard(self) -> None:
        if self._session.until < inf and self._session.is_over(self._site.clock.boottime()):
            raise SessionOver
        if not self._leaders.has_lease():
            raise LeaseOver

    def _route(self, placed: PlacedPartition) -> RoutedPartition:
        found, broker = placed.found, self._leaders.broker
        if isinstance(found, LedElsewhere):
            broker = found.broker
        elif isinstance(found, NotOpen):
            raise found  # It is damaged.
        return RoutedPartition(placed.topic, placed.topic_id, placed.partition, broker)


def _missing(routes: Iterable[RoutedPartition], servers: Mapping[int, str]) -> RoutedPartition | None:
    """The first partition that nobody can be asked for yet. Raises NoSubscribers if nobody ever can."""
    for each in routes:
        if each.broker == _NOBODY_LEADS or each.broker not in servers:
            return each
        if not servers[each.broker]:
            raise NoSubscribers(each.name, each.broker)
    return None
