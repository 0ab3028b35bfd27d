"""Clocks that jump, stand still, or are wrong from the start: nothing is deleted early, and nothing stops."""

from __future__ import annotations

import logging

import pytest
from tests.log.log_world import HOME, NOW, LogWorld, batch, fill, in_loop, numbered, read_all, turns, value

from holdfast.io.believed_time import KNOWN
from holdfast.io.versions import GRACE_S
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import PartitionSettings

HOUR = 3600.0
DAY = 24 * HOUR
WEEK = PartitionSettings(retention_ms=int(7 * DAY * 1000))


async def rounds(logs: Logs) -> None:
    """One round of everything that lets anything go."""
    await logs._upkeep.apply_retention()
    await logs._upkeep.collect_garbage()
    await logs._upkeep.apply_retention()


async def stored(world: LogWorld, settings: PartitionSettings = WEEK, count: int = 3) -> tuple[Logs, PartitionLog]:
    """A partition with a few segments, and upkeep that has looked at the clock once."""
    logs = await world.open()
    partition = await logs.partition(HOME, settings)
    for number in range(count):
        await fill(partition, 1, start=number)
        await partition.flush()
    await rounds(logs)
    return logs, partition


@in_loop
async def test_a_clock_that_is_set_back_does_not_stop_flushing() -> None:
    """D12, A4: the age of a tail is time that has passed."""
    world = LogWorld(flush_age_ms_max=5000)
    logs = await world.open(background=True)
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    world.clock.jump(-8 * DAY)
    world.clock.advance(5.1)
    await turns()
    assert partition.marks.flushed == 3
    await logs.close()


@in_loop
async def test_a_clock_that_jumps_forward_flushes_nothing_early() -> None:
    """D12: nor is a tail older than it is."""
    world = LogWorld(flush_age_ms_max=5000)
    logs = await world.open(background=True)
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    world.clock.jump(8 * DAY)
    await turns()
    assert partition.marks.flushed == 0
    await logs.close()


def test_a_clock_that_is_days_ahead_for_seconds_deletes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """D12: eight days ahead for six seconds, with a retention of seven: everything is there, and the jump is said.
    The test of D12."""
    caplog.set_level(logging.WARNING, "holdfast")

    @in_loop
    async def run() -> None:
        world = LogWorld()
        logs, partition = await stored(world)
        world.clock.jump(8 * DAY)
        for _ in range(6):
            world.clock.advance(1)
            await rounds(logs)
        assert logs.stat().clock_apart_ms == 8 * DAY * 1000
        world.clock.jump(-8 * DAY)
        world.clock.advance(60)
        await rounds(logs)
        assert await read_all(partition) == numbered(0, 3)
        assert logs.stat().clock_apart_ms == 0
        world.clock.advance(7 * DAY)
        await rounds(logs)
        assert partition.marks.log_start == 3, "What is old goes all the same."

    run()
    said = [each.getMessage() for each in caplog.records if each.getMessage().startswith("clock: ")]
    assert [line.split(" ")[1] for line in said] == ["+691200", "+691200"]


@pytest.mark.parametrize("killed", [False, True])
def test_a_clock_that_is_ahead_at_the_start_deletes_nothing(killed: bool) -> None:
    """D12: what was known before the start is compared; starting again and again makes a wrong clock no truer."""

    @in_loop
    async def run() -> None:
        world = LogWorld()
        logs, partition = await stored(world)
        world.clock.jump(8 * DAY)
        for _ in range(3):
            if not killed:
                await logs.close()
            logs = await world.reopen()
            partition = await logs.partition(HOME, WEEK)
            world.clock.advance(600)
            await rounds(logs)
        assert await read_all(partition) == numbered(0, 3)
        world.clock.jump(-8 * DAY)
        await rounds(logs)
        assert await read_all(partition) == numbered(0, 3)

    run()


@in_loop
async def test_a_clock_that_was_right_after_all_is_believed_in_the_end() -> None:
    """D12, K6: a broker that was off for days lets go of what is old when the clock has stood for a day."""
    world = LogWorld()
    logs, _ = await stored(world)
    await logs.close()
    world.clock.jump(8 * DAY)
    logs = await world.open()
    partition = await logs.partition(HOME, WEEK)
    await rounds(logs)
    for _ in range(23):
        world.clock.advance(HOUR)
        await rounds(logs)
    assert partition.marks.log_start == 0
    world.clock.advance(HOUR + 1)
    await rounds(logs)
    assert partition.marks.log_start == 3


@in_loop
async def test_time_in_which_the_machine_slept_has_passed() -> None:
    """D12, K6: a machine that slept for days is no clock that jumped."""
    world = LogWorld()
    logs, partition = await stored(world)
    world.clock.suspend(8 * DAY)
    await rounds(logs)
    assert partition.marks.log_start == 3


@in_loop
async def test_records_that_were_stamped_while_the_clock_was_back_are_not_old() -> None:
    """D12: log append time from a clock that was set back for a while is no reason to delete."""
    world = LogWorld()
    settings = PartitionSettings(retention_ms=int(7 * DAY * 1000), timestamp_type="log_append")
    logs = await world.open()
    partition = await logs.partition(HOME, settings)
    world.clock.jump(-8 * DAY)
    await fill(partition, 3)
    await partition.flush()
    world.clock.jump(8 * DAY)
    world.clock.advance(60)
    await rounds(logs)
    assert partition.marks.log_start == 0
    assert partition.manifest.segments[0].max_timestamp >= NOW


