"""The opening of a stream with many partitions: looked up side by side, with signs of life meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import grpc.aio
from tests.log.log_world import in_loop
from tests.subscribe.place import OLD_MS, a_place, all_of, write

from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.subscribe.client.connection import METHOD, messages
from holdfast.subscribe.wire.request import Source, Start, SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

PARTITIONS = 12
AT_ONCE = 4


class Slow(MemoryObjects):
    """A store whose answers come only when several are asked for at once, or when the gate is open."""

    def __init__(self) -> None:
        super().__init__(MemoryBucket())
        self.gate = threading.Event()
        self.gate.set()
        self.lock = threading.Lock()
        self.asked = self.asked_max = 0

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with self.lock:
            self.asked += 1
            self.asked_max = max(self.asked_max, self.asked)
        try:
            if name.startswith("segments/"):
                assert self.gate.wait(60)
            return super().get(name, start, end)
        finally:
            with self.lock:
                self.asked -= 1


async def raw_messages(address: str, asked: SubscribeRequest) -> AsyncIterator[wire.Message]:
    """Everything that comes, also before Opened."""
    async with grpc.aio.insecure_channel(address) as channel:
        method = channel.unary_stream(
            METHOD, request_serializer=wire.Request.SerializeToString, response_deserializer=wire.Message.FromString
        )
        async for message in method(asked.to_message()):
            yield message


@in_loop
async def test_partitions_are_looked_up_side_by_side_with_signs_of_life(tmp_path: Path) -> None:
    """S1, S4: `since` with many partitions and a slow store: several look-ups at once, and the client hears of it."""
    store = Slow()
    async with a_place(tmp_path, store, heartbeat_ms=100) as place:
        logs = await place.topic("t", PARTITIONS)
        for number, log in enumerate(logs):
            await write(log, [OLD_MS + number, OLD_MS + 100 + number])
            await log.flush()
        store.asked_max = 0
        store.gate.clear()
        asked = SubscribeRequest(sources=(Source("t"),), start=Start(OLD_MS + 50), until_now=True)
        kinds = []
        async with asyncio.timeout(60):
            async for message in raw_messages(place.address, asked):
                kinds.append(message.WhichOneof("kind"))
                assert not message.marker.positions or "opened" in kinds
                if store.asked_max >= AT_ONCE and kinds.count("marker") >= 2:
                    store.gate.set()
        assert kinds[0] == "marker"
        assert kinds.count("event") == PARTITIONS
        clean = [each.WhichOneof("kind") async for each in messages(place.address, asked)]
        assert (clean[0], clean.count("opened")) == ("opened", 1)
        events = await all_of(place, "t", since=OLD_MS + 50, segment_refs=False)
        assert [event.timestamp - OLD_MS for event in events] == [100 + number for number in range(PARTITIONS)]
