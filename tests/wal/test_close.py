"""Closing: what it writes, what it says to those who come late, and that twice is harmless."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.wal.logs import append, held, kinds, new_disk, open_log, reopened, writer_held

from holdfast.io.disk import RealDirectory
from holdfast.wal import LogId, Vote, Wal, WalClosed, WalFailed


def test_close_makes_everything_durable_and_says_so() -> None:
    """W4, W7: what was only queued is durable after a close, and the next open finds the log clean."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.close()
    assert kinds(disk) == ["head", "append", "append", "append", "marker"]
    disk.power_cut()
    wal = open_log(disk)
    assert held(wal) == entries
    assert wal.opened.clean
    assert wal.opened.cut is None


def test_a_log_that_was_not_closed_is_not_clean(caplog: pytest.LogCaptureFixture) -> None:
    """W7: the next open tells an unclean end, in the report and in the log."""
    disk = new_disk()
    append(open_log(disk), 1)
    wal = reopened(disk)
    assert not wal.opened.clean
    assert "was not closed" in caplog.text


def test_closing_twice_is_harmless() -> None:
    """W4: the second close does nothing, makes no disk call and raises nothing."""
    disk = new_disk()
    wal = open_log(disk)
    wal.close()
    calls = disk.calls
    wal.close()
    assert disk.calls == calls


def test_closing_from_two_threads_at_once(tmp_path: Path) -> None:
    """W4: two who close at the same time both return, without an error."""
    wal = Wal.open(RealDirectory(tmp_path))
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def close() -> None:
        try:
            start.wait()
            wal.close()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=close) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads), "A close hangs."
    assert failures == []


def test_after_a_close_every_call_says_closed() -> None:
    """W4: nothing is taken and nothing is acknowledged after a close."""
    wal = open_log(new_disk())
    append(wal, 3)
    reader = wal.read(0, 3)
    wal.close()
    for call in (
        lambda: append(wal, 1),
        lambda: wal.save_vote(Vote(1, 1)),
        lambda: wal.truncate(1),
        lambda: wal.purge(LogId(1, 1)),
        lambda: wal.commit(LogId(1, 1)),
        lambda: wal.save_user_data(b"x"),
        wal.flush,
        wal.sync,
        wal.mark,
        lambda: wal.read(0, 3),
        lambda: next(reader),
    ):
        with pytest.raises(WalClosed):
            call()


def test_after_a_close_the_figures_can_still_be_asked(tmp_path: Path) -> None:
    """W9: looking never fails, and nobody waits for a writer that is gone."""
    wal = Wal.open(RealDirectory(tmp_path))
    append(wal, 3)
    wal.close()
    assert wal.wait_worker_idle(10)
    assert wal.stat().state.last == LogId(1, 2)
    assert wal.on_disk_size() == wal.stat().on_disk_size > 0


def test_those_who_wait_during_a_close_are_told(tmp_path: Path) -> None:
    """W4: a flush that was asked for before the close is answered, whatever the close does."""
    wal = Wal.open(RealDirectory(tmp_path))
    closer = threading.Thread(target=wal.close)
    with writer_held(wal):
        append(wal, 1)
        flush = wal.flush()
        closer.start()
    flush.wait(10)
    closer.join(10)
    with Wal.open(RealDirectory(tmp_path)) as wal:
        assert wal.state.last == LogId(1, 0)


def test_what_comes_after_the_closing_marker_is_refused_not_forgotten() -> None:
    """W4: an append that slips in while the closing marker is being written is told that the log is closed."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 1)
    wal.flush()
    told: list[Exception | None] = []

    def meanwhile() -> None:
        disk.during_sync = None
        append(wal, 1)
        wal._rounds.pending()[-1].when_done(told.append)  # `flush` itself would wait for the seat.

    disk.during_sync = meanwhile
    wal.close()
    assert [type(error) for error in told] == [WalClosed]
    assert held(reopened(disk)) == entries


def test_close_after_a_failure_lets_the_directory_go() -> None:
    """W4: the failure was told already; close writes nothing, raises nothing, and the log can be opened again."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 1)
    disk.fail_next("sync")
    told: list[Exception | None] = []
    wal.flush(told.append)
    assert [type(error) for error in told] == [WalFailed]
    calls = disk.calls
    wal.close()
    wal.close()
    assert disk.calls == calls
    open_log(disk).close()


def test_a_failure_that_nobody_was_told_of_is_raised_by_close() -> None:
    """W4: a close that returns says that everything is durable; whoever ignored the flush learns it here at last."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 1)
    disk.fail_next("sync")
    wal.flush()
    with pytest.raises(WalFailed):
        wal.close()
    wal.close()


@pytest.mark.parametrize("call", ["write", "sync"])
def test_a_close_that_fails_says_so_and_lets_the_directory_go(call: str) -> None:
    """W4: what could not be made durable at the end is not passed over in silence."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 1)
    disk.fail_next(call)
    with pytest.raises(WalFailed):
        wal.close()
    with pytest.raises(WalClosed):
        append(wal, 1)
    wal.close()
    open_log(disk).close()


def test_a_failed_log_raises_the_same_error_without_growing_it() -> None:
    """W4: the failure is one object; raising it a thousand times must not lengthen its traceback."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 1)
    disk.fail_next("sync")
    wal.flush()
    depths, errors = set(), []
    for _ in range(1000):
        with pytest.raises(WalFailed) as refused:
            append(wal, 1)
        depths.add(len(refused.traceback))
        errors.append(refused.value)
    assert len(depths) == 1
    assert all(each is errors[0] for each in errors)
