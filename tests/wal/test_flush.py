"""Who waits for durability, how they are told, and in which order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.wal.logs import append, held, new_disk, open_log, reopened, writer_held

from holdfast.io.disk import RealDirectory
from holdfast.wal import Flush, LogId, Wal, WalFailed, WalSettings


@pytest.fixture
def wal(tmp_path: Path) -> Iterator[Wal]:
    """A log with its writer thread on the real disk."""
    with Wal.open(RealDirectory(tmp_path)) as wal:
        yield wal


def test_append_only_queues() -> None:
    """W4: an append makes no disk call and nothing durable; a power cut takes it back."""
    disk = new_disk()
    wal = open_log(disk)
    before = disk.calls
    append(wal, 5)
    assert disk.calls == before
    assert wal.stat().durable < wal.stat().end
    disk.power_cut()
    assert held(open_log(disk)) == []


def test_one_fsync_for_all_who_wait() -> None:
    """W4: one round serves everything that was appended before it, and its callback runs after the fsync."""
    disk = new_disk()
    wal = open_log(disk)
    syncs = wal.stat().sync_count
    told: list[tuple[int, Exception | None, bool]] = []
    synced = False

    def meanwhile() -> None:
        nonlocal synced
        synced = True

    disk.during_sync = meanwhile
    append(wal, 10)
    wal.flush(lambda error: told.append((0, error, synced)))
    assert told == [(0, None, True)]
    assert wal.stat().sync_count == syncs + 1
    assert wal.stat().durable == wal.stat().end


def test_one_fsync_for_many_who_wait_together(wal: Wal) -> None:
    """W4: sixteen who have appended and flushed while the writer was busy share one fsync, and are told in order."""
    told: list[int] = []
    with writer_held(wal):
        syncs = wal.stat().sync_count
        for number in range(16):
            append(wal, 1)
            wal.flush(lambda _, number=number: told.append(number))
        assert told == []
    wal.sync()
    assert told == list(range(16))
    assert wal.stat().sync_count == syncs + 1


def test_one_fsync_for_all_then_one_failure_for_all() -> None:
    """W4: sixteen wait for one fsync and are told in order; the next one fails: sixteen are told that, in order, and
    nothing is synced, taken or told to be durable any more. The test of W4."""
    disk = new_disk()
    told: list[tuple[int, type | None]] = []
    with Wal.open(disk) as wal:

        def wait(number: int) -> None:
            append(wal, 1)
            wal.flush(lambda failure: told.append((number, failure and type(failure))))

        with writer_held(wal):
            syncs = wal.stat().sync_count
            for number in range(16):
                wait(number)
        wal.sync()
        assert told == [(number, None) for number in range(16)]
        assert wal.stat().sync_count == syncs + 1
        with writer_held(wal):
            durable = wal.stat().durable
            disk.fail_next("sync")
            for number in range(16, 32):
                wait(number)
        with pytest.raises(WalFailed):
            wal.sync()
        assert told[16:] == [(number, WalFailed) for number in range(16, 32)]
        calls = disk.calls
        with pytest.raises(WalFailed):
            append(wal, 1)
        with pytest.raises(WalFailed):
            wal.sync()
        assert (disk.calls, wal.stat().durable) == (calls, durable)


def test_appends_while_a_sync_is_under_way_wait_for_the_next_round() -> None:
    """W4, W10: what comes during an fsync is not acknowledged by it."""
    disk = new_disk()
    wal = open_log(disk)
    first = append(wal, 2)
    told: list[int] = []

    def meanwhile() -> None:
        disk.during_sync = None
        append(wal, 2)

    disk.during_sync = meanwhile
    wal.flush(lambda _: told.append(1))
    assert told == [1]
    assert wal.stat().durable < wal.stat().end
    disk.power_cut()
    assert held(open_log(disk)) == first


def test_callbacks_run_in_order_over_rounds_and_chunks(tmp_path: Path) -> None:
    """W4, W5: over roll-overs, too, everybody is told in the order in which they came."""
    told: list[int] = []
    with Wal.open(RealDirectory(tmp_path), WalSettings(chunk_entries_max=2)) as wal:
        with writer_held(wal):
            for number in range(7):
                append(wal, 1)
                wal.flush(lambda _, number=number: told.append(number))
        wal.sync()
        wal.flush(lambda _: told.append(7))
        assert wal.stat().chunks == 4
    assert told == list(range(8))


def test_a_callback_that_comes_while_others_are_called_runs_last(wal: Wal) -> None:
    """W4: all is durable already, but those who came before were not all called yet."""
    order: list[int] = []
    entered, leave = threading.Event(), threading.Event()

    def first(_: Exception | None) -> None:
        order.append(0)
        entered.set()
        leave.wait(10)

    with writer_held(wal):
        append(wal, 1)
        wal.flush(first)
        wal.flush(lambda _: order.append(1))
    assert entered.wait(10)
    wal.flush(lambda _: order.append(2))
    leave.set()
    wal.close()
    assert order == [0, 1, 2]


def test_a_raising_callback_keeps_the_news_from_nobody(wal: Wal, caplog: pytest.LogCaptureFixture) -> None:
    """W4: a caller's mistake is logged; the others are told, and the log goes on."""
    told: list[Exception | None] = []

    def wrong(_: Exception | None) -> None:
        raise ValueError("a caller's mistake")

    with writer_held(wal):
        append(wal, 1)
        wal.flush(wrong)
        wal.flush(told.append)
    append(wal, 1)
    wal.flush(told.append).wait()
    assert told == [None, None]
    assert "a flush callback failed" in caplog.text


