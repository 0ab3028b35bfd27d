"""One try of a subscription: streams from servers, segments from stores, merged. It ends with the first failure.

Belongs to one event loop. The subscription makes a new one from its cursor when it fails.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from holdfast.io.calls import Calls
from holdfast.io.clock import Clock
from holdfast.io.objects import Objects
from holdfast.subscribe.asked import Asked
from holdfast.subscribe.crew import Crew
from holdfast.subscribe.gather import gather
from holdfast.subscribe.incoming import Incoming
from holdfast.subscribe.merge import Merge, Point, Taken
from holdfast.subscribe.piece import Position
from holdfast.subscribe.pump import Pump
from holdfast.subscribe.rows import FewRows, ManyRows, Rows, are_few
from holdfast.subscribe.schema import subscribe_pb2 as wire
from holdfast.subscribe.standing import Lanes, Standing
from holdfast.subscribe.stats import Stats

_SMALL_COUNT = 1024  # Rows that are not worth the way to a thread and back.


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a session works with."""

    addresses: Mapping[str, str]  # By source.
    objects: Mapping[str, Objects]  # Stores that were given, by source.
    calls: Calls
    clock: Clock
    max_wait_ms: int
    read_ahead_size: int
    connect: Callable[[str, Asked], AsyncGenerator[wire.Message, None]]  # A stream of messages from an address.


@dataclass(frozen=True, slots=True)
class Delivery:
    """Rows, if there are any, and where lanes stand behind them."""

    rows: Rows | None
    after: Mapping[int, Position] = field(default_factory=dict)


class Session:
    """Streams and lanes of one try."""

    def __init__(
        self,
        means: Means,
        asked: Asked,
        lanes: Lanes,
        standing: Standing,
        stats: Stats,
        first: Mapping[str, Asked] | None = None,
    ) -> None:
        """`first`: for servers that never answered yet. A cursor without them would let them start at the beginning."""
        self.means = means
        self.asked = asked
        self.lanes = lanes
        self.stats = stats
        self.merge = Merge(means.max_wait_ms / 1000)
        self.pump = Pump(self.merge, means.clock)
        self.crew = Crew(self.pump.fail)
        self.starts: dict[int, Position] = {}
        self._standing = standing
        self._is_cut = False
        self._incoming = [
            Incoming(self, source, address, (first or {}).get(source, asked))
            for source, address in means.addresses.items()
        ]

    async def run(self) -> AsyncGenerator[Delivery, None]:
        """Everything in order, until the bound. Closing the iterator ends all reads."""
        try:
            for each in self._incoming:
                self.crew.start(each.run())
            while not self._is_cut:
                taken = await self.pump.take(math.inf, self._is_over)
                if taken is None:
                    return
                for delivery in await self._deliveries(taken):
                    yield delivery
        finally:
            await self.crew.stop()

    def _is_over(self) -> bool:
        return all(each.is_opened for each in self._incoming) and self.merge.is_done()

    async def _deliveries(self, taken: Taken) -> list[Delivery]:
        found = []
        for rows in await self._rows(taken):
            part = self._cut(rows, late=taken.late)
            if len(part):
                found.append(Delivery(part))
            if self._is_cut:
                return found
        after = self._settled(taken.after)
        if after:
            found.append(Delivery(found.pop().rows if found else None, after))
        return found

    async def _rows(self, taken: Taken) -> list[Rows]:
        if are_few(taken):
            return [FewRows(taken)] if len(taken) else []
        batches = gather(taken) if len(taken) <= _SMALL_COUNT else await self.means.calls.run(gather, taken)
        return [ManyRows(batch) for batch in batches]

    def _cut(self, rows: Rows, *, late: bool) -> Rows:
        """Without what lies behind the bound."""
        until = self.asked.until_ms
        if until is None or late:
            return rows
        count = int(np.searchsorted(rows.marks().times, until))
        self._is_cut = count < len(rows)
        return rows.first(count)

    def _settled(self, after: dict[int, Position]) -> dict[int, Position]:
        """What a server says of a lane whose segments are not all read has to wait until they are."""
        found: dict[int, Position] = {}
        for each in self._incoming:
            after = each.hold_back(after, found)
        return {**after, **found}

    # For those who bring rows

    def begin(self, number: int, position: Position) -> None:
        """A server says where a lane starts."""
        self.starts[number] = position
        self._standing.begin(number, position)

    def rank(self) -> None:
        """After lanes were added."""
        self.merge.set_ranks(self.lanes.ranks())
        cursor = self.asked.start.cursor
        if self.merge.point is None and cursor is not None and cursor.point is not None:
            point = cursor.point
            for number, lane in enumerate(self.lanes.rows):
                if (lane.cluster_id, lane.topic, lane.partition) == (point.cluster_id, point.topic, point.partition):
                    self.merge.point = Point(point.order_time, number)

    def lag(self, numbers: NDArray[np.int32], ends: list[int]) -> int:
        """How many offsets lie between what was handed out and the ends that a server has told."""
        return sum(max(end - self._standing.offset(int(number)), 0) for number, end in zip(numbers, ends, strict=False))

    def note_lag(self) -> None:
        self.stats.lag_records = sum(each.lag_records() for each in self._incoming)
        self.stats.live = all(each.is_live for each in self._incoming)
