"""K10: subscriptions that nobody reads share one memory, and whoever reads gets everything beside them."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.log.log_world import in_loop
from tests.subscribe.place import OLD_MS, place_with

from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.subscribe import subscribe
from holdfast.subscribe.server.stream import ServerStream
from holdfast.subscribe.wire.request import Source, Start, SubscribeRequest

MIB = 1 << 20
COUNT, RECORDS = 12, 200
RECORD_SIZE = 100_000


@in_loop
async def test_unread_subscriptions_share_one_memory(tmp_path: Path) -> None:
    """K10: each could have 20 MB; together they have the limit and the one piece and message that each needs."""
    async with place_with(tmp_path, memory_size_max=8 * MIB) as place:
        [log] = await place.topic("t")
        for number in range(RECORDS):
            await log.append(bytearray(build([Record(b"/k", bytes(RECORD_SIZE), OLD_MS + number)])))
        most = 0
        async with AsyncExitStack() as stack:
            for _ in range(COUNT):
                unread = await stack.enter_async_context(
                    subscribe(place.address, "t", since=0, objects=place.objects, segment_refs=False, read_ahead_size=1)
                )
                batches = unread.batches()
                stack.push_async_callback(batches.aclose)
                await anext(batches)  # And never again.
            for _ in range(100):
                most = max(most, place.site.memory.size)
                await asyncio.sleep(0.005)
            assert 0 < most <= 8 * MIB + COUNT * MIB, most / MIB
            async with subscribe(
                place.address, "t", since=0, until="now", objects=place.objects, segment_refs=False
            ) as reader:
                assert sum([len(batch) async for batch in reader.batches()]) == RECORDS
        async with asyncio.timeout(20):
            while place.site.memory.size:  # The server hears of those who have left.
                await asyncio.sleep(0.01)


@in_loop
async def test_a_subscription_that_is_cancelled_twice_keeps_no_memory(tmp_path: Path) -> None:
    """K10: gRPC cancels again while the stream ends, if its client's connection goes just then."""
    async with place_with(tmp_path) as place:
        [log] = await place.topic("t")
        for number in range(20):
            await log.append(bytearray(build([Record(b"/k", bytes(RECORD_SIZE), OLD_MS + number)])))
        ending, ended = asyncio.Event(), asyncio.Event()

        async def write(_message: bytes) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ending.set()
                await ended.wait()

        request = SubscribeRequest(sources=(Source("t"),), start=Start(since_ms=0), segment_refs=False)
        stream = asyncio.create_task(ServerStream(place.site, request, write).run())
        async with asyncio.timeout(20):
            while place.site.memory.size < 10 * RECORD_SIZE:
                await asyncio.sleep(0.01)
            stream.cancel()
            await ending.wait()
            stream.cancel()
            await asyncio.wait([stream])
            assert place.site.memory.size == 0
            ended.set()
            await asyncio.sleep(0.01)
        assert place.site.memory.size == 0


def is_closed(link: socket.socket) -> bool:
    """Whether the other side has ended it."""
    try:
        while link.recv(4096):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@in_loop
async def test_connections_that_do_not_subscribe(tmp_path: Path) -> None:
    """K10: there are so many at most. Others are closed at once, who subscribes already is served on, and when some
    leave there is room again."""
    async with place_with(tmp_path, connections_max=10) as place:
        [log] = await place.topic("t")
        options: Any = {"since": 0, "objects": place.objects, "segment_refs": False}
        async with subscribe(place.address, "t", **options) as reader:
            events = aiter(reader)
            await log.append(bytearray(build([Record(b"/k", b"before", OLD_MS)])))
            assert (await anext(events)).value == b"before"
            host, _, port = place.address.rpartition(":")
            links = [socket.create_connection((host, int(port))) for _ in range(50)]
            try:
                for link in links:
                    link.setblocking(False)
                async with asyncio.timeout(20):
                    while sum(map(is_closed, links)) < 41:
                        await asyncio.sleep(0.01)
                assert sum(map(is_closed, links)) == 41
                await log.append(bytearray(build([Record(b"/k", b"beside them", OLD_MS)])))
                assert (await anext(events)).value == b"beside them"
            finally:
                for link in links:
                    link.close()
        async with subscribe(place.address, "t", until="now", **options) as later:
            assert [event.value async for event in later] == [b"before", b"beside them"]