def test_an_interrupted_callback_keeps_the_news_from_nobody() -> None:
    """W4: KeyboardInterrupt in a callback stops the log, but what is durable is told to be."""
    disk = new_disk()
    wal = open_log(disk)
    told: list[Exception | None] = []
    entries = append(wal, 1)

    def interrupted(_: Exception | None) -> None:
        wal.flush(told.append)  # Waits behind this one.
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wal.flush(interrupted)
    assert told == [None]
    with pytest.raises(WalFailed):
        append(wal, 1)
    assert held(reopened(disk)) == entries


def test_flush_with_nothing_pending_is_done_at_once() -> None:
    """W4: nothing to write, no fsync, the callback is called, the wait is over."""
    disk = new_disk()
    wal = open_log(disk)
    syncs = wal.stat().sync_count
    told: list[Exception | None] = []
    wal.flush(told.append).wait(0)
    append(wal, 1)
    wal.flush()
    wal.flush(told.append).wait(0)
    assert told == [None, None]
    assert wal.stat().sync_count == syncs + 1


def test_a_wait_has_a_limit(wal: Wal) -> None:
    """W4: whoever does not want to wait for ever gets TimeoutError; the round goes on."""
    with writer_held(wal):
        append(wal, 1)
        flush = wal.flush()
        with pytest.raises(TimeoutError):
            flush.wait(0.001)
    flush.wait(10)


def test_waiting_in_a_callback_for_what_is_durable_does_not_block(wal: Wal) -> None:
    """W4: in a callback the round is durable: waiting for it again returns."""
    told = threading.Event()
    flushes: list[Flush] = []

    def again(_: Exception | None) -> None:
        flushes[0].wait()
        wal.flush().wait()
        told.set()

    with writer_held(wal):
        append(wal, 1)
        flushes.append(wal.flush())
        wal.flush(again)
    assert told.wait(10)


def test_sync_from_many_threads_at_once(wal: Wal) -> None:
    """W4: sixteen threads append and sync; each returns when its own entry is durable, for at most one fsync each."""
    lock = threading.Lock()
    failures: list[BaseException] = []

    def appender() -> None:
        try:
            for _ in range(20):
                with lock:
                    position = wal.append(LogId(1, wal.state.next_index), [b"entry"])
                wal.sync()
                assert wal.stat().durable >= position
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=appender) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [log_id.index for log_id, _ in held(wal)] == list(range(320))
    assert wal.stat().sync_count <= 321
