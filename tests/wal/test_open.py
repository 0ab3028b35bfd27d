"""Opening: a new chunk each time, nothing left behind, and what an open that crashed leaves is no harm."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from tests.io.test_disk import files_limited_to
from tests.wal.logs import Held, append, chunk_ids, chunk_names, held, kinds, new_disk, open_log, reopened

from holdfast.io.disk import RealDirectory
from holdfast.io.disk.simulated import PowerCut, SimulatedDisk
from holdfast.wal import LogId, Vote, Wal, WalSettings


def prepared(disk: SimulatedDisk) -> Held:
    """A log of many chunks, killed when an fsync had failed; all its entries, of which only the last was not durable.

    The next open has to do everything an open can have to do: carry over a round with a purge in it, recycle and remove
    the chunks that this purge frees, and clear away the newest chunk, of which nothing is proven.
    """
    wal = open_log(disk, chunk_entries_max=5)
    entries = append(wal, 28, size=500)
    wal.save_vote(Vote(4, 2))
    wal.flush()
    disk.fail_next("sync", after=1)
    entries += append(wal, 3, size=500)
    wal.purge(LogId(1, 17))
    wal.flush()
    disk.kill()
    return entries


def check(wal: Wal, entries: Held) -> None:
    """All that was durable is there, in order; the last round is there whole or not at all."""
    found = held(wal)
    assert found in (entries[:30], entries[18:])
    assert wal.state.vote == Vote(4, 2)


def test_a_new_directory() -> None:
    """W6: an empty directory is an empty log, and a clean one."""
    wal = open_log(new_disk())
    assert held(wal) == []
    assert wal.opened.clean
    assert (wal.state.last, wal.state.vote, wal.stat().chunks) == (None, None, 1)


def test_every_open_begins_a_new_chunk_and_ids_never_repeat() -> None:
    """W7: the new head says where the chunk before ends, so that its unproven bytes never count again."""
    disk = new_disk()
    ids: list[int] = []
    for _ in range(5):
        wal = open_log(disk)
        ids.append(chunk_ids(disk)[-1])
        append(wal, 2)
        wal.flush()
        disk.kill()
    assert ids == sorted(set(ids))


def test_opening_again_and_again_leaves_no_empty_chunks() -> None:
    """W5: a log that is only opened and closed, or killed, does not grow."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.close()
    for _ in range(10):
        open_log(disk).close()
        open_log(disk).mark()
        disk.kill()
    wal = open_log(disk)
    assert wal.stat().chunks == 2
    assert len(chunk_names(disk)) == 2
    assert held(wal) == entries


def test_what_nothing_proves_is_carried_over() -> None:
    """W10: the last round is written again, before it is shown; the report counts its records."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 2)
    wal.flush()
    entries += append(wal, 3)
    wal.save_vote(Vote(1, 1))
    wal.flush()
    wal = reopened(disk)
    assert wal.opened.carried == 4
    assert kinds(disk, chunk_names(disk)[-1]) == ["head", "append", "append", "append", "vote"]
    assert held(wal) == entries
    disk.power_cut()
    assert held(open_log(disk)) == entries


def test_a_crash_at_every_call_of_an_open() -> None:
    """W10: whichever call of the open is the last one, the next open finds everything; power cut or kill."""
    for crash in ("kill", "power_cut"):
        at = 0
        while True:
            disk = new_disk(at)
            entries = prepared(disk)
            disk.crash_at = disk.calls + at
            try:
                check(open_log(disk, chunk_entries_max=5), entries)
                break
            except PowerCut:
                getattr(disk, crash)()
            wal = open_log(disk, chunk_entries_max=5)
            check(wal, entries)
            assert len(chunk_names(disk)) == wal.stat().chunks, f"{crash} before call {at} of open"
            at += 1
        assert at > 12


@pytest.mark.parametrize("crash", ["kill", "power_cut"])
def test_opens_that_crash_several_times_in_a_row(crash: str) -> None:
    """W10: leftovers of several crashed opens at once are no harm, and are cleared away by the first whole one."""
    for seed in range(20):
        disk = new_disk(seed)
        entries = prepared(disk)
        for at in range(12):
            disk.crash_at = disk.calls + (at * 7 + seed) % 16
            with contextlib.suppress(PowerCut):
                check(open_log(disk, chunk_entries_max=5), entries)
            getattr(disk, crash)()
        wal = open_log(disk, chunk_entries_max=5)
        check(wal, entries)
        assert len(chunk_names(disk)) == wal.stat().chunks


def test_a_failed_open_leaves_nothing_open(tmp_path: Path) -> None:
    """W1, W4: an open that the disk refuses raises, lets the directory go, and leaks no file; the next one works."""
    with Wal.open(RealDirectory(tmp_path)) as wal:
        wal.append(LogId(1, 0), [b"entry"])
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        with files_limited_to(16), pytest.raises(OSError, match="too large"):
            Wal.open(RealDirectory(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == len(before)
    with Wal.open(RealDirectory(tmp_path), WalSettings()) as wal:
        assert held(wal) == [(LogId(1, 0), b"entry")]
