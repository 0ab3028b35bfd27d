"""Purging: entries go, and files only after the purge that frees them is durable; then they are used again."""

from __future__ import annotations

import pytest
from tests.wal.logs import UNCACHED, append, calls_of, chunk_ids, chunk_names, held, new_disk, open_log, reopened

from holdfast.io.disk.simulated import PowerCut, SimulatedDisk
from holdfast.wal import LogId, ReadBelowPurged, Vote, Wal


def spares(disk: SimulatedDisk) -> list[str]:
    return [name for name in disk.names() if name.endswith(".spare")]


def full_chunks(disk: SimulatedDisk, count: int, **settings: int) -> Wal:
    """A log with `count` chunks of five entries each, all but the last one full."""
    wal = open_log(disk, chunk_entries_max=5, **settings)
    append(wal, 5 * count, size=700)
    wal.flush()
    assert wal.stat().chunks == count
    return wal


def test_purged_entries_are_gone_and_the_others_stay() -> None:
    """W3, W5: also inside a chunk, also after a reopen."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 10)
    wal.purge(LogId(1, 3))
    assert held(wal) == entries[4:]
    with pytest.raises(ReadBelowPurged):
        wal.read(3, 9)
    wal.flush()
    wal = reopened(disk)
    assert held(wal) == entries[4:]
    assert wal.state.purged == LogId(1, 3)


def test_chunks_go_only_after_the_purge_is_durable() -> None:
    """W5: write the purge, sync it, then rename or remove, each made durable. The test of W5."""
    disk = new_disk()
    wal = full_chunks(disk, 5)
    with calls_of(disk) as calls:
        wal.purge(LogId(1, 19))
        assert calls == []
        wal.flush()
    # The second write is of zeros, ahead of what comes later.
    assert calls == ["write", "write", "sync", *["rename", "sync_names"] * 2, *["remove", "sync_names"] * 2]
    assert chunk_ids(disk) == [5]
    assert len(spares(disk)) == 2


def test_no_chunk_goes_when_the_purge_cannot_be_made_durable() -> None:
    """W4, W5: the fsync of the purge failed, so everything is still there after a power cut."""
    for seed in range(20):
        disk = new_disk(seed)
        wal = full_chunks(disk, 4)
        wal.purge(LogId(1, 14))
        disk.fail_next("sync")
        wal.flush()
        assert len(chunk_names(disk)) == 4
        disk.power_cut()
        wal = open_log(disk)
        assert wal.state.next_index == 20
        assert len(held(wal)) == (20 if wal.state.purged is None else 5)


@pytest.mark.parametrize("crash", ["kill", "power_cut"])
def test_a_crash_at_every_call_of_a_purge(crash: str) -> None:
    """W5, W10: whichever call is the last one, the entries above the purge point are there and no chunk is missed."""
    at = 0
    while True:
        disk = new_disk(at)
        wal = full_chunks(disk, 5)
        entries = held(wal)
        wal.purge(LogId(1, 16))
        disk.crash_at = disk.calls + at
        try:
            wal.flush()
            break
        except PowerCut:
            getattr(disk, crash)()
        wal = open_log(disk)
        assert held(wal) in (entries, entries[17:]), f"{crash} before call {at}"
        at += 1
    assert at == 9


def test_a_chunk_with_one_live_entry_stays() -> None:
    """W5: it goes with its last entry."""
    disk = new_disk()
    wal = full_chunks(disk, 3)
    wal.purge(LogId(1, 3))
    wal.flush()
    assert chunk_ids(disk) == [1, 2, 3]
    wal.purge(LogId(1, 4))
    wal.flush()
    assert chunk_ids(disk) == [2, 3]
    wal.purge(LogId(1, 14))
    wal.flush()
    assert chunk_ids(disk) == [3]  # The open one stays.


def test_chunks_without_entries_go_with_the_next_purge() -> None:
    """W5: of votes and commits only the state counts, and that is in the next head."""
    disk = new_disk()
    wal = open_log(disk)
    for number in range(300):
        wal.save_vote(Vote(number, 1))
    append(wal, 1)
    wal.purge(LogId(1, 0))
    wal.flush()
    assert len(chunk_names(disk)) == 1
    assert reopened(disk).state.vote == Vote(299, 1)


def test_purge_beyond_the_last_entry() -> None:
    """W3: a snapshot from elsewhere: everything goes, and the log goes on behind it."""
    disk = new_disk()
    wal = full_chunks(disk, 3)
    wal.purge(LogId(4, 99))
    assert (wal.state.last, wal.state.purged) == (LogId(4, 99), LogId(4, 99))
    entries = append(wal, 3, epoch=4)
    assert entries[0][0] == LogId(4, 100)
    wal.flush()
    assert held(wal) == entries
    wal = reopened(disk)
    assert held(wal) == entries
    wal.truncate(100)
    assert wal.state.last == LogId(4, 99)


def test_purge_of_an_empty_log() -> None:
    """W3: a new log may begin anywhere."""
    disk = new_disk()
    wal = open_log(disk)
    wal.purge(LogId(2, 41))
    entries = append(wal, 2, epoch=2)
    wal.flush()
    wal = reopened(disk)
    assert held(wal) == entries
    assert wal.state.first_index == 42


def test_a_purge_of_entries_that_are_still_on_their_way() -> None:
    """W5: chunks whose rounds are not even written yet are purged in the same flush."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=5)
    entries = append(wal, 23, size=700)
    wal.purge(LogId(1, 18))
    wal.flush()
    assert held(wal) == entries[19:]
    assert chunk_ids(disk) == [4, 5]
    assert held(reopened(disk)) == entries[19:]


