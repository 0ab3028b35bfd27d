"""The figures of a log."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.wal.logs import append, chunk_names, lines, new_disk, open_log, writer_held

from holdfast.io.disk import RealDirectory
from holdfast.wal import LogId, Wal


def test_stat_says_how_the_log_is() -> None:
    """W9: chunks, the open one, positions, size, queue, syncs, cache and state; all is listed beside the writer.
    The test of W9."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=4)
    append(wal, 10, size=50)
    stat = wal.stat()
    assert (stat.chunks, stat.cache_entries, stat.cache_size) == (3, 10, 500)
    assert stat.queued_size > 500
    assert stat.durable < stat.end
    wal.flush()
    stat = wal.stat()
    assert (stat.queued_size, stat.sync_count, stat.durable) == (0, 3, stat.end)
    assert stat.open_chunk == chunk_names(disk)[-1]
    assert stat.state == wal.state
    assert stat.state.last == LogId(1, 9)
    listing = lines(disk)  # The writer holds the lock.
    assert [line.last for line in listing if line.kind == "append"] == [LogId(1, number) for number in range(10)]
    assert wal.on_disk_size() == sum(line.size for line in listing)


def test_sizes_are_those_of_the_frames_on_disk() -> None:
    """W9: what the chunks in use hold, without what was written ahead and without spares."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=4)
    append(wal, 10, size=50)
    wal.flush()
    assert wal.on_disk_size() == wal.stat().on_disk_size == sum(line.size for line in lines(disk))
    last = [line for line in lines(disk) if line.chunk == wal.stat().open_chunk]
    assert wal.stat().open_chunk_size == sum(line.size for line in last)
    wal.purge(LogId(1, 7))
    wal.flush()
    assert wal.on_disk_size() == sum(line.size for line in lines(disk))


def test_waiting_for_the_worker() -> None:
    """W9: without a thread there is nothing to wait for."""
    assert open_log(new_disk()).wait_worker_idle(0)


def test_a_busy_worker_is_waited_for(tmp_path: Path) -> None:
    """W9: the wait ends when all is written and marked, not before, or at its time limit."""
    with Wal.open(RealDirectory(tmp_path)) as wal:
        idle = threading.Event()
        with writer_held(wal):
            append(wal, 1)
            wal.flush()
            assert not wal.wait_worker_idle(0.001)
            waiter = threading.Thread(target=lambda: wal.wait_worker_idle(10) and idle.set())
            waiter.start()
            assert not idle.is_set()
        waiter.join(10)
        assert idle.is_set()
        assert wal.stat().queued_size == 0
        assert lines(RealDirectory(tmp_path))[-1].kind == "marker"
