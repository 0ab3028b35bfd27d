"""Cutting the log's end: what stays, what may come behind the cut, and what is in flight meanwhile."""

from __future__ import annotations

import pytest
from tests.wal.logs import UNCACHED, append, append_batch, held, new_disk, open_log, reopened

from holdfast.wal import LogId, TruncateBelowPurged


def test_truncate_keeps_what_is_before_the_index() -> None:
    """W3: entries before the index stay, those from it on are gone, also after a reopen."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 10)
    wal.truncate(6)
    assert held(wal) == entries[:6]
    assert wal.state.last == LogId(1, 5)
    wal.flush()
    assert held(reopened(disk)) == entries[:6]


@pytest.mark.parametrize("cached", [True, False])
def test_truncate_inside_a_batched_frame_then_append(cached: bool) -> None:
    """W3, W8: a cut in the middle of a frame; what that frame held above the cut never comes back."""
    disk = new_disk()
    settings = {} if cached else UNCACHED
    wal = open_log(disk, **settings)
    old = append_batch(wal, 8)
    wal.flush()
    wal.truncate(3)
    new = append_batch(wal, 3, epoch=2)
    wal.flush()
    wal.drain_cache_evictable()
    assert held(wal) == old[:3] + new
    assert held(wal, 4) == new[1:]
    assert held(reopened(disk, **settings)) == old[:3] + new


def test_truncate_inside_a_batched_frame_then_append_in_the_next_chunk() -> None:
    """W3, W5: the same when the new entries come after a roll-over."""
    disk = new_disk()
    wal = open_log(disk, **UNCACHED)
    old = append_batch(wal, 30, size=100)
    wal.flush()
    wal.truncate(7)
    new = append_batch(wal, 30, epoch=2, size=100)
    wal.flush()
    assert wal.stat().chunks == 2
    assert held(wal) == old[:7] + new
    assert held(reopened(disk, **UNCACHED)) == old[:7] + new


def test_truncate_over_several_chunks_and_back() -> None:
    """W3, W5: a cut that reaches back over chunks, twice, with new entries after each."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=4, **UNCACHED)
    first = append(wal, 14)
    wal.flush()
    wal.truncate(9)
    second = append(wal, 6, epoch=2)
    wal.flush()
    wal.truncate(2)
    third = append(wal, 5, epoch=3)
    wal.flush()
    assert held(wal) == first[:2] + third
    assert second  # Was there, and is gone.
    assert held(reopened(disk, **UNCACHED)) == first[:2] + third


def test_truncate_to_nothing() -> None:
    """W3: everything may be cut, and the log begins again at index 0, also in a lower epoch."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 5, epoch=3)
    wal.truncate(0)
    assert wal.state.last is None
    entries = append(wal, 2, epoch=1)
    wal.flush()
    assert held(reopened(disk)) == entries


def test_truncate_to_the_purge_point_but_not_below() -> None:
    """W3: the purge point is the lowest index that may be cut."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 10)
    wal.purge(LogId(1, 4))
    with pytest.raises(TruncateBelowPurged) as refused:
        wal.truncate(4)
    assert (refused.value.current, refused.value.attempted) == (LogId(1, 4), 4)
    wal.truncate(5)
    assert (wal.state.last, wal.state.purged) == (LogId(1, 4), LogId(1, 4))
    entries = append(wal, 3, epoch=2)
    wal.flush()
    wal = reopened(disk)
    assert held(wal) == entries
    assert wal.state.purged == LogId(1, 4)


def test_truncate_pulls_the_commit_mark_back() -> None:
    """W3: what is cut is not committed any more."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 10)
    wal.commit(LogId(1, 8))
    wal.truncate(5)
    assert wal.state.committed == LogId(1, 4)
    wal.flush()
    assert reopened(disk).state.committed == LogId(1, 4)


@pytest.mark.parametrize("crash", ["kill", "power_cut"])
def test_truncate_with_a_round_in_flight(crash: str) -> None:
    """W3, W10: a cut and new entries while an fsync of the old ones is under way; both are durable in order."""
    disk = new_disk()
    wal = open_log(disk, **UNCACHED)
    old = append(wal, 6)
    new = []

    def meanwhile() -> None:
        disk.during_sync = None
        wal.truncate(2)
        new.extend(append(wal, 3, epoch=2))

    disk.during_sync = meanwhile
    wal.flush()
    assert held(wal) == old[:2] + new
    wal.flush()
    wal.drain_cache_evictable()
    assert held(wal) == old[:2] + new
    getattr(disk, crash)()
    assert held(open_log(disk)) == old[:2] + new


def test_a_cut_in_flight_keeps_entries_that_are_not_durable_in_memory() -> None:
    """W8: after the old round is durable, the new entries at the same indexes are still only in memory."""
    disk = new_disk()
    wal = open_log(disk, **UNCACHED)
    append(wal, 6)

    def meanwhile() -> None:
        disk.during_sync = None
        wal.truncate(0)
        append(wal, 6, epoch=2)

    disk.during_sync = meanwhile
    wal.flush()
    wal.drain_cache_evictable()
    assert wal.stat().cache_entries == 6
    assert [log_id.epoch for log_id, _ in held(wal)] == [2] * 6
