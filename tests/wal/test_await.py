"""The asynchronous face: awaiting a flush on one loop, on two, giving up, and coming late."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.wal.logs import held, writer_held

from holdfast.io.disk import RealDirectory
from holdfast.wal import Flush, LogId, Wal


@pytest.fixture
def wal(tmp_path: Path) -> Iterator[Wal]:
    """A log with its writer thread on the real disk."""
    with Wal.open(RealDirectory(tmp_path)) as wal:
        yield wal


def test_flush_awaited_on_two_loops(wal: Wal) -> None:
    """W4: two event loops in two threads await flushes of one log; both are woken."""

    async def appender(epoch: int) -> int:
        for _ in range(20):
            with lock:
                wal.append(LogId(1, wal.state.next_index), [b"%d" % epoch])
                flush = wal.flush()
            await flush
        return epoch

    lock = threading.Lock()
    results: list[int] = []
    threads = [threading.Thread(target=lambda n=n: results.append(asyncio.run(appender(n)))) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(results) == [0, 1]
    assert wal.state.last == LogId(1, 39)
    assert wal.stat().durable == wal.stat().end


def test_cancelled_awaiters_disturb_nobody(wal: Wal) -> None:
    """W4: one of many who wait gives up; the others are told, and the log goes on."""

    async def run() -> None:
        with writer_held(wal):
            wal.append(LogId(1, 0), [b"entry"])
            tasks = [asyncio.create_task(awaited(wal.flush())) for _ in range(4)]
            await asyncio.sleep(0)
            tasks[1].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(result, asyncio.CancelledError) for result in results] == [False, True, False, False]
        wal.append(LogId(1, 1), [b"entry"])
        await wal.flush()
        assert wal.stat().durable == wal.stat().end
        assert len(held(wal)) == 2

    asyncio.run(run())


def test_a_loop_that_is_gone_disturbs_nobody(wal: Wal, caplog: pytest.LogCaptureFixture) -> None:
    """W4: an awaiter whose loop was closed meanwhile is forgotten: nothing fails for it, and the others are told."""
    told: list[Exception | None] = []

    async def give_up() -> None:
        waiter = asyncio.ensure_future(awaited(wal.flush()))
        await asyncio.sleep(0)
        waiter.cancel()

    with writer_held(wal):
        wal.append(LogId(1, 0), [b"entry"])
        asyncio.run(give_up())
        wal.flush(told.append)
    wal.append(LogId(1, 1), [b"entry"])
    wal.sync()
    assert told == [None]
    assert len(held(wal)) == 2
    assert not caplog.records


def test_awaiting_a_flush_later_and_twice(wal: Wal) -> None:
    """W4: a flush is a fact, not a moment: it may be awaited after it is done, and more than once."""
    wal.append(LogId(1, 0), [b"entry"])
    flush = wal.flush()
    flush.wait()
    syncs = wal.stat().sync_count

    async def run() -> None:
        for _ in range(2):
            await asyncio.wait_for(awaited(flush), 10)
            assert wal.stat().durable == wal.stat().end

    asyncio.run(run())
    assert wal.stat().sync_count == syncs, "What is durable is not synced again."


async def awaited(flush: Flush) -> None:
    await flush
