"""The first stage: reads one partition ahead, decodes it, and hands the pieces to the merge.

It reads until the bound of the backlog, then waits there for the others; once live it follows the watermark. Only what
is committed is read: up to the last stable offset, without aborted records.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from holdfast.errors import Fenced
from holdfast.io.calls import BlockingCalls
from holdfast.log.errors import OutOfRange, PartitionDeleted
from holdfast.log.partition.read import Read
from holdfast.subscribe.filter import Filter
from holdfast.subscribe.merge.bound import before, has_passed
from holdfast.subscribe.merge.merge import MergeLane, MergeState
from holdfast.subscribe.merge.piece import NO_EPOCH, Position, Range, decode_piece
from holdfast.subscribe.merge.pump import Pump
from holdfast.subscribe.merge.sizes import held_size, is_little
from holdfast.subscribe.merge.small_batch import COUNT_MAX, few_piece
from holdfast.subscribe.server.live_pieces import LivePiece, LivePieces
from holdfast.subscribe.server.topics import SourcePartition

log = logging.getLogger(__name__)

READ_SIZE_MIN, READ_SIZE_MAX = 64 << 10, 4 << 20
READ_SIZE_FIRST, READ_SIZE_LEAST = 16 << 10, 4 << 10  # Where nobody knows, and where bytes become very many.
_SMALL_COUNT = 4096  # Records that are not worth the way to a thread and back.


@dataclass(slots=True)
class ServerLane:
    """One partition of one subscription."""

    number: int
    found: SourcePartition
    start: Position
    bound: int  # The end of its backlog.
    merging: MergeLane
    is_over: bool = False  # Nothing of it is read any more.
    read_size: int = READ_SIZE_FIRST  # Of the next read. It grows: nobody knows how much becomes of the first bytes.

    @property
    def name(self) -> str:
        return f"{self.found.topic}-{self.found.partition}"


@dataclass(frozen=True, slots=True)
class ReaderContext:
    """What all lanes of one subscription share."""

    pump: Pump
    pieces: LivePieces
    calls: BlockingCalls
    filter: Filter | None
    until_ms: int | None
    read_size: int  # Of what becomes of a read.
    live: asyncio.Event  # Set when the backlog of all lanes is through.
    on_skipped: Callable[[ServerLane, int, int], Awaitable[None]]
    on_gone: Callable[[ServerLane], Awaitable[None]]
    on_moved: Callable[[ServerLane], Awaitable[None]] | None  # None: nobody else could lead it.

    async def follow(self, lane: ServerLane) -> None:
        """Read the lane for as long as its topic is there, and its partition is ours."""
        try:
            await self._follow(lane)
        except PartitionDeleted:
            self._end(lane)
            await self.on_gone(lane)
        except Fenced as failure:
            if self.on_moved is None:
                raise
            if lane.is_over:
                return
            log.info("%s: %s", lane.name, failure)
            self.pump.set_state(lane.merging, MergeState.BUSY)  # It has not come to its end: that is told first.
            await self.on_moved(lane)
            self._end(lane)

    def _end(self, lane: ServerLane) -> None:
        lane.is_over = True
        self.pump.set_state(lane.merging, MergeState.ENDED)

    async def _follow(self, lane: ServerLane) -> None:
        at = lane.start
        watermark = lane.found.log.high_watermark
        while not has_passed(at, self.until_ms):
            if not self.live.is_set() and at.offset >= lane.bound:
                self.pump.set_state(lane.merging, MergeState.ENDED)
                await self.live.wait()
            seen = watermark.value  # Before the read: what comes later moves it past this.
            key = lane.found.topic_id, lane.found.partition, at.offset, self.filter
            found = self.pieces.find(key, lane.number) if self.live.is_set() else None
            if found is None:
                read = await self._read(lane, at.offset)
                if read is None:
                    at = await self._skip(lane, at)
                    continue
                if read.next_offset == at.offset:
                    await self._wait(lane, seen)
                    continue
                self.pump.set_state(lane.merging, MergeState.BUSY)
                found = await self._decode(lane, at, read, seen)
                if self.live.is_set():
                    self.pieces.keep(key, found)
            self.pump.set_state(lane.merging, MergeState.BUSY)
            piece = found.piece.raised(at.order_time)
            at = piece.after[lane.number]
            await self.pump.put(lane.merging, before(piece, self.until_ms))
            is_all = found.ended_at == seen == watermark.value
            if is_all and self.live.is_set() and not has_passed(at, self.until_ms):
                await self._wait(lane, seen)  # Now, not after one more empty read.
        self._end(lane)

    async def _wait(self, lane: ServerLane, seen: int) -> None:
        """Until the watermark has moved. From then on something is on its way, however long its read takes."""
        self.pump.set_state(lane.merging, MergeState.IDLE)
        await lane.found.log.high_watermark.reached(seen + 1)
        self.pump.set_state(lane.merging, MergeState.BUSY)

    async def _read(self, lane: ServerLane, offset: int) -> Read | None:
        """None if retention has overtaken us."""
        partition = lane.found.log
        try:
            read = await partition.read(offset, None, lane.read_size, committed=True)
        except OutOfRange:
            read = None
        if isinstance(partition.failure, Fenced):
            raise partition.failure  # Its tail was dropped, perhaps under the read: it is another's, and whole there.
        return read

    async def _skip(self, lane: ServerLane, at: Position) -> Position:
        log_start = lane.found.log.marks.log_start
        log.warning("%s: offsets %d to %d are deleted and skipped", lane.name, at.offset, log_start)
        await self.on_skipped(lane, at.offset, log_start)
        return at._replace(offset=log_start, epoch=NO_EPOCH)

    async def _decode(self, lane: ServerLane, at: Position, read: Read, seen: int) -> LivePiece:
        end = read.next_offset if self.live.is_set() else min(read.next_offset, lane.bound)
        wanted = Range(lane.number, at.offset, end, read.aborted, self.filter, lane.name)
        if read.record_count <= _SMALL_COUNT and is_little(read.buffers):
            decode = few_piece if read.record_count <= COUNT_MAX else decode_piece
            piece = decode(read.buffers, wanted)
        else:
            piece = await self.calls.run(decode_piece, read.buffers, wanted)
        for each in piece.unreadable:
            log.warning("%s: %s", lane.name, each)
            lane.found.log.ground.unreadable.add("subscription")
            await self.on_skipped(lane, each.start, each.end)
        growth = max(held_size(piece) / max(sum(map(len, read.buffers)), 1), 1.0)
        lane.read_size = max(min(8 * lane.read_size, int(self.read_size / growth)), READ_SIZE_LEAST)
        is_all = read.end_reached and end == read.next_offset
        return LivePiece(piece, seen if is_all else -1)
