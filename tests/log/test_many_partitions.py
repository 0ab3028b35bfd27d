"""Many partitions: what is due is known without walking over them, and the next flush starts when one ends."""

from __future__ import annotations

import asyncio
import time
from uuid import UUID

from tests.log.log_world import HOME, LogWorld, batch, fill, in_loop, turns, value

from holdfast.io.calls import InlineCalls
from holdfast.io.objects.faulty import FailBefore
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.types import PartitionId
from holdfast.wal import WalSettings

TOPIC = UUID(int=0xC)
SMALL = WalSettings(chunk_size_max=4096, zero_ahead_size=512)


class StandingCalls(InlineCalls):
    """No pause ever ends."""

    async def pause(self, seconds: float) -> None:
        await asyncio.Event().wait()


async def open_many(logs: Logs, count: int) -> list[PartitionLog]:
    return [await logs.partition(PartitionId(TOPIC, number)) for number in range(count)]


@in_loop
async def test_the_next_flush_starts_when_one_ends() -> None:
    """D4, A4: with a full log and many small tails, producers go on as fast as flushes end, without any time passing:
    no look comes round that would have to start them."""
    world = LogWorld(wal=SMALL, wal_size_max=64_000)
    logs = await world.open(background=True, calls=StandingCalls())
    partitions = await open_many(logs, 100)
    acks = [
        asyncio.ensure_future(partition.append(batch(value(number, 1000))))
        for number in range(6)
        for partition in partitions
    ]
    waited = 0
    while not all(each.done() for each in acks):
        await turns(1)
        waited += 1
        assert waited < 20_000, f"{sum(each.done() for each in acks)} of {len(acks)} are acknowledged"
    assert world.clock.monotonic() == 0
    assert [each.marks.log_end for each in partitions] == [6] * 100
    await logs.close()


@in_loop
async def test_quiet_partitions_follow_one_another() -> None:
    """A4: many that are due by age, and nobody produces: each that is flushed lets the next one begin."""
    world = LogWorld(flush_age_ms_max=1000)
    logs = await world.open(background=True, calls=StandingCalls())
    partitions = await open_many(logs, 40)
    for partition in partitions:
        await fill(partition, 1)
    await turns(100)
    world.clock.advance(2)
    logs._flusher.wake()
    await turns(3000)
    assert [each.marks.flushed for each in partitions] == [1] * 40
    await logs.close()


@in_loop
async def test_under_pressure_the_oldest_are_flushed_as_many_as_allowed() -> None:
    """A4: a write-ahead log past half of its limit has those flushed that pin its oldest entries, in their order, and
    no more at a time than the settings allow."""
    world = LogWorld(wal=SMALL, wal_size_max=50_000)
    logs = await world.open(flushes_max=3)
    partitions = await open_many(logs, 30)
    for partition in reversed(partitions):
        await fill(partition, 1, size=1000)
    logs._flusher.tick()
    assert list(logs._flusher._running) == partitions[:-4:-1]
    while logs._flusher._running:
        await turns()
    logs._flusher.tick()
    assert list(logs._flusher._running) == partitions[-4:-7:-1]
    while logs._flusher._running:
        await turns()


@in_loop
async def test_producers_are_held_back_by_what_is_needed_not_by_whole_chunks() -> None:
    """D4: every flush of an old tail lets producers go on, although no chunk is free yet: they are slowed down, and do
    not stand still and run by turns."""
    world = LogWorld(wal=WalSettings(chunk_size_max=1 << 20, zero_ahead_size=512), wal_size_max=8 << 20)
    logs = await world.open()
    partitions = await open_many(logs, 100)
    number = 0
    while logs.has_room:
        await partitions[number % 100].append(batch(value(number, 20_000)))
        number += 1
    before = logs._ground.journal.size
    assert before < 8 << 20
    waiting = asyncio.ensure_future(partitions[0].append(batch(value(number, 20_000))))
    await turns()
    assert not waiting.done()
    logs._flusher.tick()
    while logs._flusher._running:
        await turns()
    await turns()
    assert waiting.done()
    assert logs._ground.journal.size >= before, "A chunk was free: that would show nothing."


@in_loop
async def test_an_idle_look_does_not_depend_on_the_number_of_partitions() -> None:
    """D11, O6: 20,000 partitions that are open and quiet, a few of them with a tail: a look costs less than 1 ms.
    The test of O6."""
    world = LogWorld()
    logs = await world.open()
    one = await logs.partition(HOME)
    for number in range(20_000):  # Opened with one another's manifest: 20,000 objects would only slow the test down.
        home = PartitionId(TOPIC, number)
        logs._welcome(PartitionLog(logs._ground, home, one.settings, one.manifests, type(one.tail)(logs._use)))
    for partition in logs.partitions[:500]:
        await fill(partition, 1)
    taken = []
    for _ in range(50):
        start = time.perf_counter()
        logs._flusher.tick()
        logs._flusher.look()
        logs._room.update()
        logs.purge(chunks_only=True)
        taken.append(time.perf_counter() - start)
    assert sorted(taken)[25] < 0.001, taken


@in_loop
async def test_a_store_that_is_away_is_not_asked_by_all_at_once() -> None:
    """A3: who has failed waits for its next try, and costs nothing until then; all are flushed when the store is
    back."""
    world = LogWorld(segment_size_max=1, flush_retry_ms=1000)
    logs = await world.open(flushes_max=4)
    partitions = await open_many(logs, 40)
    world.faults = lambda call: FailBefore() if call.kind == "put_if_absent" else None
    for partition in partitions:
        await fill(partition, 1)
    tried = 0
    for _ in range(20):
        logs._flusher.tick()
        tried += len(logs._flusher._running)
        await turns(400)
    assert tried == len(logs._flusher._failed) == 40
    world.faults = lambda call: None
    world.clock.advance(1.1)
    for _ in range(20):
        logs._flusher.tick()
        await turns(400)
    assert [each.marks.flushed for each in partitions] == [1] * 40
    assert not logs._flusher._failed
