"""Reads the referenced segments of one lane in order, several ahead at once, and hands the pieces to the merge."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from holdfast.io.calls import BlockingCalls
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.subscribe.client.segment_pieces import LoadedSegment, SegmentSource
from holdfast.subscribe.merge.bound import before, has_passed
from holdfast.subscribe.merge.merge import MergeLane, MergeState
from holdfast.subscribe.merge.piece import Piece, Position
from holdfast.subscribe.merge.pump import Pump
from holdfast.subscribe.merge.sizes import is_little

READS_MAX = 16  # Under way for one lane.
SMALL_SIZE = 256 << 10  # Smaller segments are decoded together,
TOGETHER_MAX = READS_MAX // 2  # so many at a time, while others are being read.

# What a read gives: a larger segment is decoded by the thread that has read it.
Found: TypeAlias = list[LoadedSegment] | list[Piece]


@dataclass(frozen=True, slots=True)
class SegmentLane:
    """One lane's way through the store."""

    source: SegmentSource
    pump: Pump
    merging: MergeLane
    calls: BlockingCalls
    start: Position
    ahead_size: int  # Bytes of segments read at once.
    until_ms: int | None = None

    async def follow(self, segments: tuple[SegmentInfo, ...]) -> None:
        """All segments up to the bound; then the lane has ended: the server goes on."""
        at = self.start
        under_way: deque[tuple[int, asyncio.Task[Found]]] = deque()
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
        self.pump.set_state(self.merging, MergeState.ENDED)

    async def _reads(self, segments: tuple[SegmentInfo, ...]) -> AsyncIterator[tuple[int, Callable[[], Found]]]:
        """What to read, with its size: small segments whole, large ones in parts."""
        for info in segments:
            if info.size <= min(SMALL_SIZE, self.source.job_size):
                yield info.size, partial(self.source.read, info)
            elif info.size <= self.source.job_size:
                yield info.size, partial(self._read_and_decode, info)
            else:
                for part in await self.calls.run(self.source.open, info):
                    yield self.source.job_size, part

    def _read_and_decode(self, info: SegmentInfo) -> list[Piece]:
        return [self.source.decode([part]) for part in self.source.read(info)]

    async def _hand_over(self, under_way: deque[tuple[int, asyncio.Task[Found]]], at: Position) -> Position:
        for piece in await self._next(under_way):
            raised = piece.raised(at.order_time)
            at = raised.after[self.source.wanted.lane]
            await self.pump.put(self.merging, before(raised, self.until_ms))
        return at

    async def _next(self, under_way: deque[tuple[int, asyncio.Task[Found]]]) -> list[Piece]:
        """The pieces of the first read; small segments that were read side by side make one piece."""
        parts: list[LoadedSegment] = []
        while under_way and len(parts) < TOGETHER_MAX:
            task = under_way[0][1]
            await asyncio.wait([task])
            if parts and (task.exception() is not None or not _are_to_join(task.result())):
                break  # What lies before a failure is handed out.
            found = task.result()
            under_way.popleft()
            if not _are_to_join(found):
                return [each if isinstance(each, Piece) else await self._decode([each]) for each in found]
            parts += found  # type: ignore[arg-type]  # Those to be joined were loaded.
        return [await self._decode(parts)]

    async def _decode(self, parts: list[LoadedSegment]) -> Piece:
        if is_little([buffer for part in parts for buffer in part.buffers]):
            return self.source.decode(parts)
        return await self.calls.run(self.source.decode, parts)


def _are_to_join(found: Found) -> bool:
    return all(isinstance(each, LoadedSegment) and not each.alone for each in found)