def test_a_purge_while_a_sync_is_under_way_waits_for_its_own_round() -> None:
    """W5: the round in flight does not free what was purged during it."""
    disk = new_disk()
    wal = full_chunks(disk, 3)
    append(wal, 1)

    def meanwhile() -> None:
        disk.during_sync = None
        wal.purge(LogId(1, 9))

    disk.during_sync = meanwhile
    wal.flush()
    assert chunk_ids(disk) == [1, 2, 3, 4]
    wal.flush()
    assert chunk_ids(disk) == [3, 4]


def test_purged_files_are_used_again() -> None:
    """W5: the spare's name changes and is durable before the first byte; the file does not grow."""
    disk = new_disk()
    wal = full_chunks(disk, 3, zero_ahead_size=0)
    wal.purge(LogId(1, 9))
    wal.flush()
    spare = spares(disk)[-1]
    inode, size = disk._visible[spare], len(disk.content(spare))
    with calls_of(disk) as calls:
        append(wal, 1, size=3000)
        wal.flush()
    assert calls == ["rename", "sync_names", "write", "sync"]
    assert disk._visible[chunk_names(disk)[-1]] is inode
    assert len(inode.visible) == size
    assert len(spares(disk)) == 1


def test_no_more_spares_are_kept_than_wanted_also_over_an_open() -> None:
    """W5: the rest is removed."""
    disk = new_disk()
    wal = full_chunks(disk, 6, spares_max=3)
    wal.purge(LogId(1, 24))
    wal.flush()
    assert len(spares(disk)) == 3
    wal.close()
    open_log(disk, spares_max=1).close()
    assert len(spares(disk)) == 0  # One was used for the new chunk, the others were too many.
    disk = new_disk()
    wal = full_chunks(disk, 3, spares_max=0)
    wal.purge(LogId(1, 9))
    wal.flush()
    assert spares(disk) == []
    assert chunk_ids(disk) == [3]


def test_a_half_empty_or_oversized_file_is_not_kept() -> None:
    """W5: a small one would grow at every fsync, a huge one would hold its space for ever."""
    disk = new_disk()
    wal = open_log(disk, zero_ahead_size=0, chunk_entries_max=5)
    append(wal, 5)
    append(wal, 1, size=20_000)
    append(wal, 1)
    wal.purge(LogId(1, 5))
    wal.flush()
    assert spares(disk) == []
    assert len(chunk_names(disk)) == 1


@pytest.mark.parametrize("crash", ["kill", "power_cut"])
def test_old_frames_of_a_recycled_file_are_never_taken_for_new_ones(crash: str) -> None:
    """W5, W10: entries of the same size at the same places in a recycled file; only the new ones are read."""
    for seed in range(30):
        disk = new_disk(seed)
        wal = full_chunks(disk, 4, **UNCACHED)
        wal.purge(LogId(1, 14))
        wal.flush()
        acked = append(wal, 7, size=700)
        wal.flush()
        append(wal, 1, size=700)
        disk.crash_at = disk.calls + seed % 4
        with pytest.raises(PowerCut):
            wal.close()
        getattr(disk, crash)()
        found = held(open_log(disk, **UNCACHED), 20)
        assert found[:7] == acked
        assert [log_id.index for log_id, _ in found] == list(range(20, 20 + len(found)))
