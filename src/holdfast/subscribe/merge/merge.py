"""The merge of many lanes by (order time, rank), as a state machine: no I/O, no clock of its own, no tasks.

A lane is busy (more is known to be there and on its way: everybody waits for it), idle (it is at its end: it holds the
others back for `max_wait_s` at most), or ended. Rows come out in runs, as many as the lanes allow at once. What comes
in below the point up to which all is delivered goes out at once, marked late.

Work is that of what moves: the lanes that hold pieces are few, and the lowest key of all the others is on a heap.

The rank of a lane is its place in the order of (source, topic, partition); lanes of one partition (segments read from
the store, and what the server sends behind them) have the same rank; the one with the lower offsets was added first.
"""

from __future__ import annotations

import enum
import heapq
import math
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.subscribe.merge.piece import NO_TIME, Piece, Position

Key: TypeAlias = tuple[float, float, float]  # Order time, rank, number of the lane.
_HIGHEST: Key = (math.inf, 0, 0)
FEW = 1024  # Rows that numpy sorts as fast: without C live events never wait for numba to be loaded.


class MergeState(enum.Enum):
    """What comes behind the pieces that a lane holds."""

    BUSY = enum.auto()
    IDLE = enum.auto()
    ENDED = enum.auto()


class Pick(NamedTuple):
    """The rows `[start, end)` of a piece."""

    piece: Piece
    start: int
    end: int


class MergePoint(NamedTuple):
    """Up to where everything is delivered. What comes below it is late."""

    time: int
    lane: int  # -1 for none: then nothing of the same time is late.


@dataclass(frozen=True, slots=True)
class MergedRows:
    """Rows that come next."""

    picks: list[Pick]
    turns: NDArray[np.int64] | None  # The order of all picked rows; None: as they stand.
    after: dict[int, Position]  # Where lanes stand whose pieces were taken to their ends.
    late: bool = False

    def __len__(self) -> int:
        return sum(pick.end - pick.start for pick in self.picks)


class MergeLane:
    """One input of the merge."""

    __slots__ = ("_merge", "_state", "last_lane", "last_time", "number", "owner", "pieces", "taken")

    def __init__(self, merge: Merge, number: int, owner: int, last_time: int) -> None:
        self._merge = merge
        self._state = MergeState.BUSY
        self.number = number
        self.owner = owner  # The lane number of its rows; -1 for an input of many partitions: each row has its own.
        self.last_time = last_time  # No later row has a lower one, unless it is late.
        self.last_lane = -1  # The lane number of the last row, for an input of many partitions.
        self.pieces: deque[Piece] = deque()
        self.taken = 0  # Rows of the first piece.

    @property
    def state(self) -> MergeState:
        """What comes behind its pieces."""
        return self._state

    @state.setter
    def state(self, state: MergeState) -> None:
        if state is not self._state:
            before, self._state = self._state, state
            self._merge.changed(self, before)

    def last_key(self, ranks: NDArray[np.int32]) -> Key:
        """Below this nothing comes any more, apart from what is late."""
        owner = self.last_lane if self.owner < 0 else self.owner
        return self.last_time, _rank(ranks, owner), self.number


class _Lowest:
    """The lowest last key of the lanes in one state. Old entries stay on the heap until they come to its top."""

    def __init__(self) -> None:
        self.lanes: dict[int, MergeLane] = {}
        self._heap: list[Key] = []

    def note(self, lane: MergeLane, ranks: NDArray[np.int32]) -> None:
        """The lane has come into the state, or has moved."""
        self.lanes[lane.number] = lane
        if lane.owner < len(ranks):  # Else `order` comes, with its rank.
            heapq.heappush(self._heap, lane.last_key(ranks))
        if len(self._heap) > 2 * len(self.lanes) + FEW:
            self.order(ranks)

    def order(self, ranks: NDArray[np.int32]) -> None:
        """All anew: ranks have changed, or most entries are old."""
        self._heap = [lane.last_key(ranks) for lane in self.lanes.values() if lane.owner < len(ranks)]
        heapq.heapify(self._heap)

    def key(self, ranks: NDArray[np.int32]) -> Key | None:
        """The lowest; None where no lane is in the state."""
        while self._heap:
            lane = self.lanes.get(int(self._heap[0][2]))
            if lane is not None and lane.last_key(ranks) == self._heap[0]:
                return self._heap[0]
            heapq.heappop(self._heap)
        return None


