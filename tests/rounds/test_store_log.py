"""Logs whose write-ahead log is in the store: a process is gone with its disk, and the next one has everything."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest
from tests.log.log_world import HOME, OTHER, LogWorld, batch, fill, from_producer, in_loop, numbered, read_all, turns
from tests.sim.usurper import in_thread

from holdfast.errors import Fenced
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects.faulty import Call, Delay, FailAfter, FailBefore, Fault, FaultyObjects, once
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.versions import VersionRetries
from holdfast.log import entry
from holdfast.log.errors import LogInStore, LogOnDisk, PartitionDeleted, WrongStore
from holdfast.log.logs import Logs
from holdfast.log.rounds.format import ROUND, RoundHeader, encode_round
from holdfast.log.rounds.layout import entries_of, kept_of, lay_out
from holdfast.log.rounds.log import RoundsLog
from holdfast.log.rounds.series import GRACE_S, Series, SeriesId
from holdfast.log.rounds.takeover import read_series
from holdfast.log.settings import JournalSettings, LogSettings, PartitionSettings
from holdfast.wal import LogId, WalSettings

STORE = JournalSettings(place="store")


class StoreWorld(LogWorld):
    """Nothing is on its disk, so that no count of calls tells one process from the next."""

    async def open(self, **options: Any) -> Logs:
        self.seed += 1
        return await super().open(**options)


def a_world(**settings: object) -> LogWorld:
    return StoreWorld(wal=STORE, **{"wal_size_max": 256 << 20, **settings})


@in_loop
async def test_what_was_acknowledged_is_there_for_a_process_without_a_disk() -> None:
    """C4: nothing is on a disk, nothing was flushed, nobody has closed anything."""
    world = a_world()
    logs = await world.open()
    first, second = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(first, 3)
    await second.append(batch(b"x"))
    await fill(first, 2, start=3)
    assert world.names("segments/") == []
    assert world.disk.names() == []
    logs = await world.reopen()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 5)
    assert await read_all(await logs.partition(OTHER)) == [(0, b"x")]


@in_loop
async def test_three_lives_in_a_row_add_up() -> None:
    """C2, C4: a life that was lost before it flushed anything leaves its own series and those before it."""
    world = a_world()
    for life in range(3):
        logs = await world.reopen()
        partition = await logs.partition(HOME)
        assert await read_all(partition) == numbered(0, 4 * life)
        await fill(partition, 4, start=4 * life)
        if life == 1:
            await partition.flush()
    logs = await world.reopen()
    partition = await logs.partition(HOME)
    assert await read_all(partition) == numbered(0, 12)
    await partition.flush()
    assert world.manifest().flushed == 12


@in_loop
async def test_a_life_that_was_ended_acknowledges_nothing_and_flushes_nothing_new() -> None:
    """C3: it meets the seal, and stops; what it had acknowledged is the other one's."""
    world = a_world()
    zombie = await world.open()
    old = await zombie.partition(HOME)
    await fill(old, 3)
    logs = await world.open()
    partition = await logs.partition(HOME)
    with pytest.raises(Fenced, match="another process has taken over"):
        await old.append(batch(b"ghost"))
    await turns()
    assert isinstance(zombie.failure, Fenced)
    await fill(partition, 2, start=3)
    assert await read_all(partition) == numbered(0, 5)
    await zombie.close()
    assert not world.disk.names()
    logs = await world.reopen()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 5)


@in_loop
async def test_offsets_that_are_given_again_have_a_higher_epoch() -> None:
    """C3, D2: after a crash as after that of a log on disk; after a clean stop the epoch stays."""
    world = a_world()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 1)
    before = partition.epochs.current
    await logs.close()
    logs = await world.open()
    assert (await logs.partition(HOME)).epochs.current == before
    logs = await world.reopen()
    assert (await logs.partition(HOME)).epochs.current == before + 1


@in_loop
async def test_rounds_are_purged_and_old_series_forgotten() -> None:
    """C4: what is flushed goes, twice the grace later; what a takeover reads stays small."""
    world = a_world()
    logs = await world.open()
    await fill(await logs.partition(HOME), 30)
    logs = await world.reopen()
    partition = await logs.partition(HOME)
    await fill(partition, 30, start=30)
    await partition.flush()
    logs.purge()
    await turns()
    assert [each for each in world.names("wal/") if each.endswith("forgotten")] == [
        "wal/0-00000000000000000001/forgotten"
    ]
    assert len(world.names("wal/")) > 60
    world.clock.advance(2 * GRACE_S + 1)
    await partition.append(batch(b"last"))
    await partition.flush()
    logs.purge()
    await turns()
    assert len(world.names("wal/0-00000000000000000001/")) == 2, "its seal, and that it is forgotten"
    assert len(world.names("wal/")) < 10
    logs = await world.reopen()
    assert len(await read_all(await logs.partition(HOME))) == 61


