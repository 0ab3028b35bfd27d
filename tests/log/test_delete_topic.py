"""Deleting a topic: for ever, for flushes in flight, for readers, for replay; and its objects go, whatever happens."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from tests.log.log_world import HOME, OTHER, LogWorld, batch, fill, in_loop, numbered, read_all, turns
from tests.log.parked import ParkedCalls

from holdfast.errors import Unavailable
from holdfast.io.objects.faulty import FailBefore
from holdfast.log.errors import LogsStopped, PartitionDeleted

TOPIC = HOME.topic_id
STEPS_OF_A_FLUSH = 4


def objects_of(world: LogWorld) -> list[str]:
    return [name for name in world.names() if TOPIC.hex in name]


@in_loop
async def test_a_deleted_topic_is_gone_for_everybody() -> None:
    """K6: appends, reads, waits and opens are refused; the objects go; the write-ahead log is not pinned by it."""
    world = LogWorld()
    logs = await world.open()
    partition, other = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(partition, 5)
    await partition.flush()
    await fill(partition, 5, start=5)
    await fill(other, 3)
    await logs.delete_topic(TOPIC)
    for call in (
        partition.append(batch(b"x")),
        partition.read(0),
        partition.wait(3),
        partition.flush(),
        partition.delete_records(2),
        partition.apply_retention(),
        partition.find_timestamp(0),
        partition.find_max_timestamp(),
        logs.partition(HOME),
    ):
        with pytest.raises(PartitionDeleted):
            await call
    await turns()
    assert not objects_of(world)
    await other.flush()
    logs.purge()
    assert logs._ground.journal._wal.state.first_index == logs._ground.journal.next_index
    assert await read_all(other) == numbered(0, 3)


@pytest.mark.parametrize("steps", range(STEPS_OF_A_FLUSH * 2 + 1))
@in_loop
async def test_topic_deleted_while_its_flush_is_in_flight(steps: int) -> None:
    """K6: at whatever step the flush is, also between a call's effect and its answer: nothing of the topic is left."""
    calls = ParkedCalls()
    world = LogWorld()
    logs = await world.open(calls=calls)
    partition = await logs.partition(HOME)
    await fill(partition, 5)
    flush = calls.start(partition.flush())
    await turns()
    for step in range(steps):
        if step % 2:
            calls.deliver()
            await turns()
        elif calls.parked:
            calls.perform()
    await logs.delete_topic(TOPIC)
    await turns()
    while not flush.done():
        calls.let_go()
        await turns()
    assert flush.exception() is None or isinstance(flush.exception(), PartitionDeleted)
    await turns()
    assert not objects_of(world)
    logs = await world.reopen()
    await turns()
    assert not objects_of(world)


@in_loop
async def test_topic_deleted_while_a_partition_is_being_opened() -> None:
    """K6: the manifest that the open has just made goes as well, and the open is told."""
    calls = ParkedCalls()
    world = LogWorld()
    logs = await world.open(calls=calls)
    opening = calls.start(logs.partition(HOME))
    await turns()
    calls.perform()
    await logs.delete_topic(TOPIC)
    await turns()
    while not opening.done():
        calls.let_go()
        await turns()
    with pytest.raises(PartitionDeleted):
        await opening
    await turns()
    assert not objects_of(world)


@in_loop
async def test_a_re_created_topic_shows_no_old_data() -> None:
    """K6: made again it has another id; now, after a reopen, and after the old objects are gone."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 5)
    await logs.delete_topic(TOPIC)
    made_again = OTHER._replace(partition=HOME.partition)
    partition = await logs.partition(made_again)
    assert partition.marks.log_end == 0
    await partition.append(batch(b"new"))
    for _ in range(2):
        logs = await world.reopen()
        with pytest.raises(PartitionDeleted):
            await logs.partition(HOME)
        assert await read_all(await logs.partition(made_again)) == [(0, b"new")]


@pytest.mark.parametrize("deleted", range(5))
@in_loop
async def test_crash_in_the_middle_of_a_deletion(deleted: int) -> None:
    """K6: the objects are deleted one by one; the process ends after any of them, and the rest goes after a reopen.
    The test of K6."""
    world = LogWorld(segment_size_max=1)
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    while await partition.flush():
        pass
    await fill(partition, 1, start=3)
    await logs.partition(OTHER)
    before = len(objects_of(world))
    left = [deleted]

    def stop(call):
        if call.kind != "delete":
            return None
        left[0] -= 1
        return FailBefore() if left[0] < 0 else None

    world.faults = stop
    await logs.delete_topic(TOPIC)
    await turns(3)
    assert len(objects_of(world)) == before - deleted
    logs.purge()
    await turns(3)
    world.disk.power_cut()
    world.faults = lambda call: None
    logs = await world.open()
    with pytest.raises(PartitionDeleted):
        await logs.partition(HOME)
    await turns()
    assert not objects_of(world)
    logs.purge()
    assert logs._ground.journal._wal.state.first_index == logs._ground.journal.next_index


@in_loop
async def test_a_deletion_that_is_not_durable_deletes_nothing() -> None:
    """K6: objects go only after the tombstone is durable, whoever collects what is deleted meanwhile."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 2)
    await (await logs.partition(HOME)).flush()
    world.disk.fail_next("sync")
    deletion = asyncio.ensure_future(logs.delete_topic(TOPIC))
    await asyncio.sleep(0)
    logs.begin_deleting()
    with pytest.raises(LogsStopped):
        await deletion
    await turns()
    assert len(objects_of(world)) == 3


@in_loop
async def test_objects_stay_until_their_topic_is_struck_off_the_list() -> None:
    """K6, D5: whoever keeps a list of topics strikes a deleted one there first; one that cannot be struck keeps none of
    the others, and is tried again."""
    world = LogWorld()
    logs = await world.open()
    sound = {OTHER.topic_id}

    async def strike(topic_id: UUID) -> None:
        if topic_id not in sound:
            raise Unavailable("not now")

    logs.begin_deleting(strike)
    for home in (HOME, OTHER):
        partition = await logs.partition(home)
        await fill(partition, 2)
        await partition.flush()
        await logs.delete_topic(home.topic_id)
    await turns()
    assert objects_of(world)
    assert not [name for name in world.names() if OTHER.topic_id.hex in name]
    sound.add(TOPIC)
    await turns()
    assert not objects_of(world)


@in_loop
async def test_nobody_hangs_when_the_deletion_cannot_be_made_durable() -> None:
    """K6, A3: the fsync of the tombstone fails: who deletes is told, and after a reopen the topic is there or not."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 2)
    world.disk.fail_next("sync")
    with pytest.raises(LogsStopped):
        await asyncio.wait_for(logs.delete_topic(TOPIC), 5)
    await logs.close()
    logs = await world.reopen(power_cut=True)
    try:
        assert await read_all(await logs.partition(HOME)) == numbered(0, 2)
    except PartitionDeleted:
        await turns()
        assert not objects_of(world)
