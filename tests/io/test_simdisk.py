"""The simulated disk does what its docstring says it injects: what the crash tests rest on."""

from __future__ import annotations

import errno
import os

import pytest

from holdfast.io.chance import SeededChance
from holdfast.io.disk import Locked
from holdfast.io.disk.simulated import SECTOR_SIZE, PowerCut, SimulatedDisk, SimulatedFile

SEEDS = range(60)


def new_disk(seed: int = 1, **settings: int) -> SimulatedDisk:
    return SimulatedDisk(SeededChance(seed), **settings)


def durable_file(disk: SimulatedDisk, name: str = "a", content: bytes = b"") -> SimulatedFile:
    file = disk.open(name, create=True)
    disk.sync_names()
    if content:
        file.write_at(0, [content])
        file.sync()
    return file


def sectors_of(data: bytes) -> list[bytes]:
    return [data[start : start + SECTOR_SIZE] for start in range(0, len(data), SECTOR_SIZE)]


def test_what_is_synced_survives_a_power_cut() -> None:
    """W10: bytes after `sync`, names after `sync_names`."""
    for seed in SEEDS:
        disk = new_disk(seed)
        durable_file(disk, content=b"x" * 5000)
        disk.power_cut()
        assert disk.names() == ["a"]
        assert disk.open("a").read_at(0, 9999) == b"x" * 5000


def test_unsynced_writes_are_dropped_reordered_and_torn_by_sector() -> None:
    """W10: over many seeds a power cut loses all, loses nothing, keeps the later without the earlier, and tears one."""
    seen = set()
    for seed in range(300):
        disk = new_disk(seed)
        file = durable_file(disk, content=bytes(4 * SECTOR_SIZE))
        file.write_at(0, [b"a" * 2 * SECTOR_SIZE])
        file.write_at(2 * SECTOR_SIZE, [b"b" * 2 * SECTOR_SIZE])
        disk.power_cut()
        found = sectors_of(disk.open("a").read_at(0, 9999))
        assert all(sector in (bytes(SECTOR_SIZE), bytes([sector[0]]) * SECTOR_SIZE) for sector in found)
        seen.add(bytes(sector[0] for sector in found))
    assert {b"\0\0\0\0", b"aabb", b"\0\0bb", b"aa\0\0", b"a\0bb", b"\0a\0b"} <= seen
    assert len(seen) == 16


def test_a_write_that_begins_inside_a_sector_leaves_the_bytes_before_it() -> None:
    """W10: a sector is written whole or not at all; what was durable in it stays."""
    for seed in SEEDS:
        disk = new_disk(seed)
        file = durable_file(disk, content=b"x" * 100)
        file.write_at(100, [b"y" * 1000])
        disk.power_cut()
        assert disk.open("a").read_at(0, 100) == b"x" * 100


def test_names_not_synced_may_be_lost_one_by_one() -> None:
    """W10: creations, renames and removals since the last `sync_names` each survive or not."""
    seen = set()
    for seed in range(200):
        disk = new_disk(seed)
        for name in ("old", "gone"):
            durable_file(disk, name)
        disk.open("new", create=True)
        disk.rename("old", "moved")
        disk.remove("gone")
        disk.power_cut()
        seen.add(tuple(disk.names()))
    assert {("gone", "old"), ("moved", "new"), ("gone", "new", "old"), ("moved",)} <= seen
    assert len(seen) == 8


def test_a_file_whose_name_was_not_synced_is_gone_with_its_bytes() -> None:
    """W5, W10: syncing a file makes its bytes durable, not its name."""
    survived = 0
    for seed in SEEDS:
        disk = new_disk(seed)
        file = disk.open("a", create=True)
        file.write_at(0, [b"x"])
        file.sync()
        disk.power_cut()
        survived += disk.names() == ["a"]
    assert 0 < survived < len(SEEDS)


def test_after_a_kill_everything_written_can_be_read_and_nothing_more_is_durable() -> None:
    """W10: the page cache outlives the process; a power cut after it still takes what was not synced."""
    lost = 0
    for seed in SEEDS:
        disk = new_disk(seed)
        file = durable_file(disk)
        file.write_at(0, [b"x" * SECTOR_SIZE])
        disk.kill()
        assert disk.open("a").read_at(0, 9999) == b"x" * SECTOR_SIZE
        disk.power_cut()
        lost += disk.open("a").read_at(0, 9999) == b""
    assert 0 < lost < len(SEEDS)


def test_files_and_locks_of_a_killed_process_are_dead() -> None:
    """W1, W10: whatever still runs of it can write nothing, and its lock is free."""
    disk = new_disk()
    file = durable_file(disk)
    disk.lock("a process")
    with pytest.raises(Locked):
        disk.lock("another")
    disk.kill()
    for call in (lambda: file.write_at(0, [b"x"]), file.sync, lambda: file.truncate(0)):
        with pytest.raises(PowerCut):
            call()
    disk.lock("another").release()
    disk.lock("another")


def test_a_crash_comes_before_the_chosen_call_and_before_all_later_ones() -> None:
    """W10: PowerCut is no Exception, and goes on until the process is gone."""
    disk = new_disk()
    file = durable_file(disk)
    disk.crash_at = disk.calls + 1
    file.write_at(0, [b"x"])
    for call in (file.sync, disk.sync_names, lambda: disk.remove("a"), lambda: disk.open("b", create=True)):
        with pytest.raises(PowerCut):
            call()
    assert not issubclass(PowerCut, Exception)
    disk.kill()
    disk.remove("a")


