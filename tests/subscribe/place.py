"""A broker and its subscription service inside the test's own event loop, on a store that the test holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.broker.context import BrokerContext
from holdfast.broker.running import AllSettings, BrokerEnvironment, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.io.calls import BlockingCalls
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Objects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import LogSettings
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.subscribe import NOW, Event, subscribe
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.service import serving
from holdfast.subscribe.settings import SubscribeSettings
from holdfast.wal import WalSettings

OLD_MS = 1_700_000_000_000


@dataclass
class Place:
    """What a test works with."""

    context: BrokerContext
    site: ServerContext
    objects: Objects
    address: str

    async def topic(self, name: str, partitions: int = 1, **configs: str) -> list[PartitionLog]:
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        made = await self.context.topics.create(name, partitions, dotted)
        return [made.partition(number) for number in range(partitions)]


@asynccontextmanager
async def a_place(
    data: Path, objects: Objects, calls: BlockingCalls | None = None, log: LogSettings | None = None, **settings: Any
) -> AsyncIterator[Place]:
    """Everything real but the Kafka port, which these tests do not need."""
    around = BrokerEnvironment.real(RealDirectory(data / "wal"), objects)
    around = around if calls is None else replace(around, calls=calls)
    everything = AllSettings(
        broker=BrokerSettings(offsets_topic_num_partitions=1), log=log or LogSettings(), wal=WalSettings()
    )
    async with opened(around, everything) as broker:
        context = broker.context
        chosen = SubscribeSettings(listen="127.0.0.1:0", **settings)
        site = ServerContext(context.topics, context.cluster_id, objects.url, around.calls, around.clock, chosen)
        async with serving(site, "127.0.0.1:0") as port:
            yield Place(context, site, objects, f"127.0.0.1:{port}")


MODES = [{"segment_refs": refs, "batches": batches} for refs in (False, True) for batches in (False, True)]


@asynccontextmanager
async def place_with(tmp_path: Path, **settings: Any) -> AsyncIterator[Place]:
    """A place on a store in memory."""
    async with a_place(tmp_path, MemoryObjects(MemoryBucket()), **settings) as place:
        yield place


async def all_of(place: Place, sources: Any, **options: Any) -> list[Event]:
    """Everything that is there now."""
    options = {"since": 0, "until": NOW, "objects": place.objects, **options}
    return [event async for event in subscribe(place.address, sources, **options)]


async def write(log: PartitionLog, timestamps: Sequence[int], key: str = "/k", first: int = 0) -> None:
    """One batch with a record for each time."""
    records = [Record(key.encode(), f"v{first + number}".encode(), time) for number, time in enumerate(timestamps)]
    await log.append(build(records))
