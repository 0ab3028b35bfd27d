"""Set-up (a): a backlog of 2,100 events, and 50 µs for each send: one by one, against pipelined and packed."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np
from benchmarks.subscribe.data import SOURCES, Check
from benchmarks.subscribe.place import a_broker, fill

from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.record.batch import split
from holdfast.record.records import read_records
from holdfast.subscribe.client.unpacking import batch_piece
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.stream import ServerStream
from holdfast.subscribe.wire.request import Source, Start, SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

EVENTS = 2_100
SEND_S = 50e-6


def charge(seconds: float) -> None:
    """Takes this long, and the core with it: sleeping is not exact enough for microseconds."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Client:
    """Takes messages, each at its price, and checks every event."""

    def __init__(self) -> None:
        self.check = Check(1)
        self.first_s = 0.0
        self.started = time.perf_counter()

    async def take(self, data: bytes) -> None:
        charge(SEND_S)
        message = wire.Message.FromString(data)
        if message.HasField("event"):
            event = message.event
            self.check.event(SOURCES[0], event.offset, event.timestamp, event.value)
        elif message.HasField("batch"):
            piece = batch_piece(message.batch, np.zeros(1, np.int32))
            values = piece.columns.value
            assert values is not None
            for row in range(len(piece)):
                offset, timestamp = int(piece.columns.offset[row]), int(piece.columns.timestamp[row])
                self.check.event(SOURCES[0], offset, timestamp, values[row])
        else:
            return
        self.first_s = self.first_s or time.perf_counter() - self.started


async def plain(site: ServerContext, client: Client) -> None:
    """Read, then send each event and wait for it, before the next is looked at."""
    opened = site.catalogue.find(SOURCES[0])
    assert opened is not None
    log: Any = opened.logs[0]
    offset = 0
    while offset < log.last_stable:
        read = await log.read(offset, committed=True)
        for batch in (each for buffer in read.buffers for _, each in split(buffer)):
            for record in read_records(batch):
                event = wire.Event(offset=record.offset, timestamp=record.timestamp, key=record.key, value=record.value)
                await client.take(wire.Message(event=event).SerializeToString())
        offset = read.next_offset


async def piped(site: ServerContext, client: Client, *, batches: bool) -> None:
    """The server's pipeline, as it is."""
    asked = SubscribeRequest(sources=(Source(SOURCES[0]),), start=Start(0), until_now=True, batches=batches)
    await ServerStream(site, asked, client.take).run()


async def measure(directory: Any, rounds: int) -> list[dict[str, Any]]:
    """Events per second and the time to the first event, for each way."""
    ways: dict[str, Any] = {
        "send.plain": plain,
        "send.piped": lambda site, client: piped(site, client, batches=False),
        "send.packed": lambda site, client: piped(site, client, batches=True),
    }
    rows = []
    async with a_broker(directory, MemoryObjects(MemoryBucket())) as (context, site):
        await fill(context, EVENTS, 300)
        for number in range(-1, rounds):  # The first round loads and compiles, and is not counted.
            for label, way in ways.items():
                client = Client()
                await way(site, client)
                seconds = time.perf_counter() - client.started
                assert client.check.count == EVENTS
                if number >= 0:
                    row = {"round": number, "label": label, "size": 0, "entries": EVENTS}
                    rows.append({**row, "seconds": seconds, "first_s": client.first_s})
                await asyncio.sleep(0)
    return rows
