"""Commits of flushes: lost answers, late arrivals, other writers, crashes in between; nothing is lost or doubled."""

from __future__ import annotations

import pytest
from tests.log.log_world import (
    HOME,
    LogWorld,
    fill,
    in_loop,
    numbered,
    read_all,
    turns,
)
from tests.log.parked import ParkedCalls
from tests.log.second_writer import replace_first_segment

from holdfast.errors import Unavailable
from holdfast.io.objects import StoreFailed
from holdfast.io.objects.faulty import Delay, FailAfter, FailEarly
from holdfast.io.versions import GRACE_S
from holdfast.segment.garbage import collect_partition


def at_puts(prefix: str, *faults: object):
    """A plan: these happen to the puts under a prefix, one after the other; all else passes."""
    left = list(faults)
    return lambda call: left.pop(0) if left and call.kind == "put_if_absent" and call.name.startswith(prefix) else None


async def until_its_commit(calls: ParkedCalls) -> None:
    """Let a flush that was started go on until it is about to commit its manifest."""
    await turns()
    while calls.parked[0].name != "commit":
        calls.let_go()
        await turns()


@in_loop
async def test_put_that_timed_out_but_succeeded() -> None:
    """A3: the answer to a put is lost; the flush is tried again under another name, and nothing is doubled."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = at_puts("segments/", FailAfter())
    with pytest.raises(StoreFailed):
        await partition.flush()
    assert await read_all(partition) == numbered(0, 5)
    await fill(partition, 2, start=5)
    await partition.flush()
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 7)]
    assert len(world.names("segments/")) == 2
    assert await read_all(partition) == numbered(0, 7)


@in_loop
async def test_commit_that_timed_out_but_succeeded() -> None:
    """A3: a manifest whose answer never came is found by its nonce; the batches are in it once."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = at_puts("manifests/", FailAfter())
    await partition.flush()
    assert partition.marks.flushed == 5
    assert world.manifest().version == 1
    assert await read_all(partition) == numbered(0, 5)


@in_loop
async def test_commit_that_nobody_knows_the_end_of() -> None:
    """A3: the store never said whether the manifest was stored. It was: the next flush goes on behind it."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = lambda call: FailAfter() if call.name.startswith("manifests/") else None
    with pytest.raises(Unavailable):
        await partition.flush()
    assert partition.marks.flushed == 0
    assert await read_all(partition) == numbered(0, 5)
    world.faults = lambda call: None
    await fill(partition, 3, start=5)
    assert await partition.flush()
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 5), (5, 8)]
    assert await read_all(partition) == numbered(0, 8)


@in_loop
async def test_a_commit_that_arrives_late() -> None:
    """A3: the manifest of a flush that was given up reaches the store in the middle of the next one."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = at_puts("manifests/", *[FailEarly()] * 100)
    with pytest.raises(Unavailable):
        await partition.flush()
    await fill(partition, 3, start=5)

    world.faults = at_puts("segments/", Delay(world.store.arrive))
    with pytest.raises(Unavailable):
        await partition.flush()
    assert await read_all(partition) == numbered(0, 8)
    while await partition.flush():
        pass
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 5), (5, 8)]
    assert partition.marks.flushed == 8
    assert await read_all(partition) == numbered(0, 8)


@in_loop
async def test_a_flush_that_is_cancelled_in_the_middle_of_its_commit() -> None:
    """A3: whoever waited for the flush has gone, the commit happens all the same; the next flush goes on behind it."""
    calls = ParkedCalls()
    world = LogWorld()
    partition = await (await world.open(calls=calls)).partition(HOME)
    await fill(partition, 5)
    flush = calls.start(partition.flush())
    await until_its_commit(calls)
    flush.cancel()
    await turns()
    calls.perform()
    calls.deliver()
    await fill(partition, 3, start=5)
    assert await read_all(partition) == numbered(0, 8)
    assert await partition.flush()
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 5), (5, 8)]
    assert await read_all(partition) == numbered(0, 8)


@in_loop
async def test_crash_between_segment_put_and_manifest_commit_then_flush_again() -> None:
    """A3, L2: the put segment is nobody's; after the restart the batches are flushed again, with others behind them,
    and the orphan is collected."""
    calls = ParkedCalls()
    world = LogWorld()
    partition = await (await world.open(calls=calls)).partition(HOME)
    await fill(partition, 5)
    flush = calls.start(partition.flush())
    await until_its_commit(calls)
    [orphan] = world.names("segments/")
    flush.cancel()
    logs = await world.reopen(power_cut=True)
    partition = await logs.partition(HOME)
    assert await read_all(partition) == numbered(0, 5)
    await fill(partition, 5, start=5)
    await partition.flush()
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 10)]
    await logs._upkeep.collect_garbage()  # From here on it is known to be listed nowhere.
    assert orphan in world.names("segments/")
    world.clock.advance(2 * GRACE_S + 1)
    await logs._upkeep.collect_garbage()
    assert world.names("segments/") == [world.manifest().segments[0].name]
    assert await read_all(partition) == numbered(0, 10)


@in_loop
async def test_writer_paused_across_garbage_collection() -> None:
    """A3: a writer sleeps between its put and its commit until its segment is collected; it does not list what is
    gone, but puts it again."""
    calls = ParkedCalls()
    world = LogWorld()
    logs = await world.open(calls=calls)
    partition = await logs.partition(HOME)
    await fill(partition, 5)
    flush = calls.start(partition.flush())
    await until_its_commit(calls)
    world.clock.advance(2 * GRACE_S + 1)
    assert len(collect_partition(world.objects, HOME, world.clock.now_ms()).segments) == 1
    calls.let_go()
    with pytest.raises(Unavailable):
        await flush
    assert await read_all(partition) == numbered(0, 5)
    await partition.flush()
    assert partition.marks.flushed == 5
    assert await read_all(partition) == numbered(0, 5)


@in_loop
async def test_a_manifest_conflict_with_a_second_legitimate_writer() -> None:
    """L2: compaction commits between a flush's segment and its manifest; both are in the next manifest."""
    calls = ParkedCalls()
    world = LogWorld()
    partition = await (await world.open(calls=calls)).partition(HOME)
    await fill(partition, 5)
    await partition.flush()
    [before] = world.names("segments/")
    await fill(partition, 5, start=5)
    flush = calls.start(partition.flush())
    await until_its_commit(calls)
    replace_first_segment(world, partition)
    calls.let_go()
    assert await flush
    found = world.manifest().segments
    assert [(each.base, each.end) for each in found] == [(0, 5), (5, 10)]
    assert found[0].name != before
    assert await read_all(partition) == numbered(0, 10)


@in_loop
async def test_a_read_of_a_segment_that_compaction_replaced_and_deleted() -> None:
    """S7: the segment is gone, the manifest names another: the read goes on there."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    await partition.flush()
    [before] = world.names("segments/")
    replace_first_segment(world, partition)
    world.objects.delete(before)
    assert await read_all(partition) == numbered(0, 5)
    assert partition.manifest.segments[0].name != before
