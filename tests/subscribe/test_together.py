"""What waits together goes together, a single event at once, and its work is the same for any number of lanes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.log.log_world import in_loop
from tests.subscribe.pieces import a_piece
from tests.subscribe.place import place_with, write

from holdfast.io.clock import SystemClock
from holdfast.subscribe import Source, Subscription, subscribe
from holdfast.subscribe.client.unpacking import batch_piece
from holdfast.subscribe.merge.merge import Merge, MergeState
from holdfast.subscribe.server.stream import ServerStream
from holdfast.subscribe.wire.request import SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire


class SlowClient:
    """Takes one message whenever the test lets it."""

    def __init__(self) -> None:
        self.got: list[wire.Message] = []
        self._turns = asyncio.Semaphore(0)
        self._came = asyncio.Event()

    async def write(self, message: bytes) -> None:
        await self._turns.acquire()
        self.got.append(wire.Message.FromString(message))
        self._came.set()

    async def take(self, kind: str) -> wire.Message:
        """The next message of a kind."""
        while True:
            while not self.got:
                self._came.clear()
                self._turns.release()
                async with asyncio.timeout(30):
                    await self._came.wait()
            message = self.got.pop(0)
            if message.WhichOneof("kind") == kind:
                return message


def count_of(message: wire.Message) -> int:
    return len(batch_piece(message.batch, np.zeros(1, np.int32)))


@in_loop
@pytest.mark.parametrize("batches", [True, False])
async def test_what_comes_while_a_message_is_sent_goes_together(tmp_path: Path, batches: bool) -> None:
    """S3: an event that comes alone goes alone, and at once; what comes while it is being sent is one message, for a
    client that takes batches; for another one each goes alone."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        client = SlowClient()
        stream = ServerStream(place.site, SubscribeRequest(sources=(Source("t"),), batches=batches), client.write)
        running = asyncio.ensure_future(stream.run())
        await client.take("live")
        now_ms = SystemClock().now_ms()
        await write(log, [now_ms])
        sent = await client.take("event")
        assert sent.event.offset == 0
        await write(log, [now_ms])  # It is on its way when the others come.
        async with asyncio.timeout(30):
            while stream._sender.queued == 0:
                await asyncio.sleep(0)
        for number in range(100):
            await write(log, [now_ms + number])
        assert (await client.take("event")).event.offset == 1
        if batches:
            counts = []
            while sum(counts) < 100:
                counts.append(count_of(await client.take("batch")))
            assert len(counts) <= 3, counts  # What the lane had read ahead, and the rest.
        else:
            assert [(await client.take("event")).event.offset for _ in range(100)] == list(range(2, 102))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@in_loop
async def test_followers_share_what_is_decoded(tmp_path: Path) -> None:
    """S1, S4: what was decoded for one serves the others, also those that number their lanes otherwise; each gets
    every event once, with its own filter."""
    async with place_with(tmp_path) as place:
        logs = {name: (await place.topic(name))[0] for name in ("a", "b")}
        asked = [("b",), ("a", "b"), ("b", "a")]
        following = [subscribe(place.address, sources) for sources in asked]
        following.append(subscribe(place.address, "b", filter="/none"))

        async def events(subscription: Subscription, count: int) -> list[tuple[str, int]]:
            found: list[tuple[str, int]] = []
            async with asyncio.timeout(60):
                async for event in subscription:
                    found.append((event.topic, event.offset))
                    if len(found) == count:
                        break
            return found

        tasks = [
            asyncio.ensure_future(events(each, 40 * len(names))) for each, names in zip(following, asked, strict=False)
        ]
        silent = asyncio.ensure_future(events(following[3], 1))
        async with asyncio.timeout(60):
            while not all(each.stats.live for each in following):
                await asyncio.sleep(0.01)
        for _ in range(40):
            for log in logs.values():
                await write(log, [SystemClock().now_ms()])
        await write(logs["b"], [SystemClock().now_ms()], "/none")
        for names, task in zip(asked, tasks, strict=True):
            found = await task
            assert sorted(found) == sorted((name, offset) for name in names for offset in range(40))
        assert await silent == [("b", 40)]
        assert place.site.pieces.shared > 0


def calls_of(lanes: int) -> int:
    """Python calls for fifty events in a merge of so many lanes, most of them idle."""
    merge = Merge(0.0)
    merge.set_ranks(np.arange(lanes, dtype=np.int32))
    for number in range(lanes):
        merge.add(number, 1)
    for lane in merge.lanes:
        lane.state = MergeState.IDLE
    found = 0

    def note(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        for number in range(50):
            lane = merge.lanes[number * 7 % lanes]
            lane.state = MergeState.BUSY
            merge.push(lane, a_piece(lane.number, [number + 10]))
            lane.state = MergeState.IDLE
            assert merge.take(number) is not None
            assert merge.next_wake(number) is None
            assert merge.is_settled()
    finally:
        sys.setprofile(None)
    return found


def test_the_work_for_an_event_does_not_grow_with_lanes() -> None:
    """S1: a merge of five thousand partitions does for an event what one of ten does, give or take a heap's depth."""
    assert calls_of(5_000) < 1.5 * calls_of(10)
