"""A disk that fails stops the log for good: everybody is told, nothing later is acknowledged, a reopen works."""

from __future__ import annotations

import asyncio
import errno
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.io.test_disk import files_limited_to
from tests.wal.logs import Held, append, calls_of, chunk_names, held, new_disk, open_log, reopened, writer_held

from holdfast.errors import Stopped
from holdfast.io.disk import RealDirectory
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import LogId, Vote, Wal, WalFailed


def full_chunks(disk: SimulatedDisk) -> tuple[Wal, Held]:
    """A log that is about to roll over and has something to purge."""
    wal = open_log(disk, chunk_entries_max=5)
    entries = append(wal, 15, size=700)
    wal.flush()
    return wal, entries


def roll_over(wal: Wal) -> None:
    append(wal, 1)


def purge(wal: Wal) -> None:
    wal.purge(LogId(1, 9))


def purge_and_reuse(wal: Wal) -> None:
    wal.purge(LogId(1, 9))
    append(wal, 1)


FAILURES: dict[str, tuple[Callable[[Wal], None], str, int, int]] = {
    "fsync": (roll_over, "sync", 0, errno.EIO),
    "write": (roll_over, "write", 0, errno.EIO),
    "full disk": (roll_over, "write", 0, errno.ENOSPC),
    "create": (roll_over, "create", 0, errno.ENOSPC),
    "fsync of names": (roll_over, "sync_names", 0, errno.EIO),
    "fsync of the second round": (lambda wal: append(wal, 11) and None, "sync", 1, errno.EIO),
    "rename of a purged chunk": (purge, "rename", 0, errno.EIO),
    "rename of a spare": (purge_and_reuse, "rename", 2, errno.EIO),
}


LATER: list[Callable[[Wal], object]] = [
    lambda wal: append(wal, 1),
    lambda wal: wal.save_vote(Vote(1, 1)),
    lambda wal: wal.truncate(wal.state.next_index),
    lambda wal: wal.purge(LogId(1, 12)),
    lambda wal: wal.commit(LogId(1, 12)),
    lambda wal: wal.save_user_data(b""),
    Wal.flush,
    Wal.sync,
    Wal.mark,
    held,
]


@pytest.mark.parametrize("crash", ["kill", "power_cut"])
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_stops_the_log_for_good(name: str, crash: str) -> None:
    """W4, W10: who waits gets the error, all later calls too; no call is repeated; a reopen finds what was acked."""
    change, call, after, error = FAILURES[name]
    for seed in range(8):
        disk = new_disk(seed)
        wal, entries = full_chunks(disk)
        told: list[Exception | None] = []
        change(wal)
        disk.fail_next(call, error=error, after=after)
        wal.flush(told.append)
        if call != "rename" or name == "rename of a spare":
            assert [type(failure) for failure in told] == [WalFailed]
        calls = disk.calls
        for later in LATER:
            with pytest.raises(WalFailed) as refused:
                later(wal)
            assert isinstance(refused.value, Stopped)
            assert isinstance(refused.value.cause, OSError)
            assert refused.value.cause.errno == error
        assert disk.calls == calls, "a stopped log touched the disk"
        getattr(disk, crash)()
        wal = open_log(disk)
        first = wal.state.first_index
        assert held(wal)[: 15 - first] == entries[first:]
        more = append(wal, 1, epoch=2)
        wal.flush()
        assert held(wal)[-1:] == more


def test_a_failed_fsync_is_never_repeated() -> None:
    """W4: the second one would succeed, and the pages would be gone."""
    disk = new_disk()
    wal, _ = full_chunks(disk)
    append(wal, 1)
    disk.fail_next("sync")
    with calls_of(disk) as calls:
        wal.flush()
        with pytest.raises(WalFailed):
            wal.sync()
    assert calls.count("sync") == 1


def test_after_a_failed_fsync_a_reopen_writes_the_round_again() -> None:
    """W10: failed fsync, reopen, read, power cut: what was read after the reopen is still there."""
    for seed in range(50):
        disk = new_disk(seed)
        wal = open_log(disk)
        entries = append(wal, 3, size=600)
        disk.fail_next("sync")
        wal.flush(lambda _: None)
        wal.close()
        wal = open_log(disk)
        assert held(wal) == entries
        disk.power_cut()
        assert held(open_log(disk)) == entries


