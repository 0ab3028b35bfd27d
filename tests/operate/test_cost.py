"""What many partitions cost: requests to the store at a start and while nothing happens. Times are in benchmarks."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.log.log_world import fill, in_loop
from tests.operate.directory import SETTINGS, append
from tests.operate.quarantine_world import QuarantineWorld

from holdfast.broker.running import BrokerEnvironment, Opened, opened
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import ObjectInfo, Objects
from holdfast.io.objects.counting import CountingObjects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.background.maintenance import Maintenance
from holdfast.types import PartitionId

PARTITIONS = 60


class Crowd:
    """A store that notices how many ask it at a time."""

    def __init__(self, inner: Objects) -> None:
        self.url = inner.url
        self._inner = inner
        self._lock = threading.Lock()
        self._now = 0
        self._together = threading.Event()
        self.most = 0

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now >= 4:
                self._together.set()
        self._together.wait(0.05 if self.most < 4 else 0)  # Give others the chance to come meanwhile.
        try:
            return self._inner.get(name, start, end)
        finally:
            with self._lock:
                self._now -= 1

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        return self._inner.list(prefix, after)

    def put_if_absent(self, name: str, data: Sequence[Any]) -> None:
        self._inner.put_if_absent(name, data)

    def put(self, name: str, data: Sequence[Any]) -> None:
        self._inner.put(name, data)

    def delete(self, name: str) -> None:
        self._inner.delete(name)

    def size(self, name: str) -> int:
        return self._inner.size(name)


@in_loop
async def test_a_start_asks_little_of_each_partition_and_many_at_a_time(tmp_path: Path) -> None:
    """O6: at most four requests for each partition, several of them at the same time."""
    bucket = MemoryBucket()
    store = MemoryObjects(bucket)

    async def start(objects: Objects, work: Any = None) -> None:
        around = BrokerEnvironment.real(RealDirectory(tmp_path / "wal"), objects)
        async with opened(around, SETTINGS) as broker:
            if work is not None:
                await work(broker)

    async def make(broker: Opened) -> None:
        made = await broker.context.topics.create("many", PARTITIONS, {})
        for number in range(PARTITIONS):
            await append(made.partition(number), number, 1, topic="many")

    await start(store, make)
    crowd = Crowd(store)
    counted = CountingObjects(crowd)
    await start(counted)
    internal = 12  # Partitions of internal topics, the metadata, the cluster's id.
    assert counted.counts.requests <= 4 * (PARTITIONS + internal)
    assert crowd.most >= 4


@in_loop
async def test_quiet_partitions_ask_nothing() -> None:
    """O6: once nothing is left over, upkeep of partitions that do not change sends no request for them."""
    house = QuarantineWorld()
    logs = await house.open()
    homes = [PartitionId(UUID(int=0xD), number) for number in range(20)]
    for home in homes:
        partition = await logs.partition(home)
        await fill(partition, 2)
        await partition.flush()
    asked: list[str] = []
    upkeep = Maintenance(logs._ground, logs._partitions)
    await upkeep.collect_garbage()
    house.faults = lambda call: asked.append(call.name)
    for work in (upkeep.apply_retention, upkeep.compact, upkeep.collect_garbage):
        await work()
    assert {name for name in asked if not name.startswith("garbage/")} == set()
    changed = await logs.partition(homes[3])
    await fill(changed, 1, start=2)
    await changed.flush()
    asked.clear()
    await upkeep.collect_garbage()
    assert {name for name in asked if not name.startswith("garbage/")} != set()
    assert all(homes[3].path in name for name in asked if not name.startswith("garbage/"))
    await logs.close()
