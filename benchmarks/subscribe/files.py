"""Set-up (b): 3 sources of 7 files of 300 events, and 2 ms for each file that is read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.subscribe.data import SOURCES, Check
from benchmarks.subscribe.place import a_broker, client, fill
from benchmarks.subscribe.sends import SEND_S, charge

from holdfast.io.objects import ObjectInfo, Objects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.subscribe.client.progress import LanePosition, Lanes
from holdfast.subscribe.client.segment_pieces import SegmentSource
from holdfast.subscribe.merge.gather import gather
from holdfast.subscribe.merge.merge import Merge, MergeState
from holdfast.subscribe.merge.piece import Range
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.packing import one_by_one
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.types import PartitionId

FILES, EVENTS_PER_FILE, READ_S = 7, 300, 0.002
EVENTS = len(SOURCES) * FILES * EVENTS_PER_FILE


class SlowReads:
    """Each read of a segment takes its time."""

    def __init__(self, inner: Objects) -> None:
        self.url = inner.url
        self._inner = inner
        self.reads = 0

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        if name.startswith("segments/"):
            self.reads += 1
            time.sleep(READ_S)
        return self._inner.get(name, start, end)

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        return self._inner.list(prefix, after)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Result:
    """Checks every event, and remembers when the first came."""

    def __init__(self) -> None:
        self.check = Check()
        self.started = time.perf_counter()
        self.first_s = 0.0

    def batch(self, batch: Any) -> None:
        self.first_s = self.first_s or time.perf_counter() - self.started
        self.check.batch(batch)


def _lanes(site: ServerContext) -> tuple[Lanes, list[Any]]:
    lanes, logs = Lanes(), []
    for name in SOURCES:
        opened = site.catalogue.find(name)
        assert opened is not None
        lanes.add(LanePosition("x", name, 0, opened.topic.topic_id, "x"))
        logs.append(opened.logs[0])
    return lanes, logs


def _merged(site: ServerContext, store: Any) -> tuple[Lanes, Any]:
    """All files read one after the other, then merged: no read overlaps with anything."""
    lanes, logs = _lanes(site)
    merge = Merge(0.0)
    merge.set_ranks(lanes.ranks())
    for number, log in enumerate(logs):
        merging = merge.add(number)
        home = PartitionId(lanes.rows[number].topic_id, 0)
        source = SegmentSource(store, home, Range(number, 0, log.manifest.flushed), lambda *_: None)
        order_time = -1
        for info in log.manifest.segments:
            for part in source.read(info):
                raised = source.decode([part]).raised(order_time)
                order_time = raised.after[number].order_time
                merge.push(merging, raised)
        merging.state = MergeState.ENDED
    taken = merge.take(0.0)
    assert taken is not None
    return lanes, gather(taken)


async def from_server(site: ServerContext, store: Any, result: Result, send_s: float = 0.0) -> None:
    """The server reads file by file, and sends event by event."""
    _, batches = _merged(site, store)
    for batch in batches:
        for data in one_by_one(batch):
            charge(send_s)
            event = wire.Message.FromString(data).event
            result.first_s = result.first_s or time.perf_counter() - result.started
            result.check.event(SOURCES[event.lane], event.offset, event.timestamp, event.value)


async def direct(site: ServerContext, store: Any, result: Result) -> None:
    """The client reads file by file."""
    lanes, batches = _merged(site, store)
    for batch in batches:
        result.batch(lanes.name(batch))


async def parallel(site: ServerContext, store: Any, result: Result) -> None:
    """The client as it is: references, several reads ahead for each source, the merge of what comes."""
    async for batch in client(site, store).batches():
        result.batch(batch.batch)


async def measure(directory: Any, rounds: int) -> list[dict[str, Any]]:
    """Events per second and the time to the first event, for each way."""
    ways = {
        "read.server": from_server,
        "read.server_sends": partial(from_server, send_s=SEND_S),
        "read.direct": direct,
        "read.parallel": parallel,
    }
    rows = []
    objects = MemoryObjects(MemoryBucket())
    async with a_broker(directory, objects) as (context, site):
        await fill(context, FILES * EVENTS_PER_FILE, EVENTS_PER_FILE, EVENTS_PER_FILE)
        for number in range(-1, rounds):  # The first round loads and compiles, and is not counted.
            for label, way in ways.items():
                store, result = SlowReads(objects), Result()
                await way(site, store, result)
                seconds = time.perf_counter() - result.started
                assert (result.check.count, store.reads) == (EVENTS, len(SOURCES) * FILES)
                if number >= 0:
                    row = {"round": number, "label": label, "size": 0, "entries": EVENTS}
                    rows.append({**row, "seconds": seconds, "first_s": result.first_s})
    return rows
