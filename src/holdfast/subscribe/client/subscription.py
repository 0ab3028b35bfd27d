"""The client: `subscribe`, and the subscription it gives.

    async with subscribe("127.0.0.1:9094", ["orders", "payments"], since=0) as subscription:
        async for event in subscription: ...            # one by one
        async for batch in subscription.batches(): ...  # as Arrow record batches, far faster

After a failure that may pass, it goes on from its cursor by itself: nothing is left out, nothing comes twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import TypeAlias

from holdfast.client.protection.secure import PLAINTEXT, SecurityOptions
from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.io.calls import BlockingCalls, ThreadCalls
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.io.objects import Objects
from holdfast.subscribe.client.connection import messages
from holdfast.subscribe.client.events import Event, EventBatch
from holdfast.subscribe.client.progress import Lanes, Positions
from holdfast.subscribe.client.retry import Defects
from holdfast.subscribe.client.routing import Routing
from holdfast.subscribe.client.session import Delivery, Means, SubscriptionSession
from holdfast.subscribe.cursor import Cursor
from holdfast.subscribe.errors import BadRequest, PartitionMoved, ServerGone, StoreOutOfReach, SubscriptionClosed
from holdfast.subscribe.filter import Filter
from holdfast.subscribe.merge.rows import Rows
from holdfast.subscribe.stats import Stats
from holdfast.subscribe.wire.request import Source, Start, SubscribeRequest

log = logging.getLogger(__name__)

Time: TypeAlias = int | datetime | timedelta  # Milliseconds since 1970, a time, or how long ago.
NOW = "now"  # As `until`: what is there when the subscription opens.

READ_AHEAD_SIZE = 64 << 20  # Bytes that wait, read and decoded, for the application; over all lanes.
READS_MAX = 32  # At once, over all lanes.
BACKOFF_S, BACKOFF_S_MAX = 0.05, 5.0
DOUBLINGS_MAX = 10  # Of the pause; a power of hours of tries would be no float.


def subscribe(
    address: str | Mapping[str, str],
    sources: str | Source | Iterable[str | Source],
    *,
    since: Time | None = None,
    cursor: Cursor | str | None = None,
    until: Time | str | None = None,
    filter: Filter | str | None = None,  # noqa: A002
    batches: bool = True,
    segment_refs: bool = True,
    objects: Objects | Mapping[str, Objects] | None = None,
    security: SecurityOptions | Mapping[str, SecurityOptions] = PLAINTEXT,
    max_wait_ms: int = 5,
    read_ahead_size: int = READ_AHEAD_SIZE,
    clock: Clock | None = None,
    chance: Chance | None = None,
    calls: BlockingCalls | None = None,
) -> Subscription:
    """Follow topics in timestamp order, from a time or a cursor on; without both, from now on.

    `address` is the gRPC address of a server, or of several by the names that their events carry as `source`. Of the
    brokers of one cluster any will do, or some with commas between them: each is asked for the partitions that it
    leads.
    `sources` are topics, patterns with * and ?, or `Source`s. `since=0` is the beginning. `until` is a time, or "now".
    `objects` is the store, or the stores by name, for clients that cannot open the URL that a server tells.
    `security` says in Kafka's words how servers are reached: all of them, or each by its name.
    `read_ahead_size` bounds the bytes that wait for the application; each partition may always have one piece.
    """
    clock = clock or SystemClock()
    addresses = {"": address} if isinstance(address, str) else dict(address)
    stores = dict(objects) if isinstance(objects, Mapping) else {name: objects for name in addresses if objects}
    asked = SubscribeRequest(
        sources=tuple(_source(each) for each in ([sources] if isinstance(sources, str | Source) else sources)),
        start=Start(_time(since, clock), Cursor.parse(cursor) if isinstance(cursor, str) else cursor),
        until_ms=None if until is None or until == NOW else _time(until, clock),
        until_now=until == NOW,
        filter=Filter.of(filter) if isinstance(filter, str) else filter,
        batches=batches,
        segment_refs=segment_refs,
        routes=True,
    )
    own = calls or ThreadCalls(READS_MAX)
    means = Means(
        addresses=addresses,
        objects=stores,
        calls=own,
        clock=clock,
        max_wait_ms=max_wait_ms,
        read_ahead_size=read_ahead_size,
        connect=lambda where, asked: messages(where, asked, _way(means.servers.source_of(where), security)),
    )
    return Subscription(means, asked, chance or SystemChance(), owns_calls=calls is None)


def _way(name: str, security: SecurityOptions | Mapping[str, SecurityOptions]) -> SecurityOptions:
    return security if isinstance(security, SecurityOptions) else security.get(name, PLAINTEXT)


def _source(source: str | Source) -> Source:
    return Source(source) if isinstance(source, str) else source


def _time(time: Time | str | None, clock: Clock) -> int | None:
    if isinstance(time, datetime):
        return int(time.timestamp() * 1000)
    if isinstance(time, timedelta):
        return clock.now_ms() - int(time.total_seconds() * 1000)
    if isinstance(time, str):
        raise BadRequest(f'{time!r} is no bound: "now", or a time')
    return time


class Subscription:
    """A stream of events. Iterate over it once, one by one or in batches; close it, or leave its `async with`."""

    def __init__(self, means: Means, asked: SubscribeRequest, chance: Chance, *, owns_calls: bool) -> None:
        self._means = means
        self._asked = asked
        self._chance = chance
        self._owns_calls = owns_calls
        self._lanes = Lanes()
        self._standing = Positions(self._lanes, asked.start.cursor)
        self._within: tuple[Positions, Rows, int] | None = None  # A batch of which only some events were handed out.
        self._running: AsyncGenerator[EventBatch, None] | None = None
        self._session: SubscriptionSession | None = None
        self._closed = asyncio.Event()
        self._closing = asyncio.Lock()
        self._failures = 0  # In a row, at one place.
        self._defects = Defects(means.clock)
        self._routing = Routing(asked.start)
        self.stats = Stats()

    @property
    def cursor(self) -> Cursor:
        """Where to go on after what was handed out so far."""
        if self._within is None:
            return self._standing.cursor()
        before, rows, count = self._within
        standing = before.copy()
        standing.deliver(rows.first(count))
        return standing.cursor()

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop all reads now. Whoever iterates, in another task, comes to the end."""
        self._closed.set()
        if self._session is not None:
            self._session.pump.fail(SubscriptionClosed("close was called"))
        async with self._closing:
            if self._running is not None and not getattr(self._running, "ag_running", False):
                await self._running.aclose()
            if self._owns_calls:
                self._means.calls.close()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """One by one. The cursor stands behind the event that was handed out last."""
        try:
            async for batch in self._begin():
                before, rows = batch.before, batch.rows
                for number, event in enumerate(batch.events()):
                    self._within = before, rows, number + 1
                    yield event
                self._within = None
        finally:
            await self.close()

    async def batches(self) -> AsyncIterator[EventBatch]:
        """Events as they come, as many at once as there are."""
        try:
            async for batch in self._begin():
                yield batch
        finally:
            await self.close()

    def _begin(self) -> AsyncGenerator[EventBatch, None]:
        if self._running is not None or self._closed.is_set():
            raise SubscriptionClosed("a subscription is iterated over once: make a new one from its cursor")
        self._running = self._all()
        return self._running

    async def _all(self) -> AsyncGenerator[EventBatch, None]:
        try:
            while not self._closed.is_set():
                self._session = self._new_session()
                try:
                    async with aclosing(self._session.run()) as deliveries:
                        async for delivery in deliveries:
                            batch = self._hand_out(delivery)
                            if batch is not None:
                                yield batch
                    return
                except HoldfastError as failure:
                    if self._closed.is_set():
                        return
                    await self._recover(failure)
        finally:
            self._closed.set()
            if self._owns_calls:
                self._means.calls.close()

    def _new_session(self) -> SubscriptionSession:
        begun = {lane.source for lane in self._lanes.rows}
        first = {name: self._asked for name in self._means.addresses if name and name not in begun}
        beside = self._lanes, self._standing, self.stats, first, self._routing
        return SubscriptionSession(self._means, self._now_asked(), *beside)

    def _now_asked(self) -> SubscribeRequest:
        """What was asked for, from where we stand now."""
        if not self._lanes.rows:
            return self._asked
        return replace(self._asked, start=Start(None, self._standing.cursor()))

    def _hand_out(self, delivery: Delivery) -> EventBatch | None:
        rows = delivery.rows
        before = self._standing.copy()
        if rows is not None:
            self._standing.deliver(rows)
        if self._standing.move(delivery.after) or rows is not None:
            self._failures = 0
            self._defects.moved()
        if rows is None:
            return None
        self.stats.events += len(rows)
        self.stats.late += len(rows) if rows.late else 0
        self.stats.last_timestamp = rows.last_timestamp
        return EventBatch(rows, self._lanes, self._standing.copy(), before)

    async def _recover(self, failure: HoldfastError) -> None:
        """Wait a little, and go on from the cursor; or raise what no waiting can repair."""
        if isinstance(failure, StoreOutOfReach):
            log.warning("%s; the server sends everything itself", failure)
            self._asked = replace(self._asked, segment_refs=False)
            return
        self._failures += 1
        if not isinstance(failure, Unavailable | Corrupt) or self._defects.lasts(failure):
            raise failure
        if isinstance(failure, PartitionMoved):
            self.stats.moved += 1
            log.info("the subscription goes on from its cursor: %s", failure)
        else:
            self.stats.errors += 1
            self.stats.last_error = str(failure)
            log.warning("the subscription goes on from its cursor after: %s", failure)
        if isinstance(failure, ServerGone):
            self._means.servers.gone(failure.address)
        most = min(BACKOFF_S * 2 ** min(self._failures, DOUBLINGS_MAX), BACKOFF_S_MAX)
        await self._pause(most * (0.5 + 0.5 * self._chance.fraction()))

    async def _pause(self, seconds: float) -> None:
        """Let time pass, unless it is closed meanwhile."""
        waits = [asyncio.ensure_future(self._means.calls.pause(seconds)), asyncio.ensure_future(self._closed.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
