"""A data directory that was set back to an earlier day: offsets that are given again have another leader epoch."""

from __future__ import annotations

import copy
from contextlib import suppress

import pytest
from tests.log.log_world import HOME, OTHER, LogWorld, fill, in_loop, numbered, read_all
from tests.log.test_clones import open_with

from holdfast.io.chance import SeededChance
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.errors import NotTheOwner
from holdfast.log.ownership.owner import PREFIX


async def lived(world: LogWorld) -> SimulatedDisk:
    """A life whose disk is kept as it was then, and another one after it, with more records. What was kept."""
    logs = await world.open()
    for home in (HOME, OTHER):
        await fill(await logs.partition(home), 3)
    await logs.close()
    snapshot = copy.deepcopy(world.disk)
    world.disk.kill()
    logs = await world.open()
    partition, other = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(other, 2, start=3)  # Acknowledged, read by somebody, and never stored.
    await fill(partition, 5, start=3)
    await partition.flush()
    world.disk.kill()
    snapshot.kill()
    return snapshot


def without_claims(world: LogWorld) -> None:
    """As a store that only earlier releases have used."""
    bucket = MemoryBucket()
    world.objects = MemoryObjects(bucket, clock=world.clock)
    for each in list(world.bucket.names):
        if not each.startswith(PREFIX):
            bucket.add(each, world.bucket.stored[each])
    world.bucket.stored, world.bucket.names = bucket.stored, bucket.names


@in_loop
async def test_a_log_that_was_set_back_is_refused() -> None:
    """D1, O1: the claim in the store is of a life that the log knows nothing of; one sentence says what to do."""
    world = LogWorld()
    world.disk = await lived(world)
    before = world.names()
    with pytest.raises(NotTheOwner, match=r"set back.*--take-over"):
        await open_with(world, take_over=False)
    assert world.names() == before
    with pytest.raises(NotTheOwner):
        await open_with(world, take_over=False)


@pytest.mark.parametrize("has_claims", [True, False])
def test_offsets_that_are_given_again_have_another_epoch(has_claims: bool, caplog: pytest.LogCaptureFixture) -> None:
    """D1, A2: also of the partition that does not show it: its records of the lost life were read by somebody."""

    @in_loop
    async def run() -> None:
        world = LogWorld()
        world.disk = await lived(world)
        if not has_claims:
            without_claims(world)
        logs = await world.open()
        other, partition = await logs.partition(OTHER), await logs.partition(HOME)
        for each in (partition, other):
            assert each.epochs.current > 0
        assert world.manifest().epoch == partition.epochs.current  # Before anybody is served.
        assert await read_all(partition) == numbered(0, 8)
        await fill(other, 2, start=3)
        await other.flush()
        assert [each.epoch for each in world.manifest(OTHER).epochs] == [0, other.epochs.current]

    run()
    (line,) = [each for each in caplog.records if "set back" in each.message]
    assert line.levelname == "WARNING"


