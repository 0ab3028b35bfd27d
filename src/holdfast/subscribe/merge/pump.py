"""The merge with waiting added: those who bring pieces wait for room, the one who takes waits for rows.

Belongs to one event loop. A failure of any part is raised at the next take, or behind what can go before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from holdfast.io.clock import Clock
from holdfast.subscribe.merge.memory import Share
from holdfast.subscribe.merge.merge import Merge, MergedRows, MergeLane, MergeState
from holdfast.subscribe.merge.piece import NO_COLUMNS, OLD_MS, Piece
from holdfast.subscribe.merge.sizes import held_size

SIZE_MAX = 64 << 20
COLLECT_COUNT = 16  # Messages of a backlog that are handed on together,
COLLECT_S = 0.002  # and how long one waits for the others at most.


class Pump:
    """Bounded inputs, one output."""

    def __init__(
        self,
        merge: Merge,
        clock: Clock,
        pieces_max: int = 2,
        *,
        size_max: int = SIZE_MAX,
        collects: bool = False,
        share: Share | None = None,
    ) -> None:
        """`collects`: small pieces of a backlog are taken together, where the next ones are on their way."""
        self.merge = merge
        self._clock = clock
        self._pieces_max = pieces_max  # That each input may hold.
        self._size_max = size_max  # Of all pieces together; an input that holds none may always bring one.
        self._share = share or Share()  # Of what all together may hold.
        self._passing = 0  # Bytes that were taken last: whoever took them may hold them still.
        self.size = 0  # Of all pieces, with those.
        self._collects = collects
        self._collected_since: float | None = None
        self._changed = asyncio.Event()
        self._room: dict[int, asyncio.Event] = {}
        self._failure: BaseException | None = None
        self._ending: BaseException | None = None  # Raised when nothing more can go.

    async def put(self, lane: MergeLane, piece: Piece, pieces_max: int | None = None) -> None:
        """Hand in the next piece of an input, once there is room for it. It is held back from now on, not from then."""
        arrived = self._waiting_since(piece)
        most = pieces_max or self._pieces_max
        size = held_size(piece) if len(piece) else 0
        while lane.pieces and (len(lane.pieces) >= most or not self._has_room(size)):
            room = self._room.setdefault(lane.number, asyncio.Event())
            room.clear()
            await room.wait()
        if self._ending is not None:
            return  # Others may bring more for ever, and the failure would never be told.
        self.size += size
        self._share.add(size)
        columns = piece.columns if size else NO_COLUMNS
        self.merge.push(lane, replace(piece, columns=columns, arrived=arrived, size=size))
        if self._collected_since is None or len(lane.pieces) >= COLLECT_COUNT:
            self._changed.set()

    def _has_room(self, size: int) -> bool:
        return self.size + size <= self._size_max and self._share.allows(size)

    def _waiting_since(self, piece: Piece) -> float:
        """News is held back from its own time on, since it was on its way as long as what may come before it.

        The times of history, and of a clock that is ahead, say nothing of the way: these wait from now on.
        """
        now = self._clock.monotonic()
        age_ms = self._clock.now_ms() - int(piece.times[-1]) if len(piece) else 0
        return now - min(age_ms / 1000, self.merge.max_wait_s) if 0 < age_ms < OLD_MS else now

    def set_state(self, lane: MergeLane, state: MergeState) -> None:
        """Say what comes behind the pieces of an input."""
        if lane.state is not state:
            lane.state = state
            self._changed.set()

    def wake(self) -> None:
        """Let the taker look again."""
        self._changed.set()

    def fail(self, failure: BaseException) -> None:
        """Nothing more goes: the taker is told at once."""
        self._failure = self._failure or failure
        self._changed.set()

    def end(self, failure: BaseException) -> None:
        """Nothing more comes: the taker is told behind what is here and can go."""
        self._ending = self._ending or failure
        self._changed.set()

    async def take(self, until: float, is_over: Callable[[], bool]) -> MergedRows | None:
        """What comes next; None at the time `until`, or when `is_over` says so after a change."""
        while True:
            if self._failure is not None:
                raise self._failure
            self._changed.clear()
            now = self._clock.monotonic()
            if self._ending is None and self._is_collecting(now):
                await self._wait(COLLECT_S)
                continue
            self._let_go()
            taken = self.merge.take(now)
            if taken is not None:
                self._passing = sum(pick.piece.size for pick in taken.picks if pick.end == len(pick.piece))
                self._make_room()
                return taken
            if self._ending is not None:
                raise self._ending
            if is_over() or now >= until:
                return None
            wake = self.merge.next_wake(now)
            await self._wait(min(until, wake) - now if wake is not None else until - now)

    def _is_collecting(self, now: float) -> bool:
        """Whether a stream's backlog has brought little yet, and its next message is waited for. Nothing live is."""
        few = self._collects and any(
            lane.owner < 0 and lane.state is MergeState.BUSY and 0 < len(lane.pieces) < COLLECT_COUNT
            for lane in self.merge.streams
        )
        since = now if self._collected_since is None else self._collected_since
        self._collected_since = since if few and now < since + COLLECT_S else None
        return self._collected_since is not None

    async def _wait(self, seconds: float) -> None:
        """Until something changes, or the time is over."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(max(seconds, 0), self._changed.set)
        try:
            await self._changed.wait()
        finally:
            timer.cancel()

    def _let_go(self) -> None:
        """Whoever takes again is through with what was taken before."""
        if self._passing:
            self.size -= self._passing
            self._share.add(-self._passing)
            self._passing = 0
            self._make_room()

    def _make_room(self) -> None:
        """Those who wait look for themselves whether it is theirs."""
        waiting, self._room = self._room, {}
        for room in waiting.values():
            room.set()
