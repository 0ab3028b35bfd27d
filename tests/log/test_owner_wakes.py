"""A process that was stopped wakes up: whichever of its timers is first, nothing is acknowledged before it looked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.log.log_world import HOME, LogWorld, batch, fill, in_loop, turns
from tests.log.test_takeover import beside

from holdfast.errors import Fenced
from holdfast.io.calls import InlineCalls


class Waking(InlineCalls):
    """The timer fires when the test says so, and a look at the owner takes until the test lets the store answer."""

    def __init__(self) -> None:
        self.timer = asyncio.Event()
        self.store = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        await self.timer.wait()
        self.timer.clear()

    async def run(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if getattr(call, "__name__", "") == "look":
            await self.store.wait()
        return await super().run(call, *args, **kwargs)


@in_loop
async def test_the_timer_is_first_and_acks_wait_until_it_has_looked() -> None:
    """D2: requests that had piled up while the process was stopped come while it looks, and get no answer before."""
    world = LogWorld()
    calls = Waking()
    logs = await world.open(calls=calls)
    partition = await logs.partition(HOME)
    logs.owner.start()
    await fill(partition, 1)
    await beside(world).open()
    world.clock.suspend(3600)
    calls.timer.set()
    await turns(20)
    sent = asyncio.ensure_future(partition.append(batch(b"1.")))
    await turns(50)
    assert not sent.done()
    calls.store.set()
    with pytest.raises(Fenced):
        await sent
    await logs.close()