@in_loop
async def test_a_topic_that_was_deleted_stays_deleted_when_its_entry_is_purged() -> None:
    """C4: what the log keeps besides entries is in a round that stays."""
    world = a_world()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    other = await logs.partition(OTHER)
    world.faults = lambda call: FailBefore() if call.kind == "delete" and "segments" in call.name else None
    await partition.flush()
    await logs.delete_topic(HOME.topic_id)
    await fill(other, 40)
    await other.flush()
    logs.purge()
    await turns()
    for _ in range(2):
        logs = await world.reopen()
        with pytest.raises(PartitionDeleted):
            await logs.partition(HOME)
        assert await read_all(await logs.partition(OTHER)) == numbered(0, 40)


@in_loop
async def test_a_store_that_fails_delays_acks_and_loses_none() -> None:
    """C4: a round without a clear answer is looked up and put again."""
    world = a_world()
    logs = await world.open()
    partition = await logs.partition(HOME)
    faults: list[Fault | None] = [FailBefore(), FailAfter(), FailAfter(), FailBefore()] * 5

    def fail(call: Call) -> Fault | None:
        return faults.pop() if faults and call.name.startswith("wal/") else None

    world.faults = fail
    await fill(partition, 3)
    assert not faults
    assert await read_all(await (await world.reopen()).partition(HOME)) == numbered(0, 3)


@in_loop
async def test_a_repeated_batch_is_known_by_the_next_life() -> None:
    """C4: idempotent producers go on."""
    world = a_world()
    logs = await world.open()
    await (await logs.partition(HOME)).append(from_producer(0, b"a", b"b"))
    logs = await world.reopen()
    partition = await logs.partition(HOME)
    assert (await partition.append(from_producer(0, b"a", b"b"))).base_offset == 0
    await partition.append(from_producer(2, b"c"))
    assert [value for _, value in await read_all(partition)] == [b"a", b"b", b"c"]


@in_loop
async def test_tails_that_leave_memory_are_read_back_from_rounds() -> None:
    """C4: memory is bounded here, too."""
    world = a_world(tail_size_max=4000)
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 40, size=200)
    assert partition.tail.runs
    assert await read_all(partition) == numbered(0, 40, 200)
    logs = await world.reopen()
    partition = await logs.partition(HOME)
    assert partition.tail.runs
    assert await read_all(partition) == numbered(0, 40, 200)
    await partition.flush()
    assert world.manifest().flushed > 0


@in_loop
async def test_a_log_on_disk_and_one_in_the_store_do_not_follow_each_other_by_mistake() -> None:
    """C4: each would pass over what the other one has acknowledged."""
    world = a_world()
    await fill(await (await world.open()).partition(HOME), 1)
    world.wal, on_disk = STORE, WalSettings(chunk_size_max=4096)
    for _ in range(2):
        world.wal = on_disk
        with pytest.raises(LogInStore, match=r"start with wal\.place=store"):
            await world.reopen()
        world.wal = STORE
        logs = await world.reopen()
        assert await read_all(await logs.partition(HOME)) == numbered(0, 1)
    await logs.close()
    world.wal = on_disk
    assert await read_all(await (await world.open()).partition(HOME)) == numbered(0, 1)
    disk = LogWorld()
    await fill(await (await disk.open()).partition(HOME), 1)
    disk.disk.kill()
    with pytest.raises(LogOnDisk, match="stop that one cleanly"):
        await Logs.open(disk.disk, disk.store, wal_settings=STORE, threaded=False, background=False, take_over=False)


@in_loop
async def test_rounds_may_go_to_a_store_of_their_own() -> None:
    """C4: one that is nearer; one of another cluster is refused."""
    world, near = a_world(), MemoryObjects(MemoryBucket())

    async def open_with(world: LogWorld) -> Logs:
        settings = LogSettings()
        return await Logs.open(
            world.disk, world.store, settings, wal_settings=STORE, threaded=False, background=False, rounds=near
        )

    await fill(await (await open_with(world)).partition(HOME), 3)
    assert world.names("wal/") == []
    assert await read_all(await (await open_with(world)).partition(HOME)) == numbered(0, 3)
    with pytest.raises(WrongStore):
        await open_with(a_world())


@in_loop
async def test_a_life_that_is_overtaken_before_its_first_round_never_begins() -> None:
    """C3: whoever came later found no series of it to seal."""
    world = a_world()
    await fill(await (await world.open()).partition(HOME), 2)

    def another() -> None:
        world.faults = lambda call: None
        in_thread(lambda: asyncio.run(_fill_more(world)))

    first = "wal/0-00000000000000000002/00000000000000000000"
    world.faults = once("put_if_absent", first, Delay(another))
    with pytest.raises(Fenced):
        await world.open()
    logs = await world.reopen()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 4)


async def _fill_more(world: LogWorld) -> None:
    logs = await world.open()
    await fill(await logs.partition(HOME), 2, start=2)


