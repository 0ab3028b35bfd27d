"""Reads the referenced segments of one lane in order, several ahead at once, and hands the pieces to the merge."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

from holdfast.io.calls import Calls
from holdfast.segment.info import SegmentInfo
from holdfast.subscribe.bound import before, has_passed
from holdfast.subscribe.merge import MergeLane, State
from holdfast.subscribe.piece import Piece, Position
from holdfast.subscribe.pump import Pump
from holdfast.subscribe.segments import JOB_SIZE, SegmentSource

READS_MAX = 8  # Under way for one lane.


@dataclass(frozen=True, slots=True)
class SegmentLane:
    """One lane's way through the store."""

    source: SegmentSource
    pump: Pump
    merging: MergeLane
    calls: Calls
    start: Position
    ahead_size: int  # Bytes of segments read at once.
    until_ms: int | None = None

    async def follow(self, segments: tuple[SegmentInfo, ...]) -> None:
        """All segments up to the bound; then the lane has ended: the server goes on."""
        at = self.start
        under_way: deque[tuple[int, asyncio.Task[list[Piece]]]] = deque()
        try:
            async for size, read in self._reads(segments):
                while under_way and (
                    len(under_way) >= READS_MAX or sum(each for each, _ in under_way) + size > self.ahead_size
                ):
                    at = await self._hand_over(under_way, at)
                if has_passed(at, self.until_ms):
                    break
                under_way.append((size, asyncio.ensure_future(self.calls.run(read))))
            while under_way and not has_passed(at, self.until_ms):
                at = await self._hand_over(under_way, at)
        finally:
            for _, task in under_way:
                task.cancel()
            await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)
        self.pump.set_state(self.merging, State.ENDED)

    async def _reads(self, segments: tuple[SegmentInfo, ...]) -> AsyncIterator[tuple[int, Callable[[], list[Piece]]]]:
        """What to read, with its size: small segments whole, large ones in parts."""
        for info in segments:
            if info.size <= JOB_SIZE:
                yield info.size, partial(self.source.read, info)
            else:
                for part in await self.calls.run(self.source.open, info):
                    yield JOB_SIZE, part

    async def _hand_over(self, under_way: deque[tuple[int, asyncio.Task[list[Piece]]]], at: Position) -> Position:
        pieces = await under_way[0][1]
        under_way.popleft()
        for piece in pieces:
            raised = piece.raised(at.order_time)
            at = raised.after[self.source.wanted.lane]
            await self.pump.put(self.merging, before(raised, self.until_ms))
        return at
