"""Whom a partition remembers, for how long, and at what cost: by the broker's time, within a limit, in small writes."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from tests.log.log_world import HOME, MEMORY, NOW, LogWorld, batch, from_producer, in_loop

from holdfast.io.versions import FULL_EVERY
from holdfast.log.errors import SequenceGap
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.producers import ProducerTable
from holdfast.log.settings import DAY_MS, LogSettings, PartitionSettings
from holdfast.record.batch import BatchHeader, read_header
from holdfast.segment.manifest.changes import Append
from holdfast.segment.manifest.codec import encode
from holdfast.segment.producers import changes, with_changes
from holdfast.types import Offset

COUNT = 200_000
EXPIRY_S = LogSettings().producer_expiry_ms / 1000
OLD, SECONDS, FUTURE = NOW - 2 * DAY_MS, NOW // 1000, NOW * 1000  # Two days old; in seconds; in microseconds.


def timed(sequence: int, timestamp: int, number: int = 7) -> bytearray:
    return batch(b"x", timestamp=timestamp, producer_id=number, producer_epoch=0, base_sequence=sequence)


async def upkeep(logs: Logs) -> None:
    await logs._upkeep.apply_retention()


async def kept_for_ever(world: LogWorld, timestamp: int) -> tuple[Logs, PartitionLog]:
    """A partition whose records' timestamps do not matter to retention, with one batch of a producer."""
    logs = await world.open()
    partition = await logs.partition(HOME, PartitionSettings(retention_ms=-1))
    await partition.append(timed(0, timestamp))
    return logs, partition


@pytest.mark.parametrize("timestamp", [OLD, SECONDS, NOW, FUTURE])
@in_loop
async def test_a_producer_is_remembered_whatever_its_records_say_of_the_time(timestamp: int) -> None:
    """D6: the repeat of a backfill is known again: after upkeep, after a flush, after both and a restart."""
    world = LogWorld()
    logs, partition = await kept_for_ever(world, timestamp)
    await upkeep(logs)
    assert (await partition.append(timed(0, timestamp))).repeated
    await partition.flush()
    assert (await partition.append(timed(0, timestamp))).repeated
    logs = await world.reopen()
    partition = await logs.partition(HOME, partition.settings)
    await upkeep(logs)
    assert (await partition.append(timed(0, timestamp))).repeated
    assert partition.marks.log_end == 1


@pytest.mark.parametrize("timestamp", [OLD, FUTURE])
@in_loop
async def test_a_silent_producer_is_forgotten_by_the_brokers_time(timestamp: int) -> None:
    """D6, D11: also one whose clock counts microseconds; from the manifest, too."""
    world = LogWorld()
    logs, partition = await kept_for_ever(world, timestamp)
    await partition.flush()
    world.clock.advance(EXPIRY_S - 1)
    await upkeep(logs)
    assert partition.producers.state(7) is not None
    world.clock.advance(2)
    await upkeep(logs)
    assert partition.producers.state(7) is None
    await partition.append(batch(b"x"))
    await partition.flush()
    assert world.manifest().producers == {}


@pytest.mark.parametrize("jump_ms", [3650 * DAY_MS, -3650 * DAY_MS])
@in_loop
async def test_no_jump_of_the_clock_forgets_a_producer(jump_ms: int) -> None:
    """D12, D6: ten years ahead or back, with a flush and a restart behind the jump."""
    world = LogWorld()
    logs, partition = await kept_for_ever(world, NOW)
    await partition.flush()
    world.clock._now_ms += jump_ms
    await upkeep(logs)
    assert (await partition.append(timed(0, NOW))).repeated
    await partition.append(timed(0, NOW, number=8))
    await partition.flush()
    logs = await world.reopen()
    partition = await logs.partition(HOME, partition.settings)
    await upkeep(logs)
    for number in (7, 8):
        assert (await partition.append(timed(0, NOW, number))).repeated