@in_loop
async def test_records_of_the_future_do_not_stay_for_ever() -> None:
    """K6: a segment that claims to be of the year 2100 is as old as the store says, and keeps nothing behind it."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME, WEEK)
    await partition.append(batch(b"future", timestamp=NOW + int(27_000 * DAY * 1000)))
    await partition.flush()
    world.clock.advance(DAY)
    await partition.append(batch(b"now", timestamp=world.clock.now_ms()))
    await partition.flush()
    await rounds(logs)
    assert partition.marks.log_start == 0
    world.clock.advance(6 * DAY + HOUR)
    await rounds(logs)
    assert partition.marks.log_start == 1, "It was put seven days ago."
    world.clock.advance(DAY)
    await rounds(logs)
    assert partition.marks.log_start == 2


@pytest.mark.parametrize("jump", [8 * DAY, -8 * DAY])
def test_a_jump_between_put_and_commit_deletes_no_segment(jump: float) -> None:
    """D12: whoever put a segment and has not listed it yet finds it there, whatever clocks do meanwhile: also that of
    the store, and when another process is the one who collects."""

    @in_loop
    async def run() -> None:
        world = LogWorld()
        logs, partition = await stored(world)
        if jump < 0:
            world.clock.jump(jump)
        name = partition.manifest.segments[0].name.replace(".seg", "0.seg")
        world.objects.put_if_absent(name, [b"put, and not yet listed"])
        world.clock.jump(abs(jump))
        for _ in range(3):
            await rounds(logs)
            world.clock.advance(600)
        assert name in world.names("segments/")
        world.clock.advance(3 * GRACE_S)
        await fill(partition, 1, start=3)
        await partition.flush()
        await rounds(logs)
        assert name in world.names("segments/") or jump < 0
        if jump > 0:
            world.clock.jump(-jump)
        for _ in range(30):
            world.clock.advance(600)
            await rounds(logs)
        assert name not in world.names("segments/"), "What nobody lists goes in the end."

    run()


@in_loop
async def test_nothing_is_collected_while_something_is_put() -> None:
    """D12: a round that comes while a flush is under way leaves that partition alone."""
    world = LogWorld()
    logs, partition = await stored(world)
    await fill(partition, 1, start=3)
    await partition.flush()  # Something has changed: there may be something to collect.
    asked: list[str] = []
    world.faults = lambda call: asked.append(call.name) if call.kind == "list" else None
    async with partition._commits._lock:
        await logs._upkeep.collect_garbage()
    assert not [name for name in asked if name.startswith("segments/")]
    await logs._upkeep.collect_garbage()
    assert [name for name in asked if name.startswith("segments/")], "Nothing was to be collected at all."


async def as_left_by_an_earlier_release(world: LogWorld, days: int = 9) -> None:
    """A store with segments of every four hours, in which nobody has kept the time."""
    logs = await world.open()
    partition = await logs.partition(HOME, WEEK)
    for number in range(days * 6):
        world.clock.advance(4 * HOUR)
        await partition.append(batch(value(number), timestamp=world.clock.now_ms()))
        await partition.flush()
    await logs.close()
    world.objects.delete(KNOWN)


@in_loop
async def test_retention_goes_on_after_an_upgrade() -> None:
    """K6: a store in which nobody has kept the time proves it itself, as far as no jump can hide in it."""
    world = LogWorld()
    await as_left_by_an_earlier_release(world)
    world.clock.reboot(300)
    logs = await world.open()
    partition = await logs.partition(HOME, WEEK)
    await rounds(logs)
    assert partition.marks.log_start == 2 * 6 - 2, "Seven days and six hours are kept."
    assert await read_all(partition) == numbered(10, 54)


@pytest.mark.parametrize("seen", [0, 6, int(20 * HOUR)])
@pytest.mark.parametrize("jump", [5 * HOUR, 30 * HOUR, 8 * DAY])
def test_a_clock_that_is_ahead_at_an_upgrade_deletes_nothing(jump: float, seen: int) -> None:
    """D12: neither what we write ourselves, start for start, nor what the release before wrote for some hours, makes a
    wrong clock right."""

    @in_loop
    async def run() -> None:
        world = LogWorld()
        await as_left_by_an_earlier_release(world, days=7)
        world.clock.jump(jump)
        for number in range(6 if seen else 0):
            world.clock.advance(seen / 6)
            world.objects.put(f"segments/jumped/{number}.seg", [b"of the release before"])
        for number in range(4):
            logs = await world.reopen()
            partition = await logs.partition(HOME, WEEK)
            await fill(partition, 1, start=42 + number)
            await partition.flush()
            world.objects.delete(f"segments/jumped/{number}.seg")
            world.clock.advance(60)
            if number == 3:
                await rounds(logs)
        assert await read_all(partition) == numbered(0, 46)

    run()


@in_loop
async def test_time_between_two_processes_has_passed() -> None:
    """K6, D12: while the machine runs, nothing is late because a broker was off."""
    world = LogWorld()
    logs, _ = await stored(world)
    await logs.close()
    world.clock.advance(8 * DAY)
    logs = await world.open()
    partition = await logs.partition(HOME, WEEK)
    await rounds(logs)
    assert partition.marks.log_start == 3


@in_loop
async def test_time_in_which_the_machine_was_off_is_the_clocks_word_alone() -> None:
    """D12: after a start of the machine its clock has to stand, as one that has jumped."""
    world = LogWorld()
    logs, _ = await stored(world)
    await logs.close()
    world.clock.reboot(8 * DAY)
    logs = await world.open()
    partition = await logs.partition(HOME, WEEK)
    await rounds(logs)
    assert partition.marks.log_start == 0