class Merge:
    """The lanes, and what comes next of them."""

    def __init__(self, max_wait_s: float, point: MergePoint | None = None) -> None:
        self.max_wait_s = max_wait_s
        self.point = point
        self.lanes: list[MergeLane] = []
        self.streams: list[MergeLane] = []  # Those of them that bring rows of many partitions: a few.
        self._states = {state: _Lowest() for state in MergeState}
        self._holding: dict[int, MergeLane] = {}  # Lanes that have pieces.
        self._ranks: NDArray[np.int32] = np.zeros(0, np.int32)

    def set_ranks(self, ranks: NDArray[np.int32]) -> None:
        """The rank of each lane number that rows carry."""
        self._ranks = ranks
        for each in self._states.values():
            each.order(ranks)

    def changed(self, lane: MergeLane, before: MergeState) -> None:
        """A lane has come into another state."""
        del self._states[before].lanes[lane.number]
        self._states[lane.state].note(lane, self._ranks)

    def add(self, owner: int, order_time: int = NO_TIME) -> MergeLane:
        """One more input, busy: of one lane, or of many with -1."""
        lane = MergeLane(self, len(self.lanes), owner, order_time)
        self.lanes.append(lane)
        if owner < 0:
            self.streams.append(lane)
        self._states[lane.state].note(lane, self._ranks)
        return lane

    def push(self, lane: MergeLane, piece: Piece) -> None:
        """Give an input its next piece; one without rows only moves the lane on."""
        lane.pieces.append(piece)
        self._holding[lane.number] = lane
        if lane.owner >= 0:
            lane.last_time = max([lane.last_time, *(each.order_time for each in piece.after.values())])
        elif len(piece) and not piece.late:
            lane.last_time, lane.last_lane = int(piece.times[-1]), int(piece.lanes[-1])
        self._states[lane.state].note(lane, self._ranks)

    def take(self, now: float) -> MergedRows | None:
        """What comes next, if anything can."""
        if not self._holding:
            return None
        holding = [self._holding[number] for number in sorted(self._holding)]
        found = self._take_late(holding)
        if found is None:
            found = self._take_up_to(self._limit(holding, now), holding)
        for lane in holding:
            if not lane.pieces:
                del self._holding[lane.number]
        return found

    def next_wake(self, now: float) -> float | None:
        """When rows that an idle lane holds back may go; None if time alone lets nothing more go."""
        if not self._states[MergeState.IDLE].lanes:
            return None
        holding = self._holding.values()
        times = (piece.arrived + self.max_wait_s for lane in holding for piece in lane.pieces if len(piece))
        return min((time for time in times if time > now), default=None)

    def is_done(self) -> bool:
        """All lanes have ended, and all was taken."""
        return len(self._states[MergeState.ENDED].lanes) == len(self.lanes) and not self._holding

    def is_settled(self) -> bool:
        """No lane holds anything, and none has something on its way."""
        return not self._states[MergeState.BUSY].lanes and not self._holding

    def _limit(self, holding: list[MergeLane], now: float) -> Key:
        limit = self._lowest(MergeState.BUSY) or _HIGHEST
        idle = self._lowest(MergeState.IDLE)
        if idle is not None:
            limit = min(limit, max([idle, *self._waited_for(holding, now)]))
        return limit

    def _lowest(self, state: MergeState) -> Key | None:
        """Up to where all inputs in this state have come."""
        late = [each for each in self.streams if each.state is state and each.pieces and each.pieces[0].late]
        if not late:
            return self._states[state].key(self._ranks)
        return min(map(self._passed, self._states[state].lanes.values()))

    def _passed(self, lane: MergeLane) -> Key:
        """Up to here an input has come.

        Rows that a stream sends as late lie below what it has passed, and so does all that lies before them in their
        partitions and is still held here.
        """
        key = lane.last_key(self._ranks)
        if lane.owner < 0 and lane.pieces and (piece := lane.pieces[0]).late:
            before = (other for other in self._holding.values() if other.pieces and _has_any(piece, [other.owner]))
            key = max([key, *(other.last_key(self._ranks) for other in before)])
        return key

    def _waited_for(self, holding: list[MergeLane], now: float) -> list[Key]:
        """The last keys of pieces that were held back for long enough."""
        return [
            (int(piece.times[-1]), int(self._ranks[piece.lanes[-1]]), lane.number)
            for lane in holding
            for piece in lane.pieces
            if len(piece) and piece.arrived + self.max_wait_s <= now
        ]

    def _take_late(self, holding: list[MergeLane]) -> MergedRows | None:
        """All that lies below the point, or was sent as late.

        Rows of a stream of many partitions wait for those of the same partition that are read from the store: these
        have the lower offsets.
        """
        taken = _Taking()
        stored = self._stored() if any(lane.owner < 0 for lane in holding) else []
        for lane in holding:
            before = stored if lane.owner < 0 else []
            while lane.pieces and (piece := lane.pieces[0]).late and not _has_any(piece, before):
                taken.begin_run()
                taken.pick(lane, piece, len(piece))
            if lane.pieces and self.point is not None and not lane.pieces[0].late:
                taken.begin_run()
                piece = lane.pieces[0]
                point = self.point.time, _rank(self._ranks, self.point.lane), -1
                count = self._count(piece, lane.taken, point, lane.number)
                if count and not _has_any(piece, before):
                    taken.pick(lane, piece, count)
        return taken.finish(self._ranks, late=True) if taken.picks else None

    def _stored(self) -> list[int]:
        """The partitions of which rows are held, or on their way, that were read from the store."""
        some = {**self._states[MergeState.BUSY].lanes, **self._holding}
        return [lane.owner for lane in some.values() if lane.owner >= 0]

    def _take_up_to(self, limit: Key, holding: list[MergeLane]) -> MergedRows | None:
        taken = _Taking()
        for lane in holding:
            taken.begin_run()
            while lane.pieces and not (piece := lane.pieces[0]).late and not self._is_below(piece, lane.taken):
                count = self._count(piece, lane.taken, limit, lane.number)
                whole = lane.taken + count == len(piece)
                if count or whole:
                    taken.pick(lane, piece, count)
                if not whole:
                    break
        if not taken.picks and not taken.after:
            return None
        found = taken.finish(self._ranks, late=False)
        self._move_point(found)
        return found

    def _is_below(self, piece: Piece, row: int) -> bool:
        """Whether what comes next of a piece lies below the point: it goes as late, once nothing is in its way."""
        if self.point is None or row == len(piece) or piece.times[row] > self.point.time:
            return False
        key = int(piece.times[row]), int(self._ranks[piece.lanes[row]])
        return key < (self.point.time, _rank(self._ranks, self.point.lane))

    def _count(self, piece: Piece, start: int, limit: Key, number: int) -> int:
        if limit == _HIGHEST or start == len(piece):
            return len(piece) - start
        time, rank, lane = limit
        key = int(time), int(rank) if number <= lane else int(rank) - 1
        rows = range(start, len(piece))
        return bisect_right(rows, key, key=lambda row: (piece.times[row], self._ranks[piece.lanes[row]]))

    def _move_point(self, found: MergedRows) -> None:
        """To the highest key that was taken."""
        rows = [(pick.piece, pick.end - 1) for pick in found.picks]
        ends = [MergePoint(int(piece.times[row]), int(piece.lanes[row])) for piece, row in rows]
        if self.point is not None:
            ends.append(self.point)
        if ends:
            self.point = max(ends, key=lambda each: (each.time, _rank(self._ranks, each.lane)))


