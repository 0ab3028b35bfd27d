"""Partitions with events in them, inside the process that measures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from benchmarks.subscribe.data import SOURCES, batch_of

from holdfast.broker.context import BrokerContext
from holdfast.broker.running import AllSettings, BrokerEnvironment, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.io.calls import ThreadCalls
from holdfast.io.chance import SystemChance
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Objects
from holdfast.log.settings import LogSettings
from holdfast.subscribe.client.session import Means
from holdfast.subscribe.client.subscription import READ_AHEAD_SIZE, READS_MAX, Subscription
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.stream import ServerStream
from holdfast.subscribe.settings import SubscribeSettings
from holdfast.subscribe.wire.request import Source, Start, SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.wal import WalSettings


@asynccontextmanager
async def a_broker(data: Path, objects: Objects) -> AsyncIterator[tuple[BrokerContext, ServerContext]]:
    """A broker without its sockets."""
    around = BrokerEnvironment.real(RealDirectory(data / "wal"), objects)
    everything = AllSettings(broker=BrokerSettings(log_retention_ms=-1), log=LogSettings(), wal=WalSettings())
    async with opened(around, everything) as broker:
        context = broker.context
        yield (
            context,
            ServerContext(
                context.topics,
                context.cluster_id,
                objects.url,
                around.calls,
                around.clock,
                SubscribeSettings(listen="none"),
            ),
        )


async def fill(context: BrokerContext, per_source: int, batch_count: int, flush_every: int = 0) -> None:
    """Topics a, b and c, each with so many events; flushed as the broker would, or every so many events."""
    for source, name in enumerate(SOURCES):
        topic = await context.topics.create(name, 1, {"retention.ms": "-1"})
        log = topic.partition(0)
        for first in range(0, per_source, batch_count):
            await log.append(batch_of(source, first, min(batch_count, per_source - first)))
            if flush_every and (first + batch_count) % flush_every == 0:
                await log.flush()
        await log.flush()


async def direct(site: ServerContext, asked: SubscribeRequest) -> AsyncGenerator[wire.Message, None]:
    """A stream without a network between its ends; messages are bytes all the same."""
    queue: asyncio.Queue[bytes] = asyncio.Queue(64)
    server = asyncio.ensure_future(
        ServerStream(site, SubscribeRequest.from_message(asked.to_message()), queue.put).run()
    )
    try:
        while True:
            message = wire.Message.FromString(await queue.get())
            yield message
            if message.HasField("ended"):
                return
    finally:
        server.cancel()
        with suppress(asyncio.CancelledError):
            await server


def client(site: ServerContext, objects: Objects) -> Subscription:
    """The client as it is: references to all events, several reads ahead for each source, the merge of what comes."""
    means = Means(
        addresses={"": ""},
        objects={"": objects},
        calls=ThreadCalls(READS_MAX),
        clock=site.clock,
        max_wait_ms=5,
        read_ahead_size=READ_AHEAD_SIZE,
        connect=lambda _, wanted: direct(site, wanted),
    )
    sources = tuple(map(Source, SOURCES))
    asked = SubscribeRequest(sources=sources, start=Start(0), until_now=True, batches=True, segment_refs=True)
    return Subscription(means, asked, SystemChance(), owns_calls=True)
