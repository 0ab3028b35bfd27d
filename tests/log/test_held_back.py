"""Producers that are held back: by whom and why is in the log and in the figures, and so is its end."""

from __future__ import annotations

import asyncio
import logging

import pytest
from tests.log.log_world import HOME, LogWorld, batch, fill, in_loop, turns, value

from holdfast.io.objects.faulty import FailBefore
from holdfast.log.logs import Logs
from holdfast.wal import WalSettings

SMALL = WalSettings(chunk_size_max=4096, zero_ahead_size=512)


async def seconds_pass(world: LogWorld, logs: Logs, seconds: int) -> None:
    for _ in range(seconds):
        world.clock.advance(1)
        logs._flusher.tick()
        await turns(50)


def test_who_holds_producers_back_and_why_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """D4: one warning at once with the partition and what its flush has met, again now and then, and one when it is
    over; how long it was is counted. The test of D4."""
    caplog.set_level(logging.WARNING, "holdfast.log")

    def said(words: str) -> list[str]:
        return [each.getMessage() for each in caplog.records if words in each.getMessage()]

    @in_loop
    async def run() -> None:
        world = LogWorld(wal=SMALL, wal_size_max=40_000)
        logs = await world.open()
        partition = await logs.partition(HOME)
        world.faults = lambda call: FailBefore() if call.kind == "put_if_absent" else None
        await fill(partition, 20, 1000)
        logs._flusher.tick()
        await turns(400)
        number = 20
        while logs.has_room:
            await partition.append(batch(value(number, 1000)))
            number += 1
        waiting = asyncio.ensure_future(partition.append(batch(b"held back")))
        await turns()
        [line] = said("held back")
        assert HOME.path in line
        assert "put_if_absent" in line or "the store failed" in line
        await seconds_pass(world, logs, 35)
        assert len(said("producers are held back")) == 4
        assert logs.stat().held_back == "wal"
        assert logs.stat().held_back_seconds == {"wal": 35, "queue": 0, "memory": 0}
        world.faults = lambda call: None
        await seconds_pass(world, logs, 15)
        assert waiting.done()
        [over] = said("producers go on")
        assert logs.stat().held_back is None
        held = logs.stat().held_back_seconds["wal"]
        assert 35 <= held <= 50
        assert f"{held:.1f} s" in over
        await logs.close()

    run()


def test_many_short_waits_are_one_story(caplog: pytest.LogCaptureFixture) -> None:
    """D4: at the limit producers wait for a moment again and again: that fills no log."""
    caplog.set_level(logging.WARNING, "holdfast.log")

    @in_loop
    async def run() -> None:
        world = LogWorld(wal=SMALL, wal_size_max=20_000)
        logs = await world.open(background=True)
        partition = await logs.partition(HOME)
        for number in range(300):
            world.clock.advance(0.01)
            await partition.append(batch(value(number, 1000)))
        await logs.close()

    run()
    assert len([each for each in caplog.records if "held back" in each.getMessage()]) <= 3