def test_a_disk_that_fills_up_and_is_cleared() -> None:
    """W4: ENOSPC stops the log like any other failure; with room again a reopen goes on."""
    disk = new_disk()
    wal = open_log(disk, zero_ahead_size=0)
    acked = []
    disk.capacity = 6000
    while True:
        entries = append(wal, 1, size=500)
        told: list[Exception | None] = []
        wal.flush(told.append)
        if told != [None]:
            break
        acked += entries
    wal.close()
    with pytest.raises(OSError, match="No space"):
        open_log(disk)
    disk.capacity = 100_000
    found = held(open_log(disk))
    assert found[: len(acked)] == acked
    assert len(found) - len(acked) <= 1


def test_everybody_who_waits_is_told_on_the_real_disk(tmp_path: Path) -> None:
    """W4: callbacks, waiting threads and awaiting tasks of several rounds all get the failure of the first."""
    wal = Wal.open(RealDirectory(tmp_path))
    told: list[type] = []

    def waiter() -> None:
        try:
            wal.flush().wait(10)
        except WalFailed as failure:
            told.append(type(failure))

    async def awaiter() -> None:
        with writer_held(wal):
            append(wal, 10, size=1 << 20)
            wal.flush(lambda failure: told.append(type(failure)))
            threads = [threading.Thread(target=waiter) for _ in range(3)]
            for thread in threads:
                thread.start()
            tasks = [asyncio.ensure_future(_told(wal)) for _ in range(3)]
            await asyncio.sleep(0)
        told.extend(await asyncio.gather(*tasks))
        for thread in threads:
            await asyncio.to_thread(thread.join, 10)

    with files_limited_to(1 << 20):
        asyncio.run(awaiter())
    assert told == [WalFailed] * 7
    assert wal.wait_worker_idle(10)
    wal.close()
    with Wal.open(RealDirectory(tmp_path)) as wal:
        assert wal.state.last is None or wal.state.last.index < 10


async def _told(wal: Wal) -> type:
    try:
        await wal.flush()
    except WalFailed as failure:
        return type(failure)
    return type(None)


def test_a_keyboard_interrupt_in_the_middle_of_a_round_stops_the_log() -> None:
    """W4: raised, not swallowed; what follows would be written behind a hole, so nothing follows."""
    disk = new_disk()
    wal, entries = full_chunks(disk)
    more = append(wal, 2)

    def interrupt() -> None:
        disk.during_sync = None
        raise KeyboardInterrupt

    disk.during_sync = interrupt
    with pytest.raises(KeyboardInterrupt):
        wal.sync()
    with pytest.raises(WalFailed) as refused:
        append(wal, 1)
    assert isinstance(refused.value.cause, KeyboardInterrupt)
    wal.close()
    assert held(reopened(disk)) in (entries, entries + more)


def test_a_real_signal_in_the_middle_of_a_sync(tmp_path: Path) -> None:
    """W4: Ctrl-C while this thread itself writes: the log stops or is whole, and the next open finds what was acked."""
    path = RealDirectory(tmp_path)
    acked = 0
    for _ in range(5):
        wal = Wal.open(path)
        assert wal.state.next_index >= acked
        before = signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        try:
            while True:
                append(wal, 1)
                wal.sync()
                acked = wal.state.next_index
        except KeyboardInterrupt:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        wal.close()
    with Wal.open(path) as wal:
        assert [log_id.index for log_id, _ in held(wal)] == list(range(wal.state.next_index))
        assert wal.state.next_index >= acked > 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_failure_in_an_open_is_raised_and_the_next_open_works() -> None:
    """W4, W10: whichever call of an open fails, nothing is lost, and the directory is free again."""
    for call in ("create", "rename", "write", "sync", "sync_names", "remove"):
        for after in range(3):
            disk = new_disk()
            wal, entries = full_chunks(disk)
            more = append(wal, 1)
            wal.flush()
            wal.purge(LogId(1, 9))
            disk.fail_next("rename")
            wal.flush()
            disk.kill()
            disk.fail_next(call, after=after)
            try:
                open_log(disk)
            except OSError:
                disk.fail_next(call, after=1 << 30)
            else:
                disk.kill()
            disk.power_cut()
            assert held(open_log(disk)) == entries[10:] + more
            assert len(chunk_names(disk)) >= 2
