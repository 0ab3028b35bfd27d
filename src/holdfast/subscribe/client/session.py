"""One try of a subscription: streams from servers, segments from stores, merged. It ends with the first failure.

Belongs to one event loop. The subscription makes a new one from its cursor when it fails.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.io.objects import Objects
from holdfast.subscribe.client.progress import Lanes, Positions
from holdfast.subscribe.client.routing import Routing
from holdfast.subscribe.client.server_feed import ServerFeed
from holdfast.subscribe.client.servers import Servers
from holdfast.subscribe.cursor import CursorPoint
from holdfast.subscribe.merge.gather import gather
from holdfast.subscribe.merge.merge import Merge, MergedRows, MergePoint
from holdfast.subscribe.merge.piece import Position
from holdfast.subscribe.merge.pump import Pump
from holdfast.subscribe.merge.rows import FewRows, ManyRows, Rows, are_few
from holdfast.subscribe.merge.sizes import SMALL_SIZE, rows_size
from holdfast.subscribe.merge.task_set import TaskSet
from holdfast.subscribe.stats import Stats
from holdfast.subscribe.wire.messages import routes_of
from holdfast.subscribe.wire.request import SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

_SMALL_COUNT = 8192  # Rows that are not worth the way to a thread and back.


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a session works with."""

    addresses: Mapping[str, str]  # By source; of several brokers of a cluster with commas between them.
    objects: Mapping[str, Objects]  # Stores that were given, by source.
    calls: BlockingCalls
    clock: Clock
    max_wait_ms: int
    read_ahead_size: int
    connect: Callable[
        [str, SubscribeRequest], AsyncGenerator[wire.Message, None]
    ]  # A stream of messages from an address.
    servers: Servers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "servers", Servers(self.addresses))


@dataclass(frozen=True, slots=True)
class Delivery:
    """Rows, if there are any, and where lanes stand behind them."""

    rows: Rows | None
    after: Mapping[int, Position] = field(default_factory=dict)


class SubscriptionSession:
    """Streams and lanes of one try."""

    def __init__(
        self,
        means: Means,
        asked: SubscribeRequest,
        lanes: Lanes,
        standing: Positions,
        stats: Stats,
        first: Mapping[str, SubscribeRequest] | None = None,
        routing: Routing | None = None,
    ) -> None:
        """`first`: for servers that never answered yet. A cursor without them would let them start at the beginning."""
        self.means = means
        self.asked = asked
        self.lanes = lanes
        self.stats = stats
        self.merge = Merge(means.max_wait_ms / 1000)
        self.pump = Pump(self.merge, means.clock, size_max=means.read_ahead_size, collects=True)
        self.crew = TaskSet(self.pump.end)
        self.starts: dict[int, Position] = {}
        self._standing = standing
        self._routing = routing or Routing(asked.start)
        self._incoming = [
            ServerFeed(self, source, means.servers.asked(source), (first or {}).get(source, asked))
            for source in means.addresses
        ]

    async def run(self) -> AsyncGenerator[Delivery, None]:
        """Everything in order, until the bound. Closing the iterator ends all reads."""
        try:
            for each in list(self._incoming):
                self.crew.start(each.run())
            while True:
                taken = await self.pump.take(math.inf, self._is_to_act)
                for delivery in await self._deliveries(taken) if taken is not None else self._settlement():
                    yield delivery
                if taken is None and self._is_over():
                    return
        finally:
            await self.crew.stop()

    def _is_to_act(self) -> bool:
        return self._is_over() or any(each.has_settled() for each in self._incoming)

    def _is_over(self) -> bool:
        return all(each.is_opened for each in self._incoming) and self.merge.is_done()

    async def _deliveries(self, taken: MergedRows) -> list[Delivery]:
        found = [Delivery(rows) for rows in await self._rows(taken)]
        after = self._settled(taken.after)
        if after:
            found.append(Delivery(found.pop().rows if found else None, after))
        return found

    async def _rows(self, taken: MergedRows) -> list[Rows]:
        is_small = len(taken) <= _SMALL_COUNT and rows_size(taken) <= SMALL_SIZE
        if is_small and are_few(taken):
            return [FewRows(taken)] if len(taken) else []
        batches = gather(taken) if is_small else await self.means.calls.run(gather, taken)
        return [ManyRows(batch) for batch in batches]

    def _settlement(self) -> list[Delivery]:
        """What was held back for segments that are read now, though no row comes behind them."""
        after = self._settled({})
        return [Delivery(None, after)] if after else []

    def _settled(self, after: dict[int, Position]) -> dict[int, Position]:
        """What a server says of a lane whose segments are not all read has to wait until they are."""
        found: dict[int, Position] = {}
        for each in self._incoming:
            after = each.hold_back(after, found)
        return {**after, **found}

    # For those who bring rows

    def follow_routes(self, source: str, opened: wire.Opened) -> None:
        """Ask each broker of a cluster for what it leads."""
        servers = {each.broker: each.address for each in opened.servers}
        self.means.servers.tell(source, servers.values())
        begun = {lane.key for lane in self.lanes.rows}
        found = self._routing.requests(opened.cluster_id, routes_of(opened.routes), servers, self.asked, begun)
        for address, asked, partitions in found:
            feed = ServerFeed(self, source, address, asked, partitions, len(found))
            self._incoming.append(feed)
            self.crew.start(feed.run())

    def begin(self, number: int, position: Position) -> None:
        """A server says where a lane starts."""
        self.starts[number] = position
        self._standing.begin(number, position)

    def rank(self) -> None:
        """After lanes were added."""
        self.merge.set_ranks(self.lanes.ranks())
        cursor = self.asked.start.cursor
        if cursor is not None and cursor.point is not None and (self.merge.point is None or self.merge.point.lane < 0):
            self.merge.point = self._resumed(cursor.point)

    def _resumed(self, point: CursorPoint) -> MergePoint:
        """The point of a cursor. Its time holds also when its partition is not, or not yet, among ours."""
        place = point.cluster_id, point.topic, point.partition
        lanes = enumerate(self.lanes.rows)
        found = (number for number, lane in lanes if (lane.cluster_id, lane.topic, lane.partition) == place)
        return MergePoint(point.order_time, next(found, -1))

    def lag(self, numbers: NDArray[np.int32], ends: list[int]) -> int:
        """How many offsets lie between what was handed out and the ends that a server has told."""
        return sum(max(end - self._standing.offset(int(number)), 0) for number, end in zip(numbers, ends, strict=False))

    def note_lag(self) -> None:
        self.stats.lag_records = sum(each.lag_records() for each in self._incoming)
        self.stats.live = all(each.is_live for each in self._incoming)
