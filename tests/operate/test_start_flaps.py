"""A store that answers at the beginning of a start, and goes away in the middle of it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.log.log_world import batch, read_all

from holdfast.broker.net.listener import OpenListener
from holdfast.broker.running import AllSettings, BrokerEnvironment
from holdfast.broker.settings import BrokerSettings
from holdfast.cli.serve import start
from holdfast.cli.serve.start import StartPlace, started
from holdfast.io.address import Address, bind
from holdfast.io.disk import RealDirectory
from holdfast.io.objects.faulty import Call, FailBefore, FaultyObjects, Plan
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.log.settings import LogSettings
from holdfast.wal import WalSettings

SETTINGS = AllSettings(
    broker=BrokerSettings(offsets_topic_num_partitions=1, transaction_state_log_num_partitions=1),
    log=LogSettings(),
    wal=WalSettings(),
)


async def life(folder: Path, plan: Plan) -> list[tuple[int, bytes]]:
    """Start, append one record to a topic, which is made, and stop; all of its records."""
    around = BrokerEnvironment.real(
        RealDirectory(folder / "data" / "wal"), FaultyObjects(LocalObjects(folder / "store"), plan)
    )
    bound = bind(Address("127.0.0.1", 0))
    async with AsyncExitStack() as stack:
        stack.callback(around.calls.close)
        broker, _ = await started(
            stack, around, SETTINGS, folder / "data", StartPlace([OpenListener.plain(bound)], None)
        )
        await broker.context.transactions.initialize("t", 60_000)  # From now on a start reads an internal topic.
        topics = broker.context.topics
        topic = topics.find("orders") or await topics.create("orders", 1, {})
        await topic.partition(0).append(batch(b"one"))
        return await read_all(topic.partition(0))


@pytest.mark.parametrize("prefix", ["meta/", "segments/"])
def test_a_store_that_goes_away_in_the_middle_of_a_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    """D4: the log was taken already, and is read again; the next attempt is as good as the first. From time to time a
    line says what is waited for. So also where internal topics are read."""
    monkeypatch.setattr(start, "_SAY_S", 0.05)
    failing = iter([True] * 2)

    def plan(call: Call) -> FailBefore | None:
        return FailBefore() if call.name.startswith(prefix) and next(failing, False) else None

    asyncio.run(life(tmp_path, lambda call: None))
    caplog.set_level(logging.INFO)
    assert asyncio.run(asyncio.wait_for(life(tmp_path, plan), 60)) == [(0, b"one"), (1, b"one")]
    assert any("store back" in each.message for each in caplog.records)
    assert any("store still away after" in each.message and prefix in each.message for each in caplog.records)
