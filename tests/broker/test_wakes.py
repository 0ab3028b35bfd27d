"""A broker that is stopped between a decision and its answer: it looks whether it is the owner before it speaks."""

from __future__ import annotations

import asyncio
import copy
import socket
from collections.abc import Sequence

import pytest
from tests.broker.wire import NOW_MS, Closed, Wire, batch, produce

from holdfast.broker.broker import Broker
from holdfast.broker.net.listener import OpenListener
from holdfast.broker.net.request import Done, Request
from holdfast.broker.running import AllSettings, BrokerEnvironment, answering, follow, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.settings import LogSettings
from holdfast.protocol.api import Key
from holdfast.types import Buffer
from holdfast.wal import WalSettings

SETTINGS = AllSettings(broker=BrokerSettings(), log=LogSettings(), wal=WalSettings())


class NoTimers(InlineCalls):
    """Nothing happens by itself."""

    async def pause(self, seconds: float) -> None:
        await asyncio.Event().wait()


class Stopped:
    """A broker whose machine sleeps for an hour as soon as it has decided what to answer to a produce request."""

    def __init__(self, broker: Broker, clock: ManualClock, *, at_once: bool) -> None:
        self._broker = broker
        self._clock = clock
        self._at_once = at_once

    def start_produce(self, request: Request, done: Done) -> bool:
        def decided(answer: Sequence[Buffer]) -> None:
            done(answer)
            self._clock.suspend(3600)

        return self._at_once and self._broker.start_produce(request, decided)

    async def handle(self, request: Request) -> Sequence[Buffer]:
        answer = await self._broker.handle(request)
        if request.header.api_key == Key.PRODUCE:
            self._clock.suspend(3600)
        return answer


@pytest.mark.parametrize("is_taken", [True, False])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_was_decided_before_a_stop_is_not_said_after_another_took_over(*, is_taken: bool, at_once: bool) -> None:
    """D2: durable it is, and the client hears nothing; without another owner it hears of it when that was looked up."""
    clock = ManualClock(NOW_MS)
    objects = MemoryObjects(MemoryBucket(), clock=clock)

    def around(disk: SimulatedDisk, seed: int) -> BrokerEnvironment:
        parts = {"clock": clock, "chance": SeededChance(seed), "calls": NoTimers(), "threaded": False}
        return BrokerEnvironment(wal_directory=disk, objects=objects, **parts)  # type: ignore[arg-type]

    def send(port: int) -> int | None:
        with Wire(port) as wire:
            try:
                return int(produce(wire, "t", batch(b"x")).error_code)
            except Closed:
                return None

    async def play() -> int | None:
        disk = SimulatedDisk(SeededChance(1))
        bound = socket.create_server(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        async with opened(around(disk, 1), SETTINGS) as sleeper:
            sleeper.context.logs.owner.start()
            await sleeper.context.topics.create("t", 1, {})
            work = Stopped(sleeper.broker, clock, at_once=at_once)
            async with answering(work, SETTINGS.broker, [OpenListener.plain(bound)], clock) as server:
                follow(server, sleeper)
                if not is_taken:
                    return await asyncio.to_thread(send, port)
                twin = copy.deepcopy(disk)
                twin.kill()
                async with opened(around(twin, 2), SETTINGS):
                    return await asyncio.to_thread(send, port)

    assert asyncio.run(play()) == (None if is_taken else 0)