@pytest.mark.parametrize("is_new", [False, True], ids=["set back", "a new log"])
@pytest.mark.parametrize("kills", [0, 3])
def test_who_takes_over_has_an_epoch_that_the_owner_never_had(
    kills: int, is_new: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """D1, A2: what the owner acknowledged last is in no segment, so no manifest tells of it; its claim does."""

    @in_loop
    async def run() -> None:
        world = LogWorld()
        logs = await world.open()
        await fill(await logs.partition(HOME), 3)
        await logs.close()
        snapshot = SimulatedDisk(SeededChance(7)) if is_new else copy.deepcopy(world.disk)
        for _ in range(kills):
            world.disk.kill()
            await (await world.open()).partition(HOME)
        world.disk.kill()
        partition = await (await world.open()).partition(HOME)
        await fill(partition, 2, start=3)  # Read by somebody.
        world.disk = snapshot
        world.disk.kill()
        after = await (await world.open()).partition(HOME)
        assert after.marks.log_end == 3
        assert after.epochs.current > partition.epochs.current

    run()
    (line,) = [each for each in caplog.records if "taken over from another" in each.message]
    assert line.levelname == "WARNING"


@in_loop
async def test_a_log_that_was_not_set_back_keeps_its_epoch(caplog: pytest.LogCaptureFixture) -> None:
    """A2: closed and opened again, flushed and purged or not: nothing is said, and no epoch is spent."""
    world = LogWorld()
    for start in range(0, 12, 3):
        logs = await world.open()
        partition = await logs.partition(HOME)
        assert partition.epochs.current == 0
        await fill(partition, 3, start=start)
        if start % 2:
            await partition.flush()
            logs.purge()
        await logs.close()
    assert "set back" not in caplog.text


@in_loop
async def test_a_kill_at_any_call_of_a_start_is_not_taken_for_a_copy() -> None:
    """D1: between the log's own note and the claim in the store, and behind it."""
    for calls in range(60):
        world = LogWorld(calls)
        logs = await world.open()
        await fill(await logs.partition(HOME), 2)
        await logs.close()
        world.disk.kill()
        left = [calls]

        class Killed(BaseException):
            pass

        def kill(call: object, left: list[int] = left, killed: type[BaseException] = Killed) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise killed

        world.faults = kill  # type: ignore[assignment]
        with suppress(Killed):
            await (await open_with(world, take_over=False)).partition(HOME)
        world.faults = lambda call: None
        world.disk.kill()
        partition = await (await open_with(world, take_over=False)).partition(HOME)
        assert await read_all(partition) == numbered(0, 2)
        if left[0] > 0:
            break
    assert left[0] > 0, "The start makes more calls than were tried."


@in_loop
async def test_a_log_that_was_set_back_is_said_to_be_once(caplog: pytest.LogCaptureFixture) -> None:
    """D1: the next start, after an unclean stop, knows how far the store had come."""
    world = LogWorld()
    world.disk = await lived(world)
    logs = await world.open()
    await logs.partition(HOME)
    for _ in range(2):
        logs = await world.reopen()
        assert await read_all(await logs.partition(HOME)) == numbered(0, 8)
    assert len([each for each in caplog.records if "set back" in each.message]) == 1


@pytest.mark.parametrize("has_been_here", [False, True], ids=["a new log", "one with older marks"])
@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed"])
def test_who_has_only_taken_over_is_not_set_back(
    is_killed: bool, has_been_here: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """D1, A2: what another has stored is not in the log of who takes over; that is no loss, and spends no epoch."""

    @in_loop
    async def run() -> None:
        world = LogWorld()
        if has_been_here:
            logs = await world.open()
            await fill(await logs.partition(HOME), 2)
            await (await logs.partition(HOME)).flush()
            logs.purge()
            await logs.close()
        own, world.disk = world.disk, SimulatedDisk(SeededChance(7))
        world.seed += 1  # Another broker.
        logs = await world.open()
        partition = await logs.partition(HOME)
        await fill(partition, 3, start=partition.marks.log_end)
        await partition.flush()
        end, world.disk = world.manifest().flushed, own
        world.seed -= 1
        world.disk.kill()
        logs = await world.open()
        epoch = (await logs.partition(HOME)).epochs.current
        for _ in range(2):
            if not is_killed:
                await logs.close()
            logs = await world.reopen()
            partition = await logs.partition(HOME)
            assert await read_all(partition) == numbered(0, end)
            assert world.manifest().epoch == epoch
            assert is_killed or partition.epochs.current == epoch

    run()
    assert "set back" not in caplog.text


def test_an_epoch_that_the_log_has_lost_shows_that_it_was_set_back(caplog: pytest.LogCaptureFixture) -> None:
    """D1, A2: nothing was stored in it, but it was given to somebody."""

    @in_loop
    async def run() -> None:
        world = LogWorld()
        snapshot = await lived(world)
        epochs = []
        for _ in range(2):
            world.disk = copy.deepcopy(snapshot)
            without_claims(world)
            epochs.append((await (await world.open()).partition(HOME)).epochs.current)
        assert epochs == sorted(set(epochs))

    run()
    assert len([each for each in caplog.records if "set back" in each.message]) == 2