def test_a_crash_in_a_write_leaves_a_part_of_it() -> None:
    """W10: a process killed in the middle of a write has written its beginning."""
    sizes = set()
    for seed in SEEDS:
        disk = new_disk(seed)
        file = durable_file(disk)
        disk.crash_at = disk.calls
        with pytest.raises(PowerCut):
            file.write_at(0, [b"x" * 5000])
        disk.kill()
        found = disk.open("a").read_at(0, 9999)
        assert found == b"x" * len(found)
        sizes.add(len(found))
    assert len(sizes) > 20
    assert max(sizes) < 5000


@pytest.mark.parametrize("call", ["write", "sync", "rename", "create", "remove", "sync_names"])
def test_a_planned_failure_happens_once_and_after_the_given_number_of_calls(call: str) -> None:
    """W4: each kind of call can fail, with any error."""
    disk = new_disk()
    file = durable_file(disk)
    number = 0

    def run() -> None:
        nonlocal number
        number += 1
        if call == "create":
            disk.open(f"new {number}", create=True)
        elif call == "rename":
            disk.rename("a", "a")
        elif call == "remove":
            disk.open(f"b{number}", create=True)
            disk.remove(f"b{number}")
        elif call == "sync_names":
            disk.sync_names()
        elif call == "write":
            file.write_at(0, [b"x"])
        else:
            file.sync()

    disk.fail_next(call, error=errno.ENOSPC, after=2)
    run()
    run()
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        run()
    run()


def test_a_failed_write_may_have_written_a_part() -> None:
    """W4, W10: after the error nothing is known about the bytes."""
    sizes = set()
    for seed in SEEDS:
        disk = new_disk(seed)
        file = durable_file(disk)
        disk.fail_next("write")
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            file.write_at(0, [b"x" * 1000])
        sizes.add(file.size())
    assert len(sizes) > 20


def test_a_failed_sync_forgets_the_pages() -> None:
    """W4, W10: they can be read and a second sync succeeds, yet a power cut takes those not on the disk by then."""
    seen = set()
    for seed in SEEDS:
        disk = new_disk(seed)
        file = durable_file(disk, content=bytes(2 * SECTOR_SIZE))
        file.write_at(0, [b"x" * 2 * SECTOR_SIZE])
        disk.fail_next("sync")
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            file.sync()
        assert file.read_at(0, 9999) == b"x" * 2 * SECTOR_SIZE
        file.sync()
        disk.power_cut()
        seen.add(disk.open("a").read_at(0, 9999)[::SECTOR_SIZE])
    assert seen == {b"xx", b"x\0", b"\0x", b"\0\0"}


def test_what_happens_during_a_sync_is_not_made_durable_by_it() -> None:
    """W4: a write that comes while a sync is under way waits for the next one."""
    lost = 0
    for seed in SEEDS:
        disk = new_disk(seed)
        file = durable_file(disk)
        file.write_at(0, [b"x" * SECTOR_SIZE])

        def meanwhile(disk: SimulatedDisk = disk, file: SimulatedFile = file) -> None:
            disk.during_sync = None
            file.write_at(SECTOR_SIZE, [b"y" * SECTOR_SIZE])

        disk.during_sync = meanwhile
        file.sync()
        disk.power_cut()
        found = disk.open("a").read_at(0, 9999)
        assert found[:SECTOR_SIZE] == b"x" * SECTOR_SIZE
        lost += len(found) == SECTOR_SIZE
    assert 0 < lost < len(SEEDS)


def test_a_full_disk_takes_what_fits_and_old_blocks_can_be_written_again() -> None:
    """W4: ENOSPC comes only when new blocks are needed."""
    disk = new_disk(capacity=1000)
    file = durable_file(disk, content=b"x" * 900)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        file.write_at(900, [b"y" * 200])
    assert file.size() == 1000
    file.write_at(0, [b"z" * 1000])
    other = disk.open("b", create=True)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        other.write_at(0, [b"x"])
    disk.remove("a")
    other.write_at(0, [b"x" * 1000])


def test_damage_is_durable() -> None:
    """W7: flipped bits are there for readers, and stay after a power cut."""
    disk = new_disk()
    durable_file(disk, content=b"abc")
    disk.damage("a", 1)
    disk.power_cut()
    assert disk.open("a").read_at(0, 9) == bytes([ord("a"), ord("b") ^ 0xFF, ord("c")])


def test_it_refuses_what_a_real_directory_refuses() -> None:
    """W5: what is missing, what is there already, and a write to a file opened for reading."""
    disk = new_disk()
    durable_file(disk)
    with pytest.raises(FileExistsError):
        disk.open("a", create=True)
    for call in (lambda: disk.open("b"), lambda: disk.rename("b", "c"), lambda: disk.remove("b")):
        with pytest.raises(FileNotFoundError):
            call()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        disk.open("a", write=False).write_at(0, [b"x"])


def test_the_same_seed_gives_the_same_run() -> None:
    """W10: a found crash can be repeated."""

    def run(seed: int) -> tuple[list[str], bytes]:
        disk = new_disk(seed)
        file = durable_file(disk)
        file.write_at(0, [b"x" * 10_000])
        disk.open("b", create=True)
        disk.power_cut()
        return disk.names(), disk.open("a").read_at(0, 99_999)

    assert run(5) == run(5)
    assert len({run(seed)[1] for seed in range(10)}) > 1
