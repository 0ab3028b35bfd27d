"""One broker's disk, clock and store for tests, with faults on demand: the same seed gives the same run."""

from __future__ import annotations

import asyncio
import functools
import gc
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from uuid import UUID

from holdfast.io.calls import BlockingCalls, InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import PowerCut, SimulatedDisk
from holdfast.io.objects.faulty import Call, Fault, FaultyObjects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import LogSettings, PartitionSettings
from holdfast.record.batch import BatchHeader, split
from holdfast.record.build import build
from holdfast.record.marker import Marker, MarkerKind
from holdfast.record.records import Record, read_records
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import PartitionId
from holdfast.wal import WalSettings

HOME = PartitionId(UUID(int=0xA), 0)
OTHER = PartitionId(UUID(int=0xB), 3)
MEMORY = PartitionSettings(durability="memory")
NOW = 1_700_000_000_000  # Where the clock of a world begins.


class LogWorld:
    """What is there before and after a process: a disk, a bucket, the time."""

    def __init__(self, seed: int = 1, *, wal: WalSettings | None = None, **settings: Any) -> None:
        self.seed = seed
        self.clock = ManualClock(NOW)
        self.disk = SimulatedDisk(SeededChance(seed))
        self.chance = SeededChance(seed)
        self.bucket = MemoryBucket()
        self.objects = MemoryObjects(self.bucket, clock=self.clock)
        self.faults: Callable[[Call], Fault | None] = lambda call: None
        self.store = FaultyObjects(self.objects, lambda call: self.faults(call))
        self.wal = wal or WalSettings(chunk_size_max=4096, zero_ahead_size=512)
        self.settings = {"wal_size_max": 1 << 20, **settings}

    async def open(self, *, calls: BlockingCalls | None = None, background: bool = False, **settings: Any) -> Logs:
        """Start the process: recovery, without any thread."""
        return await Logs.open(
            self.disk,
            self.store,
            LogSettings(**{**self.settings, **settings}),
            wal_settings=self.wal,
            clock=self.clock,
            chance=SeededChance(self.seed * 1_000_003 + self.disk.calls),  # Another from open to open.
            calls=calls or InlineCalls(),
            threaded=False,
            background=background,
        )

    async def reopen(self, *, power_cut: bool = False, **options: Any) -> Logs:
        """The process is gone, by kill or by power cut, and starts again."""
        if power_cut:
            self.disk.power_cut()
        else:
            self.disk.kill()
        return await self.open(**options)

    def manifest(self, home: PartitionId = HOME) -> Manifest:
        """The newest manifest in the store."""
        return load_manifest(self.objects, home)

    def names(self, prefix: str = "") -> list[str]:
        return [each.name for each in self.objects.list(prefix)]


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in a loop of its own. What nobody listened to, such as a lost exception, fails it."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        complaints: list[dict[str, Any]] = []

        def complain(context: dict[str, Any]) -> None:
            if not isinstance(context.get("exception"), PowerCut):  # A process that is gone may say that it is.
                complaints.append(context)

        async def watched() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complain(context))
            await test(*args, **kwargs)

        asyncio.run(watched())
        gc.collect()
        assert not complaints, complaints

    return run


async def turns(count: int = 20) -> None:
    """Let everybody who can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)


def batch(*values: bytes, timestamp: int = NOW, **options: Any) -> bytearray:
    """A batch of these values, one millisecond apart."""
    records = [Record(None, value, timestamp + number) for number, value in enumerate(values)]
    return build(records, **options)


def from_producer(
    sequence: int, *values: bytes, number: int = 7, epoch: int = 0, transactional: bool = False
) -> bytearray:
    """A batch of an idempotent producer."""
    return batch(*values, producer_id=number, producer_epoch=epoch, base_sequence=sequence, transactional=transactional)


def marker(number: int = 7, epoch: int = 0, *, abort: bool = False, coordinator: int = 0) -> Marker:
    """The end of a transaction."""
    kind = MarkerKind.ABORT if abort else MarkerKind.COMMIT
    return Marker(kind, number, epoch, coordinator, NOW)


async def fill(partition: PartitionLog, count: int, size: int = 0, start: int = 0) -> None:
    """Append batches of one record, whose values tell their number."""
    for number in range(start, start + count):
        await partition.append(batch(value(number, size)))


def value(number: int, size: int = 0) -> bytes:
    return (b"%d." % number).ljust(size, b".")


def headers(buffers: Iterable[memoryview]) -> list[BatchHeader]:
    return [header for buffer in buffers for header, _ in split(buffer)]


def records(buffers: Iterable[memoryview]) -> list[tuple[int, bytes]]:
    """The offset and value of each data record."""
    found = []
    for buffer in buffers:
        for header, data in split(buffer):
            if not header.is_control:
                found += [(each.offset, each.value) for each in read_records(data)]
    return found


async def read_all(partition: PartitionLog, start: int | None = None, **limits: Any) -> list[tuple[int, bytes]]:
    """All data records from `start` on, read as a consumer would, each expected once and in order."""
    at = partition.marks.log_start if start is None else start
    found: list[tuple[int, bytes]] = []
    while True:
        read = await partition.read(at, **limits)
        found += [each for each in records(read.buffers) if each[0] >= at]
        assert read.next_offset > at or read.end_reached, "A read made no progress."
        at = read.next_offset
        if read.end_reached:
            break
    offsets = [offset for offset, _ in found]
    assert offsets == sorted(set(offsets)), "A record came twice, or out of order."
    return found


def numbered(start: int, end: int, size: int = 0) -> list[tuple[int, bytes]]:
    """What `fill` wrote at `[start, end)`."""
    return [(number, value(number, size)) for number in range(start, end)]
