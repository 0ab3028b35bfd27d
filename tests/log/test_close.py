"""A clean stop: everything durable, everything flushed within a time limit, the rest back from the write-ahead log."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
from tests.log.log_world import HOME, MEMORY, OTHER, LogWorld, batch, fill, in_loop, numbered, read_all, turns

from holdfast.io.calls import ThreadCalls
from holdfast.io.disk import RealDirectory
from holdfast.io.objects.faulty import Delay, FailBefore, FaultyObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.log.errors import LogsStopped
from holdfast.log.logs import Logs
from holdfast.log.settings import LogSettings


def test_a_call_whose_caller_has_gone_ends_before_the_directory_is_let_go(tmp_path: Path) -> None:
    """A4: nobody writes into the store once another process may have it; a store that hangs is waited for shortly."""

    async def play() -> tuple[list[str], float]:
        happened: list[str] = []
        calls = ThreadCalls()
        logs = await Logs.open(RealDirectory(tmp_path), MemoryObjects(), calls=calls)
        hangs = threading.Event()

        def write() -> None:
            time.sleep(0.3)
            happened.append("written")

        for call in (write, hangs.wait):
            caller = asyncio.ensure_future(calls.run(call))
            await asyncio.sleep(0.05)
            caller.cancel()
        began = time.monotonic()
        await logs.close()
        happened.append("closed")
        took = time.monotonic() - began
        hangs.set()
        return happened, took

    happened, took = asyncio.run(play())
    assert happened == ["written", "closed"]
    assert took < 20


@in_loop
async def test_clean_stop_fsyncs_and_flushes() -> None:
    """A4: also what a `memory` topic only buffered; nothing is left in the write-ahead log, and a power cut right
    after it takes nothing."""
    world = LogWorld()
    logs = await world.open()
    safe, quick = await logs.partition(HOME), await logs.partition(OTHER, MEMORY)
    await fill(safe, 5)
    for number in range(5):
        await quick.append(batch(b"%d." % number))
    await logs.close()
    assert world.manifest(HOME).flushed == 5
    assert world.manifest(OTHER).flushed == 5
    world.disk.power_cut()
    logs = await world.open()
    for home in (HOME, OTHER):
        partition = await logs.partition(home)
        assert len(partition.tail) == 0
        assert await read_all(partition) == numbered(0, 5)


@in_loop
async def test_an_append_right_before_the_close_is_flushed() -> None:
    """A4: its fsync has not even begun when the close is called; the ack comes, and the record is in a segment."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    ack = asyncio.ensure_future(partition.append(batch(b"0.")))
    await asyncio.sleep(0)
    await logs.close()
    assert (await ack).base_offset == 0
    assert world.manifest().flushed == 1


@in_loop
async def test_a_store_that_fails_once_is_tried_again_during_the_close() -> None:
    """A4: a clean stop does not give up at the first failure."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 3)
    failures = [FailBefore()] * 3
    world.faults = lambda call: failures.pop() if failures else None
    await logs.close()
    assert world.manifest().flushed == 3


@in_loop
async def test_closed_logs_refuse_everything_and_closing_twice_is_harmless() -> None:
    """A4: who comes later is told that they are closed."""
    logs = await LogWorld().open()
    partition = await logs.partition(HOME)
    await fill(partition, 1)
    await logs.close()
    await logs.close()
    for call in (
        partition.append(batch(b"x")),
        partition.read(0),
        partition.flush(),
        logs.partition(HOME),
        logs.room(),
    ):
        with pytest.raises(LogsStopped):
            await call
    with pytest.raises(LogsStopped):
        await logs.delete_topic(HOME.topic_id)


@pytest.mark.parametrize("busy", ["nobody", "a flush", "many readers"])
def test_a_store_that_hangs_does_not_keep_the_logs_open(tmp_path: Path, busy: str) -> None:
    """A4: the stop keeps its time limit although the store answers to nobody, whoever waits for it already; what is
    left is there after a reopen."""
    release, hangs = threading.Event(), threading.Event()
    objects = FaultyObjects(MemoryObjects(), lambda _: Delay(release.wait) if hangs.is_set() else None)
    settings = LogSettings(close_timeout_ms=200, segment_size_max=1 if busy == "a flush" else 1 << 20)

    async def write() -> float:
        logs = await Logs.open(RealDirectory(tmp_path / "wal"), objects, settings)
        partition = await logs.partition(HOME)
        await fill(partition, 2)
        await partition.flush()
        hangs.set()
        reads = [asyncio.ensure_future(partition.read(0)) for _ in range(20 if busy == "many readers" else 0)]
        await fill(partition, 3, start=2)
        if busy == "a flush":
            logs._flusher.tick()
            assert partition in logs._flusher._running
        start = time.monotonic()
        await logs.close()
        taken = time.monotonic() - start
        for each in reads:
            each.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
        return taken

    async def look() -> list[tuple[int, bytes]]:
        logs = await Logs.open(RealDirectory(tmp_path / "wal"), objects, settings)
        try:
            return await read_all(await logs.partition(HOME))
        finally:
            await logs.close()

    try:
        assert asyncio.run(asyncio.wait_for(write(), 5)) < 3
    finally:
        hangs.clear()
        release.set()
    assert asyncio.run(look()) == numbered(0, 5)


@in_loop
async def test_nothing_runs_on_after_a_close() -> None:
    """A4: no task is left behind, with the background at work and a topic being deleted."""
    world = LogWorld()
    logs = await world.open(background=True)
    await fill(await logs.partition(HOME), 3)
    await fill(await logs.partition(OTHER), 3)
    world.faults = lambda call: FailBefore() if call.kind == "delete" else None
    await logs.delete_topic(OTHER.topic_id)
    await turns()
    await logs.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
