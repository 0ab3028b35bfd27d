"""What is told of the write-ahead log alone, while the store is away: nothing that the store could make untrue."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from tests.log.log_world import HOME, LogWorld, batch, fill, from_producer, in_loop, marker, numbered, read_all, records

from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.log.context import Environment
from holdfast.log.logs import Logs
from holdfast.log.metadata import read_kept, save_kept
from holdfast.log.recovery.begin import LocalLog, open_local
from holdfast.log.recovery.tails import KnownTail, Tails, batches_of, is_own_history
from holdfast.log.settings import LogSettings
from holdfast.wal import WalSettings


async def local(world: LogWorld) -> LocalLog:
    """The process is killed, and the next one has read its log; nobody has asked the store."""
    world.disk.kill()
    parts = Environment(world.store, InlineCalls(), world.clock, SeededChance(5))
    settings = LogSettings(**world.settings)
    return await open_local(world.disk, parts, settings, world.wal, threaded=False, reserve_size=0)


def read(tails: Tails, known: KnownTail, offset: int) -> list[tuple[int, bytes]]:
    batches = batches_of(known, offset, 1 << 20)
    return records([each.data if each.data is not None else tails.read_back([each])[0] for each in batches])


@pytest.mark.parametrize("tail_size_max", [1 << 20, 4096])
@in_loop
async def test_what_was_acknowledged_is_read_without_the_store(tail_size_max: int) -> None:
    """D4: in memory or spilled, from any offset, and it ends where the whole broker will say that it ends."""
    world = LogWorld(tail_size_max=tail_size_max)
    logs = await world.open()
    await fill(await logs.partition(HOME), 60, 50)
    tails = Tails(await local(world))
    known = tails.find(HOME)
    assert known is not None
    assert (known.start, known.end, known.log_start, known.is_stable) == (0, 60, 0, True)
    assert read(tails, known, 0) == numbered(0, 60, 50)
    assert read(tails, known, 41) == numbered(41, 60, 50)
    reopened = await (await world.reopen()).partition(HOME)
    assert reopened.marks.high_watermark == known.end


@in_loop
async def test_what_is_only_in_the_store_is_not_known() -> None:
    """D4: of a partition of which the log has a part, where it begins is for the store to say."""
    world = LogWorld(wal=WalSettings(chunk_size_max=4096, zero_ahead_size=512))
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 60, 200)
    await partition.flush()
    logs.purge()
    await fill(partition, 5, 200, 60)
    known = Tails(await local(world)).find(HOME)
    assert known is not None
    assert (known.start, known.end, known.log_start) == (60, 65, -1)
    assert known.is_stable  # No transaction was open when the log was purged.


@in_loop
async def test_deleted_records_do_not_come_back() -> None:
    """D4: they are still in the write-ahead log, and nobody reads them."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 20)
    await partition.delete_records(12)
    tails = Tails(await local(world))
    known = tails.find(HOME)
    assert known is not None
    assert (known.start, known.end, known.log_start) == (12, 20, 12)
    assert read(tails, known, 12) == [(number, b"%d." % number) for number in range(12, 20)]


@in_loop
async def test_all_deleted_is_nothing_to_read() -> None:
    """D4: and a deletion is told again by who repeats it after a crash."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 20)
    await partition.delete_records(20)
    assert Tails(await local(world)).find(HOME) is None
    reopened = await (await world.reopen(power_cut=True)).partition(HOME)
    assert await reopened.delete_records(20) == 20
    assert (reopened.marks.log_start, reopened.marks.log_end) == (20, 20)


@in_loop
async def test_a_log_of_an_earlier_release_does_not_say_what_was_deleted() -> None:
    """D4: so nothing of it is read before the store answers; what comes later is."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 5)
    old = await local(world)
    kept = read_kept(old.wal)
    assert kept is not None
    save_kept(old.wal, replace(kept, deletes_from=None, undecided=None))
    assert Tails(old).find(HOME) is None
    logs = await world.reopen()
    await fill(await logs.partition(HOME), 3, start=5)
    known = Tails(await local(world)).find(HOME)
    assert known is not None
    assert (known.start, known.end, known.log_start) == (5, 8, -1)


async def in_transaction(logs: Logs, *, flushed: bool, ended: bool) -> None:
    partition = await logs.partition(HOME)
    await partition.append(from_producer(0, b"a", transactional=True))
    if ended:
        partition.append_marker(marker(abort=True))
    await fill(partition, 30, 200, 2)
    if flushed:
        await partition.flush()
        logs.purge()
    await fill(partition, 3, 0, 40)


@pytest.mark.parametrize(
    ("flushed", "ended", "stable"),
    [(False, False, False), (False, True, False), (True, False, False), (True, True, True)],
)
@in_loop
async def test_the_last_stable_offset_is_told_where_no_transaction_can_be_open(
    flushed: bool, ended: bool, stable: bool
) -> None:
    """D4: one in the log, open or aborted, or one that was open when the log was purged, makes it unknown."""
    world = LogWorld()
    logs = await world.open()
    await in_transaction(logs, flushed=flushed, ended=ended)
    known = Tails(await local(world)).find(HOME)
    assert known is not None
    assert known.is_stable is stable


@in_loop
async def test_a_reader_of_another_history_is_not_served() -> None:
    """D4: the batch before its place must be of the epoch that it has read."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 4)
    first = logs.identity.generation
    logs = await world.reopen()
    partition = await logs.partition(HOME)
    await partition.append(batch(b"later"))
    tails = Tails(await local(world))
    known = tails.find(HOME)
    assert known is not None
    assert tails.generation > partition.epochs.current > first
    assert is_own_history(known, 4, first)
    assert not is_own_history(known, 4, partition.epochs.current)
    assert is_own_history(known, 5, partition.epochs.current)
    assert is_own_history(known, 0, first)


@in_loop
async def test_a_log_that_is_taken_is_read_by_its_new_owner_only() -> None:
    """D4: from that moment on tails move, and hold what is not durable."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 4)
    found = await local(world)
    tails = Tails(found)
    assert tails.find(HOME) is not None
    found.is_taken = True
    assert tails.find(HOME) is None
    assert len(tails) == 0


@in_loop
async def test_a_deleted_topic_is_not_there() -> None:
    """D4: the log knows of its deletion first."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 4)
    await logs.delete_topic(HOME.topic_id)
    tails = Tails(await local(world))
    assert tails.find(HOME) is None
    assert HOME.topic_id in tails.deleted


@in_loop
async def test_a_start_without_the_store_makes_no_stop_a_clean_one(caplog: pytest.LogCaptureFixture) -> None:
    """D4: killed, started without the store, and stopped cleanly: the next start says that the last stop was unclean,
    and the one after it, which followed a clean one, that it was clean."""
    caplog.set_level(logging.INFO, "holdfast.log.recovery.begin")
    world = LogWorld()
    await fill(await (await world.open()).partition(HOME), 3)
    (await local(world)).close()
    settings = LogSettings(**world.settings)
    parts = Environment(world.store, InlineCalls(), world.clock, SeededChance(6))
    again = await open_local(world.disk, parts, settings, world.wal, threaded=False, reserve_size=0)
    assert again.wal.opened.clean, "The process before has closed the log."
    again.close()
    for _ in range(2):
        logs = await world.open()
        assert await read_all(await logs.partition(HOME)) == numbered(0, 3)
        await logs.close()
    said = [each.getMessage() for each in caplog.records if each.name == "holdfast.log.recovery.begin"]
    assert [line.rsplit(", ", 1)[1] for line in said] == [
        "at the first start of this log",
        "after an unclean stop",
        "after a clean stop",
    ]
