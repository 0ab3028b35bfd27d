"""The marker: what proves that the last round was durable, so that damage to it is told from a torn write."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.wal.logs import append, chunk_names, held, kinds, new_disk, open_log

from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk import RealDirectory
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import DamagedLog, LogId, Wal, WalFailed, WalSettings


def damage_last(disk: SimulatedDisk, data: bytes) -> str:
    """Flip bits in the newest copy of a payload; the name of the file."""
    name = next(name for name in reversed(chunk_names(disk)) if data in disk.content(name))
    disk.damage(name, disk.content(name).rfind(data))
    return name


def test_before_the_marker_damage_to_the_last_round_looks_torn() -> None:
    """W7: the one ambiguous window. Nothing proves the last round, so what is bad in it is cut, and said to be."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.flush()
    disk.kill()
    name = damage_last(disk, entries[2][1])
    wal = open_log(disk)
    assert held(wal) == entries[:2]
    assert wal.opened.cut is not None
    assert wal.opened.cut[0] == name


def test_after_the_marker_damage_to_the_last_round_is_damage() -> None:
    """W7: a marker closes the window: the same damage is refused."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.flush()
    wal.mark()
    disk.kill()
    name = damage_last(disk, entries[2][1])
    with pytest.raises(DamagedLog) as refused:
        open_log(disk)
    assert refused.value.file == name


def test_a_marker_is_a_round_of_its_own() -> None:
    """W7: entries that were not flushed yet are proven too: a marker in their own round would prove nothing."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.mark()
    disk.kill()
    damage_last(disk, entries[2][1])
    with pytest.raises(DamagedLog):
        open_log(disk)


def test_after_a_close_damage_to_the_last_round_is_damage() -> None:
    """W7: the closing marker proves also what close itself had to write."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.close()
    damage_last(disk, entries[2][1])
    with pytest.raises(DamagedLog):
        open_log(disk)


def test_what_follows_a_marker_needs_another_one() -> None:
    """W7: each marker proves what is before it and nothing after it; a second one without news is not written."""
    disk = new_disk()
    wal = open_log(disk, chunk_size_max=1 << 20)
    append(wal, 1)
    wal.mark()
    wal.mark()
    entries = append(wal, 1)
    wal.mark()
    assert kinds(disk) == ["head", "append", "marker", "append", "marker"]
    disk.kill()
    damage_last(disk, entries[0][1])
    with pytest.raises(DamagedLog):
        open_log(disk)


def test_mark_of_a_stopped_log_raises() -> None:
    """W4: also asking for a proof tells that the log has stopped, at once and later."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 1)
    disk.fail_next("sync")
    with pytest.raises(WalFailed):
        wal.mark()
    with pytest.raises(WalFailed):
        wal.mark()


@pytest.mark.parametrize("flushed", [True, False])
def test_an_idle_log_writes_a_marker_by_itself(tmp_path: Path, flushed: bool) -> None:
    """W7, W9: the writer thread marks once nothing was written for the delay, and then rests."""
    directory = RealDirectory(tmp_path)
    with Wal.open(directory, WalSettings(marker_delay_ms=1)) as wal:
        wal.append(LogId(1, 0), [b"entry"])
        wal.sync()
        if not flushed:
            wal.append(LogId(1, 1), [b"only queued"])
        assert wal.wait_worker_idle(10)
        written = kinds(directory)
        assert written[-1] == "marker"
        threading.Event().wait(0.05)  # Fifty delays.
        assert kinds(directory) == written


def test_a_busy_log_writes_no_marker() -> None:
    """W7: the delay counts from the last write, by the clock that was handed in."""
    disk = new_disk()
    clock = ManualClock()
    wal = Wal.open(disk, WalSettings(marker_delay_ms=1), clock=clock, chance=SeededChance(1))
    wal.append(LogId(1, 0), [b"entry"])
    wal.sync()
    assert not wal.wait_worker_idle(0.05)  # The clock stands still: for the log no time has passed.
    assert "marker" not in kinds(disk)
    clock.advance(0.002)
    assert wal.wait_worker_idle(10)
    assert kinds(disk)[-1] == "marker"
    wal.close()


def test_after_an_open_a_marker_proves_the_new_head(tmp_path: Path) -> None:
    """W7: an open log that is never written to still closes the window of its own head and of what it carried."""
    directory = RealDirectory(tmp_path)
    with Wal.open(directory, WalSettings(marker_delay_ms=1)) as wal:
        assert wal.wait_worker_idle(10)
        assert kinds(directory) == ["head", "marker"]
