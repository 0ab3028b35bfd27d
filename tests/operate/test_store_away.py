"""A store that goes away and comes back: one line each, however many partitions wait for it."""

from __future__ import annotations

import gc
import logging
import weakref
from uuid import UUID

import pytest
from tests.log.log_world import fill, in_loop, numbered, read_all, turns
from tests.operate.quarantine_world import QuarantineWorld

from holdfast.io.objects.faulty import Call, FailBefore, Fault
from holdfast.types import PartitionId

HOMES = [PartitionId(UUID(int=0xE), number) for number in range(30)]


def away(call: Call) -> Fault | None:
    return FailBefore()


@in_loop
async def test_a_store_that_is_away_is_one_line_and_so_is_its_return(caplog: pytest.LogCaptureFixture) -> None:
    """A3, O2: thirty partitions cannot be flushed, again and again, and upkeep is late for all of them: the store is
    said to be away once and back once, each kind of upkeep to be late once, and nothing is lost."""
    caplog.set_level(logging.INFO)
    house = QuarantineWorld(flush_age_ms_max=100)
    logs = await house.open(background=True)
    partitions = [await logs.partition(home) for home in HOMES]
    for each in partitions:
        await fill(each, 2)
    house.faults = away
    for _ in range(6):
        house.clock.advance(20_000)
        await turns(200)
    for each in partitions:
        assert each.marks.flushed == 0
        assert await read_all(each) == numbered(0, 2)
    house.faults = lambda call: None
    for _ in range(6):
        house.clock.advance(20_000)
        await turns(200)
    assert all(each.marks.flushed == 2 for each in partitions)
    said = [each.message.split(":")[0] for each in caplog.records if "store_watch" in each.name]
    assert said == ["store away", "store back"]
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) <= 4
    await logs.close()


@in_loop
async def test_a_topic_deleted_meanwhile_does_not_keep_the_store_away(caplog: pytest.LogCaptureFixture) -> None:
    """A3, K6: of two partitions that wait for the store one is deleted; when the other is flushed the store is back,
    and nothing holds on to the one that is gone."""
    caplog.set_level(logging.INFO)
    house = QuarantineWorld(flush_age_ms_max=100)
    logs = await house.open(background=True)
    stays, goes = await logs.partition(HOMES[0]), await logs.partition(PartitionId(UUID(int=0xF), 0))
    for each in (stays, goes):
        await fill(each, 2)
    house.faults = away
    house.clock.advance(20_000)
    await turns(200)
    await logs.delete_topic(goes.home.topic_id)
    house.faults = lambda call: None
    house.clock.advance(20_000)
    await turns(200)
    assert stays.marks.flushed == 2
    assert [each.message.split(":")[0] for each in caplog.records if "store_watch" in each.name] == [
        "store away",
        "store back",
    ]
    gone = weakref.ref(goes)
    del each, goes
    house.clock.advance(3_600_000)
    await turns(400)
    gc.collect()
    assert gone() is None, "A deleted partition is still held."
    await logs.close()


@pytest.mark.parametrize("kind", ["list", "put_if_absent"])
@in_loop
async def test_a_failure_that_nobody_foresaw_is_told_and_work_goes_on(
    caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """A3, A4: a library below us raises something of its own; flushes and upkeep do not end with it."""
    house = QuarantineWorld(flush_age_ms_max=100, garbage_check_ms=1000)
    logs = await house.open(background=True)
    partition = await logs.partition(HOMES[0])
    asked: list[str] = []
    left = [kind] * 3

    def unforeseen(call: Call) -> Fault | None:
        asked.append(call.name)
        if call.kind in left:
            left.pop()
            raise RuntimeError("nobody foresaw this")
        return None

    house.faults = unforeseen
    await fill(partition, 2)
    for _ in range(20):
        house.clock.advance(20_000)
        await turns(200)
    assert "nobody foresaw this" in caplog.text
    assert partition.marks.flushed == 2
    asked.clear()
    await fill(partition, 2)
    house.clock.advance(20_000)
    await turns(400)
    assert any(name.startswith("garbage/") for name in asked), "Nobody looks for garbage any more."
    assert partition.marks.flushed == 4
    await logs.close()