@in_loop
async def test_the_running_time_goes_on_after_a_restart() -> None:
    """D6, D11: twenty hours before a restart and five after it are more than a day: restarts keep nobody for ever,
    as long as something is flushed."""
    world = LogWorld()
    logs, partition = await kept_for_ever(world, NOW)
    await partition.flush()
    world.clock.advance(20 * 3600)
    await partition.append(batch(b"x"))
    await partition.flush()
    logs = await world.reopen()
    partition = await logs.partition(HOME, partition.settings)
    world.clock.advance(3 * 3600)
    await upkeep(logs)
    assert partition.producers.state(7) is not None
    world.clock.advance(2 * 3600)
    await upkeep(logs)
    assert partition.producers.state(7) is None


# Who may begin in the middle


@in_loop
async def test_who_was_never_here_begins_at_zero() -> None:
    """D6: a batch whose predecessor was refused is refused, too, so the two come in order when they are sent again."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    with pytest.raises(SequenceGap):
        await partition.append(from_producer(3, b"second"))
    await partition.append(from_producer(0, b"a", b"b", b"c"))
    await partition.append(from_producer(3, b"second"))
    assert partition.marks.log_end == 4


@in_loop
async def test_who_was_forgotten_goes_on_where_it_was() -> None:
    """D6, K4: a producer that was silent for a day, and no younger one; also after a restart."""
    world = LogWorld()
    logs, partition = await kept_for_ever(world, NOW)
    world.clock.advance(EXPIRY_S + 1)
    await upkeep(logs)
    await partition.append(timed(1, NOW))
    with pytest.raises(SequenceGap):
        await partition.append(timed(1, NOW, number=8))
    await partition.flush()
    world.clock.advance(EXPIRY_S + 1)
    await partition.append(batch(b"x"))
    await partition.flush()
    assert world.manifest().producers == {}
    partition = await (await world.reopen()).partition(HOME)
    with pytest.raises(SequenceGap):
        await partition.append(timed(1, NOW, number=8))
    await partition.append(timed(2, NOW))


@in_loop
async def test_who_is_older_than_the_topic_goes_on_where_it_was() -> None:
    """D6, K4: a topic made again: its producers go on; those that come later begin at zero."""
    world = LogWorld()
    logs = await world.open()
    logs.producer_ids.end = lambda: 8
    partition = await logs.partition(HOME)
    logs.producer_ids.end = lambda: 9
    await partition.append(timed(5, NOW, number=7))
    with pytest.raises(SequenceGap):
        await partition.append(timed(5, NOW, number=8))


@in_loop
async def test_after_a_crash_that_may_forget_all_go_on_where_they_were() -> None:
    """D6, K4: with acknowledgements from memory, a producer's batches may be gone: it is not shut out for that."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, MEMORY)
    with pytest.raises(SequenceGap):
        await partition.append(timed(1, NOW))
    logs = await world.reopen(power_cut=True)
    logs.producer_ids.end = lambda: 8
    await (await logs.partition(HOME, MEMORY)).append(timed(1, NOW))


