"""A whole broker without sockets on a simulated disk, and transactional producers that survive it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from tests.coordinator.transaction_invariants import NotedTransaction, Place
from tests.sim import frames

from holdfast.broker.net.request import Request
from holdfast.broker.running import AllSettings, BrokerEnvironment, Opened, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import LogSettings
from holdfast.protocol.api import Key
from holdfast.record.batch import split
from holdfast.record.records import read_records
from holdfast.segment.aborted import AbortedIndex
from holdfast.wal import WalSettings

TOPIC, PARTITIONS, GROUP = "t", 2, "g"
TIMEOUT_MS = 10_000


@dataclass
class Client:
    """One producer process: what it remembers."""

    transactional_id: str
    implicit: bool
    producer_id: int = -1
    epoch: int = -1
    sequences: dict[int, int] = field(default_factory=dict)
    added: set[int] = field(default_factory=set)  # Partitions of the open transaction; -1 stands for the offsets.
    open: NotedTransaction | None = None
    started_s: float = 0.0
    is_over: bool = False  # It was refused, or has been given up.
    call: tuple[Request, Callable[[Any], None]] | None = None  # Sent, not answered.


class TransactionWorld:
    """A disk, a store, and the broker that lives on them from start to start."""

    def __init__(self, seed: int, shared_frame_size_max: int = 4096) -> None:
        self.clock = ManualClock()
        self.disk = SimulatedDisk(SeededChance(seed))
        self.objects = MemoryObjects(MemoryBucket(), clock=self.clock)
        self.settings = AllSettings(
            broker=BrokerSettings(offsets_topic_num_partitions=1, transaction_state_log_num_partitions=1),
            log=LogSettings(wal_size_max=1 << 20, segment_size_max=2000),
            wal=WalSettings(chunk_size_max=6000, zero_ahead_size=512, shared_frame_size_max=shared_frame_size_max),
        )
        self.opened: Opened
        self._context: AbstractAsyncContextManager[Opened]
        self._starts = 0

    async def open(self) -> None:
        """Start the process."""
        self._starts += 1
        around = BrokerEnvironment(
            wal_directory=self.disk,
            objects=self.objects,
            clock=self.clock,
            chance=SeededChance(self._starts),
            calls=InlineCalls(),
            threaded=False,
        )
        self._context = opened(around, self.settings)  # Dropped, it would close itself.
        self.opened = await self._context.__aenter__()
        if self.opened.context.topics.find(TOPIC) is None:
            await self.opened.context.topics.create(TOPIC, PARTITIONS, {})

    @property
    def is_dead(self) -> bool:
        """The power has gone."""
        return self.disk.crash_at is not None and self.disk.calls >= self.disk.crash_at

    async def ask(self, wanted: Request) -> Any:
        return frames.answer(wanted, await self.opened.broker.handle(wanted))

    async def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.opened.context.transactions.timers.run_due()

    def partitions(self) -> list[PartitionLog]:
        topic = self.opened.context.topics.get(TOPIC)
        return [topic.partition(number) for number in range(PARTITIONS)]

    async def read(self) -> tuple[set[Place], set[Place]]:
        """What is in the log, and what committed readers see of it."""
        log: set[Place] = set()
        visible: set[Place] = set()
        for number, partition in enumerate(self.partitions()):
            log |= await _values(partition, number, committed=False)
            visible |= await _values(partition, number, committed=True)
        return log, visible

    async def committed_offset(self) -> int | None:
        fields = {"groups": [{"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}]}
        answer = await self.ask(frames.request(Key.OFFSET_FETCH, 9, {**fields, "require_stable": False}))
        [found] = answer.groups[0].topics[0].partitions
        assert found.error_code == 0
        return None if found.committed_offset < 0 else int(found.committed_offset)


async def _values(partition: PartitionLog, number: int, *, committed: bool) -> set[Place]:
    found: list[Place] = []
    offset = partition.marks.log_start
    while True:
        read = await partition.read(offset, None, committed=committed)
        aborted = AbortedIndex(read.aborted)
        for buffer in read.buffers:
            for header, batch in split(buffer):
                if not header.is_control and not aborted.holds(header):
                    found += [(number, record.value or b"") for record in read_records(batch)]
        if read.end_reached:
            assert len(set(found)) == len(found), "A record is there twice."
            return set(found)
        offset = read.next_offset


def started(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.ensure_future(work)
