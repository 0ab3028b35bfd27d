"""A cluster made inside the test, stopped again, and left as files or objects for pipelines to run over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.broker.running import AllSettings, BrokerEnvironment, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.topics import Topics
from holdfast.io.disk import RealDirectory
from holdfast.io.objects.open import open_objects
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import LogSettings
from holdfast.record.build import build
from holdfast.record.marker import Marker, MarkerKind
from holdfast.record.records import Record
from holdfast.wal import WalSettings

T0 = 1_700_000_000_000
Work = Callable[[Topics], Awaitable[None]]


@dataclass
class Stored:
    """One cluster. `data` is its data directory; its objects are there, or at `url`."""

    data: Path
    url: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    segment_size_max: int = 64 << 20

    @property
    def path(self) -> str:
        return self.url or str(self.data)

    @property
    def objects(self) -> Any:
        return open_objects(self.url or str(self.data / "objects"), self.options or None)

    def run(self, work: Work) -> None:
        """Open the cluster, do something, close it cleanly."""
        (self.data / "wal").mkdir(parents=True, exist_ok=True)
        asyncio.run(self._run(work))

    async def _run(self, work: Work) -> None:
        around = BrokerEnvironment.real(RealDirectory(self.data / "wal"), self.objects)
        settings = AllSettings(
            broker=BrokerSettings(offsets_topic_num_partitions=1),
            log=LogSettings(segment_size_max=self.segment_size_max),
            wal=WalSettings(),
        )
        async with opened(around, settings) as broker:
            await work(broker.context.topics)


def records(start: int, count: int, *, time: Callable[[int], int] = lambda n: T0 + n) -> list[Record]:
    """Record n has a key, a value and a header of its own, and its own time; each eleventh has no value."""
    return [
        Record(b"k%d" % n, None if n % 11 == 10 else b"value %d" % n, time(n), (("n", b"%d" % n),))
        for n in range(start, start + count)
    ]


async def fill(log: PartitionLog, batches: Sequence[Sequence[Record]], *, flush_every: int = 0, codec: int = 0) -> None:
    """Append batches; flush after every so many, and at the end."""
    for number, batch in enumerate(batches, 1):
        await log.append(build(batch, codec=codec))
        if flush_every and number % flush_every == 0:
            await log.flush()
    await log.flush()


async def transaction(log: PartitionLog, producer_id: int, batch: Sequence[Record], kind: MarkerKind | None) -> None:
    """One transaction, ended by a marker, or left open."""
    body = build(batch, transactional=True, producer_id=producer_id, producer_epoch=0, base_sequence=0)
    await log.append(body)
    if kind is not None:
        placed = log.append_marker(Marker(kind, producer_id, 0, 0, T0))
        await log.acknowledged(placed.end_offset)
