"""One subscription on the server: lanes that read ahead → merge and filter → a bounded queue with its own sender."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import Any

import numpy as np

from holdfast.errors import HoldfastError
from holdfast.log.errors import LedElsewhere
from holdfast.security.principal import Session
from holdfast.subscribe.errors import LeaseOver, LedByOthers, PartitionMoved, SourceGone
from holdfast.subscribe.merge.gather import gather
from holdfast.subscribe.merge.memory import Share
from holdfast.subscribe.merge.merge import Merge, MergedRows, MergePoint, MergeState
from holdfast.subscribe.merge.piece import NO_EPOCH, Position
from holdfast.subscribe.merge.pump import Pump
from holdfast.subscribe.merge.sizes import SMALL_SIZE, rows_size
from holdfast.subscribe.merge.task_set import TaskSet
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.guard import NOBODY, Guard
from holdfast.subscribe.server.keepalive import with_signs
from holdfast.subscribe.server.packing import ROWS_MAX, SINGLES_MAX, one_by_one, packed, runs, singles
from holdfast.subscribe.server.partition_reader import READ_SIZE_MAX, READ_SIZE_MIN, ReaderContext, ServerLane
from holdfast.subscribe.server.references import refer
from holdfast.subscribe.server.sender import Sender
from holdfast.subscribe.server.start import positions_of
from holdfast.subscribe.server.topics import SourcePartition, matching, resolve
from holdfast.subscribe.wire import messages
from holdfast.subscribe.wire.references import to_messages
from holdfast.subscribe.wire.request import SubscribeRequest

_SMALL_COUNT, _SMALL_SIZE = 4096, 1 << 20  # Rows and bytes that are not worth the way to a thread and back.
_DESCRIBED_TOPICS = 20
LET_GO_S = 0.5  # How long a stream that has failed waits for a message that is being sent.
LEASE_LOOK_S = 1.0  # How long a stream that has nothing to send goes on without a lease.
MARKER_S = 1.0  # How far a client's cursor falls behind at most while nothing passes its filter.


class ServerStream:
    """Runs until the bound is reached, the client goes away (then it is cancelled), or something fails."""

    def __init__(
        self,
        site: ServerContext,
        asked: SubscribeRequest,
        write: Callable[[bytes], Awaitable[Any]],
        session: Session = NOBODY,
    ) -> None:
        self._site = site
        self._asked = asked
        self._guard = Guard(site.gate, session, site.clock)
        self._share = Share(site.memory)
        self._sender = Sender(write, share=self._share)
        self._merge = Merge(site.settings.max_wait_ms / 1000)
        self._pump = Pump(self._merge, site.clock, size_max=site.settings.read_ahead_size, share=self._share)
        self._crew = TaskSet(self._pump.fail)
        self._meant: set[str] = set()  # The topics, before there are lanes.
        self._lanes: list[ServerLane] = []
        self._live = asyncio.Event()
        self._topics_changed = False
        self._moved: dict[int, Position] = {}  # Where lanes stand that no message has told yet.
        self._sent: dict[int, int] = {}  # The offset that each lane has come to.
        self._session = session
        self._began = self._quiet_since = site.clock.monotonic()
        self._marked = self._quiet_since
        self._reading: ReaderContext

    async def run(self) -> None:
        """The whole life of the stream. On return all is sent."""
        catalogue = self._site.catalogue
        catalogue.on_change.append(self._note_change)
        self._site.gate.on_change.append(self._guard.note)
        self._site.counts.open.add(self)
        try:
            self._crew.start(self._sender.run())
            self._crew.start(self._ended_by(self._guard.watch_rules(self._read_topics, self._note_change)))
            self._crew.start(self._ended_by(self._guard.watch_session()))
            await self._open(await self._resolve())
            await self._deliver()
            await self._send(*self._marker(), messages.ended())
            await self._sender.close()
        except Exception:
            await self._sender.let_go(LET_GO_S)  # So that the client can be told.
            raise
        finally:
            catalogue.on_change.remove(self._note_change)
            self._site.gate.on_change.remove(self._guard.note)
            self._site.counts.open.discard(self)
            try:
                await self._crew.stop()
            finally:  # Also when the stream is cancelled once more meanwhile.
                self._share.close()

    def described(self) -> Mapping[str, Any]:
        """Whose it is, and of what."""
        return {
            "who": str(self._session.principal),
            "host": self._session.host,
            "topics": sorted(self._meant)[:_DESCRIBED_TOPICS],
            "partitions": len(self._lanes),
            "open_s": round(self._site.clock.monotonic() - self._began, 1),
        }

    def lag_records(self) -> int:
        """Offsets from what was sent to what could be; without those that the client reads from the store."""
        return sum(
            max(lane.found.log.last_stable - self._sent.get(lane.number, lane.start.offset), 0)
            for lane in self._lanes
            if not lane.is_over
        )

    # Opening

    async def _resolve(self) -> list[SourcePartition]:
        """What is meant, by rules that have not changed meanwhile."""
        while True:
            changes = self._guard.changes
            found = await resolve(self._site.catalogue, self._asked.sources, self._guard.rights)
            if self._guard.changes == changes:
                self._meant = {each.topic for each in found}
                return [each.opened(self._refusal) for each in found]

    def _refusal(self, name: str, found: LedElsewhere) -> HoldfastError:
        """What to say of a partition that is not led here."""
        if self._asked.routed:
            return PartitionMoved(name)
        leaders, broker = self._site.leaders, found.broker
        if broker < 0:
            return found
        return LedByOthers(name, broker, leaders.servers().get(broker, "") if leaders is not None else "")

    async def _open(self, found: list[SourcePartition]) -> None:
        site, asked = self._site, self._asked
        opening = positions_of(asked.start, found, site.cluster_id)
        asked_for = await with_signs(opening, self._give_sign, site.settings.sign_ms)
        starts = {number: _still_there(each, asked_for[number]) for number, each in enumerate(found)}
        await self._send(messages.opened(site.cluster_id, site.store_url, found, starts, site.settings.heartbeat_ms))
        for number, start in starts.items():
            if start.offset > asked_for[number].offset:
                await self._send(messages.skipped(number, asked_for[number].offset, start.offset))
        share = min(site.settings.read_ahead_size, site.memory.left // 4) // (2 * len(found))
        read_size = max(READ_SIZE_MIN, min(READ_SIZE_MAX, share))
        self._reading = ReaderContext(
            self._pump,
            site.pieces,
            site.calls,
            asked.filter,
            asked.until_ms,
            read_size,
            self._live,
            self._tell_skipped,
            self._tell_gone,
            self._tell_moved if site.leaders is not None else None,
        )
        rest = await self._refer(found, starts) if asked.segment_refs else starts
        for number, each in enumerate(found):
            self._add(each, rest.get(number, starts[number]), bound=each.log.last_stable, ended=number not in rest)
        self._rank()
        self._set_point()
        for lane in self._lanes:
            if lane.number in rest:
                self._crew.start(self._reading.follow(lane))

    async def _give_sign(self) -> None:
        await self._send(messages.marker({}, ()))

    async def _refer(self, found: list[SourcePartition], starts: dict[int, Position]) -> dict[int, Position]:
        """Send all references; where the server goes on itself."""
        until = self._asked.until_ms
        rest = {}
        for number, each in enumerate(found):
            referred = refer(each, starts[number], until)
            for message in to_messages(number, referred):
                await self._send(messages.references(message))
            await asyncio.sleep(0)  # With many partitions others get their turn.
            if until is None or referred.rest.order_time < until:
                rest[number] = referred.rest
        await self._send(messages.references_end(rest))
        return rest

    def _add(self, found: SourcePartition, start: Position, bound: int, *, ended: bool = False) -> ServerLane:
        merging = self._merge.add(len(self._lanes), start.order_time)
        merging.state = MergeState.ENDED if ended else MergeState.BUSY
        lane = ServerLane(len(self._lanes), found, start, bound, merging)
        lane.is_over = ended
        self._lanes.append(lane)
        return lane

    def _rank(self) -> None:
        """Ranks follow the order of names, also when lanes come later."""
        names = [(lane.found.topic, lane.found.partition) for lane in self._lanes]
        ranks = np.empty(len(names), np.int32)
        ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names), dtype=np.int32)
        self._merge.set_ranks(ranks)

    def _set_point(self) -> None:
        cursor = self._asked.start.cursor
        if cursor is not None and cursor.point is not None:
            point = cursor.point
            lanes = {(lane.found.topic, lane.found.partition): lane.number for lane in self._lanes}
            own = point.cluster_id == self._site.cluster_id
            self._merge.point = MergePoint(
                point.order_time, lanes.get((point.topic, point.partition), -1) if own else -1
            )

    # Delivering

    async def _deliver(self) -> None:
        while True:
            if self._asked.batches and self._live.is_set():
                await self._sender.through()  # What waits together goes together, and nothing waits for more.
            taken = await self._pump.take(self._next_beat(), self._is_to_act)
            if taken is not None:
                await self._send_rows(taken)
            elif self._is_through():
                if self._asked.until_now or self._have_passed_until():
                    return
                await self._go_live()  # Also past the bound: more may have come below it while the backlog was read.
            elif self._is_at_end():
                return
            if self._topics_changed:
                await self._look_again()
            await self._beat()

    def _is_to_act(self) -> bool:
        return self._is_through() or self._topics_changed or self._is_at_end()

    def _is_through(self) -> bool:
        return not self._live.is_set() and self._merge.is_done()

    def _is_at_end(self) -> bool:
        """Nothing from before the bound is still on its way, and nothing more can come, or its time is over."""
        if not self._live.is_set() or not self._merge.is_settled():
            return False
        return self._have_passed_until() or self._is_past_until()

    def _have_passed_until(self) -> bool:
        """All partitions have, each for itself."""
        return self._asked.until_ms is not None and all(lane.is_over for lane in self._lanes)

    def _is_past_until(self) -> bool:
        until = self._asked.until_ms
        return until is not None and self._site.clock.now_ms() > until + self._site.settings.max_wait_ms

    async def _go_live(self) -> None:
        await self._send(*self._marker(), messages.live())
        for lane in self._lanes:
            if not lane.is_over:
                lane.merging.state = MergeState.BUSY
        self._live.set()

    async def _send_rows(self, taken: MergedRows) -> None:
        self._moved.update(taken.after)
        self._sent.update((number, position.offset) for number, position in taken.after.items())
        self._site.counts.events += len(taken)
        if self._are_few(taken):
            await self._send(*singles(taken))
            return
        small = len(taken) <= _SMALL_COUNT and rows_size(taken) <= _SMALL_SIZE
        for batch in await self._run(gather, taken, here=small):
            for part in runs(batch, ROWS_MAX if self._asked.batches else SINGLES_MAX):
                if self._asked.batches:
                    await self._send(*await self._run(list, packed(part), here=small))
                else:
                    await self._send(*await self._run(list, one_by_one(part), here=part.nbytes <= SMALL_SIZE))
                    await asyncio.sleep(0)  # Mostly they are made here, not in a thread: others get their turn.

    def _are_few(self, taken: MergedRows) -> bool:
        """A live event that comes alone takes the short way, and so do some for a client that takes no batches."""
        return len(taken) <= (1 if self._asked.batches else SINGLES_MAX) and rows_size(taken) <= SMALL_SIZE

    async def _run(self, call: Callable[..., Any], *args: Any, here: bool) -> Any:
        return call(*args) if here else await self._site.calls.run(call, *args)

    async def _send(self, *data: bytes) -> None:
        await self._guard.passed()
        self._check_lease()
        await self._sender.send(*data)
        self._site.counts.sent_size += sum(map(len, data))
        if data:
            self._quiet_since = self._site.clock.monotonic()

    def _check_lease(self) -> None:
        leaders = self._site.leaders
        if leaders is not None and not leaders.has_lease():
            raise LeaseOver

    # Markers, heartbeats, and what happens beside the rows

    def _next_beat(self) -> float:
        settings = self._site.settings
        beat = self._quiet_since + settings.heartbeat_ms / 1000
        if self._site.leaders is not None:
            beat = min(beat, self._site.clock.monotonic() + LEASE_LOOK_S)
        if self._moved:
            beat = min(beat, self._marked + MARKER_S)
        until = self._asked.until_ms
        if until is not None and self._live.is_set():
            left_ms = until + settings.max_wait_ms + 1 - self._site.clock.now_ms()
            if left_ms > 0:  # Later the lanes themselves say when they are settled.
                beat = min(beat, self._site.clock.monotonic() + left_ms / 1000)
        return beat

    async def _beat(self) -> None:
        self._check_lease()
        now = self._site.clock.monotonic()
        is_due = bool(self._moved) and now >= self._marked + MARKER_S
        if is_due or now >= self._quiet_since + self._site.settings.heartbeat_ms / 1000:
            await self._send(*self._marker(always=True))

    def _marker(self, *, always: bool = False) -> Iterator[bytes]:
        self._marked = self._site.clock.monotonic()
        moved, self._moved = self._moved, {}
        if moved or always:
            yield messages.marker(moved, [lane.found.log.last_stable for lane in self._lanes])

    async def _tell_skipped(self, lane: ServerLane, start: int, end: int) -> None:
        await self._send(messages.skipped(lane.number, start, end))

    async def _tell_gone(self, lane: ServerLane) -> None:
        if not self._asked.routed and any(each.topic == lane.found.topic for each in self._asked.sources):
            raise SourceGone(lane.found.topic)
        await self._send(messages.gone(lane.number))

    async def _tell_moved(self, lane: ServerLane) -> None:
        if not self._asked.routed:
            raise PartitionMoved(lane.name)
        await self._send(messages.moved(lane.number))

    def _note_change(self) -> None:
        self._topics_changed = True
        self._pump.wake()

    def _read_topics(self) -> set[str]:
        return {lane.found.topic for lane in self._lanes if not lane.is_over} if self._lanes else self._meant

    async def _ended_by(self, watch: Coroutine[Any, Any, None]) -> None:
        """What ends the stream also keeps it from sending more, however long its client takes to read."""
        try:
            await watch
        except HoldfastError as failure:
            self._sender.refuse(failure)
            raise

    async def _look_again(self) -> None:
        """Partitions that came later are read from their beginning."""
        self._topics_changed = False
        await self._look_for_moved()
        if self._asked.until_now or self._asked.routed:
            return  # Whoever follows routes asks again when there are more.
        known = {(lane.found.topic_id, lane.found.partition) for lane in self._lanes}
        found = matching(self._site.catalogue, self._asked.sources, self._guard.rights)
        placed = sorted({each[:3]: each for each in found}.values(), key=lambda each: each[:3])
        placed = [each for each in placed if (each.topic_id, each.partition) not in known]
        new = [each.opened(self._refusal) for each in placed]
        if not new:
            return
        lanes = [self._add(each, Position(each.log.marks.log_start), bound=each.log.last_stable) for each in new]
        self._rank()
        await self._send(messages.added(new, {lane.number: lane.start for lane in lanes}))
        for lane in lanes:
            self._crew.start(self._reading.follow(lane))

    async def _look_for_moved(self) -> None:
        """What another is to lead is read no further, though it may still be open here."""
        for lane in self._lanes if self._site.leaders is not None else ():
            opened = self._site.catalogue.find(lane.found.topic)
            if lane.is_over or opened is None or opened.topic.topic_id != lane.found.topic_id:
                continue
            if opened.logs[lane.found.partition] is not lane.found.log:
                lane.is_over = True
                await self._tell_moved(lane)
                self._pump.set_state(lane.merging, MergeState.ENDED)


def _still_there(found: SourcePartition, position: Position) -> Position:
    """The position, or log start if retention has overtaken it."""
    log_start = found.log.marks.log_start
    return position if position.offset >= log_start else position._replace(offset=log_start, epoch=NO_EPOCH)