def _has_any(piece: Piece, owners: list[int]) -> bool:
    """Whether a piece has rows of one of these partitions."""
    return bool(owners) and bool(np.isin(piece.lanes, owners).any())


def _rank(ranks: NDArray[np.int32], lane: int) -> int:
    return -1 if lane < 0 else int(ranks[lane])


class _Taking:
    """Collects picks; those of one run follow one another in order."""

    def __init__(self) -> None:
        self.picks: list[Pick] = []
        self.after: dict[int, Position] = {}
        self._runs: list[int] = []  # The number of picks before each run.

    def begin_run(self) -> None:
        self._runs.append(len(self.picks))

    def pick(self, lane: MergeLane, piece: Piece, count: int) -> None:
        if count:
            self.picks.append(Pick(piece, lane.taken, lane.taken + count))
        lane.taken += count
        if lane.taken == len(piece):
            lane.pieces.popleft()
            lane.taken = 0
            self.after.update(piece.after)

    def finish(self, ranks: NDArray[np.int32], *, late: bool) -> MergedRows:
        return MergedRows(self.picks, self._turns(ranks), self.after, late)

    def _turns(self, ranks: NDArray[np.int32]) -> NDArray[np.int64] | None:
        """The heap; what is one run already needs none."""
        starts = sorted({*self._runs, len(self.picks)})
        if len(starts) <= 2:
            return None
        times = np.concatenate([pick.piece.times[pick.start : pick.end] for pick in self.picks])
        lanes = np.concatenate([pick.piece.lanes[pick.start : pick.end] for pick in self.picks])
        if len(times) <= FEW:
            return np.lexsort((ranks[lanes], times))  # Stable: of one partition the earlier run comes first.
        from holdfast.subscribe.merge import order_loops as loops

        sizes = np.cumsum([0, *(pick.end - pick.start for pick in self.picks)], dtype=np.int64)
        turns = np.empty(len(times), np.int64)
        room = np.empty((2, len(starts)), np.int64)
        loops.merge_runs(times, ranks[lanes], sizes[starts], room[0], room[1], turns)
        return turns