def test_what_the_log_keeps_is_always_in_a_round_that_stays() -> None:
    """C4: also when nothing of it has changed since the round that had it was needed."""
    patience = VersionRetries(ManualClock(), SeededChance(1), lambda _: None)
    series = Series(MemoryObjects(MemoryBucket()), SeriesId(1, 0), patience)
    rows, _ = lay_out([], b"kept")
    series.send(0, encode_round(RoundHeader(ROUND, 0, 1, 0, 0, "a" * 32), rows), "a" * 32, lambda: range(1))
    log = RoundsLog(series, b"kept", [], STORE, is_clean=True, threaded=False)
    prefix = entry.encode_prefix(entry.DELETE_RECORDS, HOME)
    for index in range(4):
        log.append_one(LogId(0, index), (prefix, entry.encode_offset(index)))
        log.flush()
    log.purge(LogId(0, 2))
    log.append_one(LogId(0, 4), (prefix, entry.encode_offset(4)))
    log.flush()
    log.append_one(LogId(0, 5), (prefix, entry.encode_offset(5)))
    log.close()
    found = read_series(series)
    assert found[0].header.number == 4
    assert [kept_of(each) for each in found if kept_of(each) is not None] == [b"kept"]
    assert [bytes(content) for each in found for _, _, content in entries_of(each)] == [
        entry.encode_offset(index) for index in (3, 4, 5)
    ]
    assert found[-1].why["clean"]


@in_loop
async def test_no_ack_overtakes_a_round_below() -> None:
    """C4: rounds are under way together, and the first one hangs."""
    held, arrived = threading.Event(), threading.Event()

    def wait() -> None:
        arrived.set()
        held.wait(20)

    settings = JournalSettings(place="store", interval_ms=0)
    name = "wal/0-00000000000000000001/00000000000000000001"
    objects = FaultyObjects(MemoryObjects(MemoryBucket()), once("put_if_absent", name, Delay(wait)))
    logs = await Logs.open(LogWorld().disk, objects, wal_settings=settings, background=False)
    partition, other = await logs.partition(HOME), await logs.partition(OTHER)
    first = asyncio.ensure_future(partition.append(batch(b"a")))
    await asyncio.to_thread(arrived.wait, 20)
    second = asyncio.ensure_future(other.append(batch(b"b")))
    while not [each for each in objects.list("wal/") if each.name.endswith("2")]:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)
    assert not first.done()
    assert not second.done()
    held.set()
    await asyncio.gather(first, second)
    await logs.close()


@in_loop
async def test_rounds_that_come_from_a_backup_are_those_of_other_lives() -> None:
    """C4: claims are not in it, and are counted from the beginning."""
    world = a_world()
    await fill(await (await world.open()).partition(HOME), 3)
    for name in world.names("owner/"):
        world.objects.delete(name)
    logs = await world.reopen()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 3)


@in_loop
async def test_real_threads_keep_several_rounds_under_way() -> None:
    """C4: acknowledged in order, at the pace of the settings; a clean stop seals the series."""
    world = LogWorld(wal=JournalSettings(place="store", interval_ms=1, rounds_in_flight_max=4))
    objects = MemoryObjects(world.bucket)
    logs = await Logs.open(world.disk, objects, LogSettings(), wal_settings=world.wal)
    partitions = [await logs.partition(each) for each in (HOME, OTHER)]
    told: list[int] = []

    async def append(number: int) -> None:
        await partitions[number % 2].append(batch(b"%d" % number))
        told.append(number)

    for _ in range(10):
        await asyncio.gather(*(append(number) for number in range(20)))
    assert len(told) == 200
    rounds = logs.stat().wal.sync_count
    assert 5 < rounds < 200
    await logs.close()
    logs = await Logs.open(world.disk, objects, LogSettings(), wal_settings=world.wal)
    found = [await read_all(await logs.partition(each)) for each in (HOME, OTHER)]
    assert [len(each) for each in found] == [100, 100]
    await logs.close()


def test_settings_that_do_not_fit_are_refused() -> None:
    """C4: with the name of the setting."""
    for wrong in ({"place": "cloud"}, {"store": "s3://x"}, {"rounds_in_flight_max": 0}, {"interval_ms": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            JournalSettings(**wrong)  # type: ignore[arg-type]


@in_loop
async def test_an_opening_that_nobody_waits_for_any_more_ends_quietly() -> None:
    """C3: a broker that is stopped while it opens partitions says nothing of those that it did not get to."""
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    logs = await a_world().open()
    await logs.close()
    opening = asyncio.ensure_future(logs._openings.open(HOME, PartitionSettings()))
    await asyncio.sleep(0)  # It has begun, and no further.
    opening.cancel()
    await turns()
    assert opening.cancelled()
    assert not logs._openings.under_way(HOME.topic_id)
    gc.collect()
    assert told == []
