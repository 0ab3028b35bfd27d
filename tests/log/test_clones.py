"""Two processes that came from one data directory: the later to write is fenced, and nothing goes without a word."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from tests.log.log_world import HOME, OTHER, LogWorld, batch, fill, in_loop, numbered, read_all, records
from tests.log.second_writer import replace_first_segment
from tests.log.test_takeover import beside

from holdfast.errors import Fenced, Unavailable
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.objects.faulty import FailEarly
from holdfast.log.errors import CommitOvertaken
from holdfast.log.logs import Logs
from holdfast.log.ownership.owner import PREFIX
from holdfast.log.recovery.quarantine import read_tail_file
from holdfast.log.settings import LogSettings


def clone(world: LogWorld) -> LogWorld:
    """A copy of a disk, bit by bit, over the same store."""
    other = beside(world, world.seed + 1)
    other.disk = copy.deepcopy(world.disk)
    other.disk.kill()
    return other


async def open_with(world: LogWorld, **options: Any) -> Logs:
    """As `LogWorld.open`, with what only the logs themselves are given."""
    return await Logs.open(
        world.disk,
        world.store,
        LogSettings(**world.settings),
        wal_settings=world.wal,
        clock=world.clock,
        chance=SeededChance(world.seed * 1_000_033 + world.disk.calls),
        **{"calls": InlineCalls(), "threaded": False, "background": False, **options},
    )


@in_loop
async def test_of_two_copies_of_a_log_the_later_one_to_append_is_fenced() -> None:
    """D1: the same writer, the same epoch: its records stay in its tail, and it says that another has written."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 3)
    await logs.close()
    twin = clone(world)
    first = await (await world.open()).partition(HOME)
    for each in world.names(PREFIX):  # As if the two had started in one moment, from one image with its memory.
        world.objects.delete(each)
    second = await (await twin.open()).partition(HOME)
    assert first.epochs.current == second.epochs.current
    for number in range(50):
        await first.append(batch(b"first %d" % number))
        await second.append(batch(b"second %d" % number))
    await first.flush()
    with pytest.raises(Fenced, match="another process"):
        await second.flush()
    assert len(second.tail) == 50
    assert not second.is_alive
    assert await read_all(first) == [*numbered(0, 3), *((3 + n, b"first %d" % n) for n in range(50))]


@in_loop
async def test_a_copy_that_only_looks_is_fenced_as_well() -> None:
    """D1: a refresh finds the other's segments: they are not what the tail may be let go for."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 3)
    await logs.close()
    twin = clone(world)
    first, second = await (await world.open()).partition(HOME), await (await twin.open()).partition(HOME)
    await fill(first, 5, start=3)
    await fill(second, 2, start=3)
    await first.flush()
    with pytest.raises(Fenced):
        await second.refresh_manifest()
    assert len(second.tail) == 2
    assert second.marks.flushed == 3


@in_loop
async def test_a_copy_is_fenced_though_compaction_wrote_the_newest_version() -> None:
    """D1: who appended last is in the manifest, whoever wrote its newest version."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 3)
    await logs.close()
    twin = clone(world)
    first, second = await (await world.open()).partition(HOME), await (await twin.open()).partition(HOME)
    await fill(first, 5, start=3)
    await fill(second, 5, start=3)
    await first.flush()
    replace_first_segment(world, first)
    with pytest.raises(Fenced):
        await second.flush()
    assert len(second.tail) == 5


@in_loop
async def test_the_tail_of_a_fenced_copy_goes_to_quarantine(caplog: pytest.LogCaptureFixture) -> None:
    """D1: nothing that was acknowledged is dropped: it is in a file, and the log says so at error level."""
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 3)
    await logs.close()
    twin = clone(world)
    shelf = clone(world).disk
    for name in shelf.names():
        shelf.remove(name)
    first = await (await world.open()).partition(HOME)
    logs = await open_with(twin, quarantine=lambda: shelf)
    second = await logs.partition(HOME)
    await fill(first, 5, start=3)
    await fill(second, 4, start=3)
    await first.flush()
    with pytest.raises(Fenced):
        await second.flush()
    await logs._openings.save_fenced(second)
    assert [each.levelname for each in caplog.records if "in quarantine" in each.message] == ["ERROR"]
    (name,) = shelf.names()
    assert "-3-7-" in name
    _, batches = read_tail_file(name, bytes(shelf.content(name)))
    assert records([batches]) == numbered(3, 7)


@in_loop
async def test_an_append_of_ours_that_arrives_late_is_ours() -> None:
    """A3, D1: given up, tried again under another name, stored in the end: no other process was there."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    world.faults = lambda call: FailEarly() if call.name.startswith("manifests/") and "put" in call.kind else None
    with pytest.raises(Unavailable, match="not known"):
        await partition.flush()
    world.faults = lambda call: None
    world.store.arrive()
    replace_first_segment(world, partition)
    await fill(partition, 2, start=3)
    while await partition.flush():
        pass
    assert await read_all(partition) == numbered(0, 5)
    assert world.manifest().flushed == 5


@in_loop
async def test_an_append_of_the_process_before_that_arrives_late_is_ours() -> None:
    """A3, D1: killed with a put under way, which the store takes when the next process is there already."""
    world = LogWorld()
    logs = await world.open()
    partition, other = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(partition, 3)
    await fill(other, 1)
    world.faults = lambda call: FailEarly() if call.name.startswith("manifests/") and "put" in call.kind else None
    with pytest.raises(Unavailable, match="not known"):
        await partition.flush()
    world.faults = lambda call: None
    partition = await (await world.reopen()).partition(HOME)
    world.store.arrive()
    await fill(partition, 2, start=3)
    while partition.marks.flushed < 5:
        with suppress(CommitOvertaken):  # The flusher tries again.
            await partition.flush()
    assert await read_all(partition) == numbered(0, 5)
    assert len(partition.tail) == 0