@in_loop
async def test_where_nobody_can_tell_all_go_on_where_they_were() -> None:
    """D6, O5: a partition of an older release, or one that was repaired: whoever exists by then may begin anywhere,
    also after a flush and a restart, and nobody who comes later."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    name = f"{HOME.manifests}{0:020}.json"
    world.objects.put(name, [encode(replace(partition.manifest, forgotten_below=None), [])])
    logs = await world.reopen()
    logs.producer_ids.end = lambda: 8
    partition = await logs.partition(HOME)
    await partition.append(timed(5, NOW, number=6))
    await partition.flush()
    logs = await world.reopen()
    logs.producer_ids.end = lambda: 10
    partition = await logs.partition(HOME)
    await partition.append(timed(5, NOW, number=7))
    with pytest.raises(SequenceGap):
        await partition.append(timed(5, NOW, number=8))


# How many


def many(count: int, start: int = 0) -> list[tuple[BatchHeader, memoryview]]:
    """Batches of as many producers."""
    data = memoryview(from_producer(0, b"x"))
    header = read_header(data)
    return [(header._replace(producer_id=start + number), data) for number in range(count)]


@in_loop
async def test_the_number_of_producers_is_limited_and_said(caplog: pytest.LogCaptureFixture) -> None:
    """D11, K10: those that were silent for longest go, never one with an open transaction; a line says how many."""
    world = LogWorld(producer_ids_max=32)
    logs = await world.open()
    partition = await logs.partition(HOME)
    await partition.append(from_producer(0, b"open", number=1, transactional=True))
    for number in range(2, 100):
        await partition.append(from_producer(0, b"x", number=number))
        assert len(partition.producers) <= 32
    assert partition.producers.is_open(1, 0)
    assert partition.producers.let_go == 99 - len(partition.producers)
    assert (await partition.append(from_producer(0, b"x", number=99))).repeated
    with caplog.at_level(logging.WARNING):
        await upkeep(logs)
        await upkeep(logs)
    [line] = [each.getMessage() for each in caplog.records if "producer_ids_max" in each.getMessage()]
    assert f"the {partition.producers.let_go} that were silent for longest" in line
    await partition.flush()
    assert len(world.manifest().producers) <= 32
    assert 1 in world.manifest().producers
    partition = await (await world.reopen()).partition(HOME)
    await partition.append(from_producer(1, b"y", number=2))  # It was let go: it goes on, and is not stuck.


def test_two_hundred_thousand_producers_take_no_more_than_the_limit() -> None:
    """D11, K10: in memory and in the manifest."""
    limit = LogSettings().producer_ids_max
    table = ProducerTable()
    largest = 0
    for number, (header, data) in enumerate(many(COUNT)):
        table.apply(header, data, number)
        table.limit(limit)
        largest = max(largest, len(table))
    assert largest <= limit
    assert table.let_go == COUNT - len(table)
    assert set(table.snapshot()) == set(range(COUNT - len(table), COUNT))


@in_loop
async def test_one_record_among_many_producers_costs_little() -> None:
    """D11: 40,000 producers came and are known; a record of one of them is a segment and a manifest of a few kilobytes,
    but for the full list. What is read back is exact all the time, also after a restart."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    table = ProducerTable()
    for header, data in many(40_000):
        table.apply(header, data, 0)
    known = Append((), Offset(0), table.snapshot(), 0.0)
    await partition.ground.calls.run(partition.manifests.commit, known)
    partition = await (await world.reopen()).partition(HOME)
    sizes: dict[str, int] = {}
    for sequence in range(1, FULL_EVERY + 2):
        before = set(world.names())
        await partition.append(from_producer(sequence, b"x", number=123))
        await partition.flush()
        sizes |= {name: len(world.objects.get(name)) for name in world.names() if name not in before}
    large = [name for name, size in sizes.items() if size > 30_000]
    assert large == [f"{HOME.manifests}{FULL_EVERY:020}.json"], "Only the full list has them all."
    found = world.manifest()
    assert found.producers == partition.manifest.producers
    assert (len(found.producers), found.producers[123].batches[-1].base_sequence) == (40_000, FULL_EVERY + 1)
    partition = await (await world.reopen()).partition(HOME)
    assert (await partition.append(from_producer(FULL_EVERY + 1, b"x", number=123))).repeated
    assert (await partition.append(from_producer(0, b"x", number=39_999))).repeated


def test_changes_of_producers_are_taken_back_exactly() -> None:
    """D6, O5: whoever is new, different or gone; who was silent for longest is first again."""
    table = ProducerTable()
    for number, (header, data) in enumerate(many(10)):
        table.apply(header, data, number)
    before = table.snapshot()
    table.expire(3)
    for header, data in many(4, start=8):
        table.apply(header._replace(base_sequence=1), data, 20)
    rows, gone = changes(before, table.snapshot())
    assert ([row[0] for row in rows], gone) == ([8, 9, 10, 11], [0, 1, 2])
    found = with_changes(before, rows, gone)
    assert found == table.snapshot()
    assert list(found) == list(table.snapshot())
