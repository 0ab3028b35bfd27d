"""The process of the model test: a loop, the logs, two partitions; started, ended, and started again."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from hypothesis.stateful import RuleBasedStateMachine
from tests.log.faults import NO_FAULTS, Faults, SlowWriter
from tests.log.log_world import LogWorld, turns
from tests.log.parked import ParkedCalls
from tests.log.slot import Slot

from holdfast.errors import Unavailable
from holdfast.io.disk.simulated import PowerCut
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import PartitionSettings
from holdfast.types import PartitionId

SAFE, QUICK = 0, 1
BATCH_SIZE_MAX = 6000
SETTINGS = (
    PartitionSettings(batch_size_max=BATCH_SIZE_MAX, retention_ms=-1),
    PartitionSettings(batch_size_max=BATCH_SIZE_MAX, retention_ms=-1, durability="memory"),
)


class Process(RuleBasedStateMachine):
    """Two partitions, one in each mode, over one write-ahead log."""

    def __init__(self) -> None:
        super().__init__()
        self.world = LogWorld(segment_size_max=1000, tail_size_max=3000)
        self.slots = [Slot(PartitionId(UUID(int=number), 0), SETTINGS[number]) for number in (SAFE, QUICK)]
        self.topics = 2
        self.values = 0
        self.calls = ParkedCalls()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.logs: Logs | None = None
        self.acks: list[tuple[Slot, int, asyncio.Task[Any]]] = []
        self.changes: list[asyncio.Task[Any]] = []
        self.reads: list[tuple[Slot, int, asyncio.Task[Any]]] = []
        self.complaints: list[dict[str, Any]] = []  # Of the loop: what failed where nobody listened.

    def _start(self, *, clean: bool, faults: Faults, crash_after: int | None) -> None:
        """Open everything: perhaps the store fails the first time, perhaps the power does."""
        disk = self.world.disk
        self.world.faults = faults
        disk.crash_at = None if crash_after is None else disk.calls + crash_after
        try:
            self._open(clean=clean)
        except (Unavailable, PowerCut) as failure:
            if isinstance(failure, PowerCut):
                disk.power_cut()
            self._end_loop()
            self.world.faults, disk.crash_at = NO_FAULTS, None
            disk.kill()
            self._open(clean=clean and not isinstance(failure, PowerCut))
        self.world.faults, disk.crash_at = NO_FAULTS, None

    def _open(self, *, clean: bool) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._complain)
        self.calls = ParkedCalls()
        self.logs = self._run(self.world.open(calls=self.calls))
        self.writer = self.logs._ground.journal._loop = SlowWriter(self.loop)
        for slot in self.slots:
            partition = self._run(self.logs.partition(slot.home, slot.settings))
            slot.reopened(partition, clean=clean or not slot.history)

    def _complain(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), PowerCut):
            self.complaints.append(context)

    def _run(self, work: Any) -> Any:
        assert self.loop is not None
        return self.loop.run_until_complete(work)

    def _end_loop(self) -> None:
        """The process is gone: nothing of it goes on."""
        if self.loop is None:
            return
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        ours = [*self.changes, *(each[2] for each in self.acks + self.reads)]  # Whatever they say, nobody asks.
        self.loop.run_until_complete(_ended([*tasks, *ours]))
        self.loop.close()
        self.loop = self.logs = None
        self.acks, self.changes, self.reads = [], [], []

    def teardown(self) -> None:
        self.world.disk.kill()
        self._end_loop()

    def _look(self) -> None:
        """What a producer or a reader may have heard by now."""
        for slot in self.slots:
            if slot.partition is not None:
                slot.durable = max(slot.durable, slot.partition.marks.durable)
                slot.shown = max(slot.shown, slot.partition.marks.high_watermark)

    def _partition(self, number: int) -> PartitionLog:
        partition = self.slots[number].partition
        assert partition is not None
        return partition

    def write(self) -> None:
        """Let the writer write and sync what has come together, and tell."""
        self.writer.write()
        self._run(turns(5))


async def _ended(tasks: list[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
