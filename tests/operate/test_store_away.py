"""A store that goes away and comes back: one line each, however many partitions wait for it."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest
from tests.log.world import fill, in_loop, numbered, read_all, turns
from tests.operate.house import House

from holdfast.io.faulty_objects import Call, FailBefore, Fault
from holdfast.segment.names import PartitionId

HOMES = [PartitionId(UUID(int=0xE), number) for number in range(30)]


def away(call: Call) -> Fault | None:
    return FailBefore()


@in_loop
async def test_a_store_that_is_away_is_one_line_and_so_is_its_return(caplog: pytest.LogCaptureFixture) -> None:
    """A3, O2: thirty partitions cannot be flushed, again and again, and upkeep is late for all of them: the store is
    said to be away once and back once, each kind of upkeep to be late once, and nothing is lost."""
    caplog.set_level(logging.INFO)
    house = House(flush_age_ms_max=100)
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
    said = [each.message.split(":")[0] for each in caplog.records if each.name.startswith("holdfast.log.store")]
    assert said == ["store away", "store back"]
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) <= 4
    await logs.close()
