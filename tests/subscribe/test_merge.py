"""The order of the merge: strict where all is known, at once where it would wait too long."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from tests.subscribe.pieces import a_piece, rows_of

from holdfast.subscribe.merge.merge import Merge, MergeLane, MergeState
from holdfast.subscribe.merge.piece import Piece

WAIT_S = 0.005


def merge_of(count: int) -> tuple[Merge, list[MergeLane]]:
    merge = Merge(WAIT_S)
    merge.set_ranks(np.arange(count, dtype=np.int32))
    return merge, [merge.add(number) for number in range(count)]


def test_three_lanes_come_in_strict_order() -> None:
    """S1: stored backlog of three sources with interleaved timestamps comes in strict order."""
    merge, lanes = merge_of(3)
    for number, lane in enumerate(lanes):
        merge.push(lane, a_piece(number, range(number, 300, 3)))
        lane.state = MergeState.ENDED
    rows = rows_of(merge.take(0))
    assert [time for _, _, time, _ in rows] == list(range(300))
    assert merge.is_done()


def test_equal_timestamps_come_by_source_partition_offset() -> None:
    """S1: equal timestamps are deterministic, whatever the order in which pieces come."""
    merge, lanes = merge_of(3)
    for number in (2, 0, 1):
        merge.push(lanes[number], a_piece(number, [7, 7, 7]))
        lanes[number].state = MergeState.ENDED
    assert [row[:2] for row in rows_of(merge.take(0))] == [(lane, offset) for lane in range(3) for offset in range(3)]


def test_timestamps_that_go_back_keep_offset_order() -> None:
    """S1: a record takes the largest timestamp before it, so the order of offsets always holds."""
    merge, lanes = merge_of(2)
    merge.push(lanes[0], a_piece(0, [10, 3, 4, 20]))
    merge.push(lanes[1], a_piece(1, [5, 10, 15]))
    for lane in lanes:
        lane.state = MergeState.ENDED
    rows = rows_of(merge.take(0))
    assert [(lane, offset, time) for lane, offset, time, _ in rows] == [
        (1, 0, 5), (0, 0, 10), (0, 1, 10), (0, 2, 10), (1, 1, 10), (1, 2, 15), (0, 3, 20),
    ]  # fmt: skip


def test_a_busy_lane_is_waited_for() -> None:
    """S1: as long as more is known to come, nothing overtakes it."""
    merge, (one, other) = merge_of(2)
    merge.push(one, a_piece(0, [1, 5, 9]))
    assert rows_of(merge.take(100)) == []
    merge.push(other, a_piece(1, [4, 6]))
    assert [row[2] for row in rows_of(merge.take(100))] == [1, 4, 5, 6]
    other.state = MergeState.ENDED
    assert [row[2] for row in rows_of(merge.take(100))] == [9]


def test_an_idle_lane_holds_the_others_for_max_wait() -> None:
    """S1: a source idle at its watermark holds the others back at most max_wait_ms."""
    merge, (one, other) = merge_of(2)
    one.state = other.state = MergeState.IDLE
    merge.push(one, a_piece(0, [10]))  # It arrived at time 0.
    assert rows_of(merge.take(WAIT_S - 0.001)) == []
    assert merge.next_wake(0) == pytest.approx(WAIT_S)
    assert merge.next_wake(WAIT_S) is None, "What is over is no reason to wake."
    assert [row[2] for row in rows_of(merge.take(WAIT_S))] == [10]


def test_a_lane_at_its_end_does_not_hold_what_lies_below_it() -> None:
    """S1: what an idle source has passed already cannot come any more: nobody waits for it."""
    merge, (one, other) = merge_of(2)
    one.state = other.state = MergeState.IDLE
    merge.push(other, a_piece(1, [50]))
    merge.push(one, a_piece(0, [10, 60]))
    assert [row[2] for row in rows_of(merge.take(0))] == [10, 50]
    assert rows_of(merge.take(WAIT_S - 0.001)) == []
    assert [row[2] for row in rows_of(merge.take(WAIT_S))] == [60]


def test_what_comes_behind_the_point_is_late_and_goes_at_once() -> None:
    """S1: an event that arrives behind the emitted point is delivered at once, marked late."""
    merge, (one, other) = merge_of(2)
    one.state = other.state = MergeState.IDLE
    merge.push(one, a_piece(0, [10]))
    merge.take(1)
    merge.push(other, a_piece(1, [4, 20]))
    assert rows_of(merge.take(0)) == [(1, 0, 4, True)]
    assert rows_of(merge.take(0)) == []
    assert rows_of(merge.take(1)) == [(1, 1, 20, False)]


def late_piece(lane: int, timestamps: list[int], first: int) -> Piece:
    return dataclasses.replace(a_piece(lane, timestamps, first), late=True)


def test_late_rows_of_a_stream_do_not_wait_for_other_partitions() -> None:
    """S1, S5: a stream full of late rows would wait for ever for a stored row that is not below them."""
    merge, (stored,) = merge_of(1)
    merge.set_ranks(np.arange(2, dtype=np.int32))
    stream = merge.add(-1)
    merge.push(stored, a_piece(0, [50]))
    stored.state = MergeState.ENDED
    for first in range(3):
        merge.push(stream, late_piece(1, [10 + first], first))
    assert rows_of(merge.take(0)) == [(1, 0, 10, True), (1, 1, 11, True), (1, 2, 12, True)]
    assert rows_of(merge.take(0)) == [], "the stream may still bring something below 50"
    stream.state = MergeState.ENDED
    assert rows_of(merge.take(0)) == [(0, 0, 50, False)]


@pytest.mark.parametrize("sent", [20, 5])  # A server that knows less of the partition may take it for an earlier one.
def test_late_rows_of_a_stream_wait_for_their_own_partition(sent: int) -> None:
    """S1, S5: offsets stay in order; what is late lets those of its partition pass that lie before it."""
    merge, (stored,) = merge_of(1)
    merge.set_ranks(np.arange(2, dtype=np.int32))
    stream = merge.add(-1)
    merge.push(stream, late_piece(0, [sent], 2))
    assert rows_of(merge.take(0)) == [], "its partition is still being read"
    merge.push(stored, a_piece(0, [10, 20]))
    stored.state = MergeState.ENDED
    assert rows_of(merge.take(0)) == [(0, 0, 10, False), (0, 1, 20, False)]
    assert rows_of(merge.take(0)) == [(0, 2, sent, True)]


@pytest.mark.parametrize("taken", [0, 1])
def test_what_is_late_behind_a_marker_is_late(taken: int) -> None:
    """S1: of two streams one is behind: its rows are marked also where a piece without rows is in front of them."""
    merge = Merge(WAIT_S)
    merge.set_ranks(np.arange(2, dtype=np.int32))
    slow, quick = merge.add(-1), merge.add(-1)
    slow.state = quick.state = MergeState.IDLE
    merge.push(quick, a_piece(1, [100]))
    assert [row[2:] for row in rows_of(merge.take(WAIT_S))] == [(100, False)]
    for first in range(taken):
        merge.push(slow, a_piece(0, [10 + first], first))
    merge.push(slow, a_piece(0, [], taken))
    merge.push(slow, a_piece(0, [20, 100, 101], taken))
    found = []
    while (each := merge.take(WAIT_S)) is not None:
        found += rows_of(each)
    late = [*range(10, 10 + taken), 20, 100]
    assert [row[2:] for row in found] == [*((time, True) for time in late), (101, False)]


def test_one_lane_takes_the_path_without_the_heap() -> None:
    """S5: a single source is not merged, and not even copied."""
    merge, (only,) = merge_of(1)
    merge.push(only, a_piece(0, [3, 1, 2]))
    only.state = MergeState.IDLE
    taken = merge.take(0)
    assert taken is not None
    assert taken.turns is None
    assert [row[2] for row in rows_of(taken)] == [3, 3, 3]


def test_lanes_that_come_later_find_their_place() -> None:
    """S1: the order is that of names, also for a partition that is made while others are followed."""
    merge = Merge(WAIT_S)
    merge.set_ranks(np.array([0], np.int32))
    first = merge.add(0)
    merge.set_ranks(np.array([1, 0], np.int32))  # The new lane's name comes first.
    second = merge.add(1)
    for number, lane in enumerate((first, second)):
        merge.push(lane, a_piece(number, [5]))
        lane.state = MergeState.ENDED
    assert [row[0] for row in rows_of(merge.take(0))] == [1, 0]


@pytest.mark.parametrize("start", range(0, 300, 100))
def test_any_order_of_arrival(start: int) -> None:
    """S1: whatever comes when: all of it once, offsets in order, what is not late in order; backlog strictly."""
    for seed in range(start, start + 100):
        _any_order(random.Random(seed))


def _any_order(chance: random.Random) -> None:
    count = chance.randint(1, 4)
    merge, lanes = merge_of(count)
    written = [[chance.randint(0, 40) for _ in range(chance.randint(0, 30))] for _ in range(count)]
    backlog = chance.random() < 0.5  # Lanes are busy until they end: then everything is in strict order.
    at, order, now = [0] * count, [-1] * count, 0.0
    found = []
    while not merge.is_done():
        number = chance.randrange(count)
        lane, left = lanes[number], written[number][at[number] :]
        if left and chance.random() < 0.6:
            part = left[: chance.randint(1, 7)]
            merge.push(lane, a_piece(number, part, at[number], order[number]))
            at[number] += len(part)
            order[number] = max(order[number], *part)
            lane.state = MergeState.BUSY if backlog else chance.choice([MergeState.BUSY, MergeState.IDLE])
        elif not left:
            lane.state = MergeState.ENDED
        now += chance.random() * WAIT_S
        found += rows_of(merge.take(now))
    assert sorted(row[:2] for row in found) == [
        (number, offset) for number in range(count) for offset in range(len(written[number]))
    ]
    for number in range(count):
        offsets = [offset for lane, offset, _, _ in found if lane == number]
        assert offsets == sorted(offsets)
    in_order = [(time, lane) for lane, _, time, late in found if not late]
    assert in_order == sorted(in_order)
    if backlog:
        assert len(in_order) == len(found), "Backlog was marked late."


def test_what_is_on_its_way_is_not_settled() -> None:
    """S1: a stream with a bound ends when no lane has something on its way and none holds anything."""
    merge, (one, other) = merge_of(2)
    one.state = MergeState.IDLE
    assert not merge.is_settled()  # The other is still being read.
    other.state = MergeState.IDLE
    assert merge.is_settled()
    merge.push(one, a_piece(0, [1]))
    assert not merge.is_settled()
    merge.take(WAIT_S * 2)
    assert merge.is_settled()
