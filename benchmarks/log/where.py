"""Where the time of an append goes: by stage, along the way of one append, and by function.

`python -m benchmarks.log.where append_one|append_many size=BYTES dir=DIRECTORY`; clocks and the profiler make small
calls look dearer than they are.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from benchmarks.log.batches import batch_of
from benchmarks.log.partition import drain, opened, warm_up
from benchmarks.log.stages import DONE, STAGES, WAKE, WRITE, Stages
from benchmarks.tables import Table
from benchmarks.workload import Arguments
from rich.console import Console

from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog

APPENDERS = {"append_one": 1, "append_many": 64}
BYTES = {"append_one": 96 << 20, "append_many": 192 << 20}
BATCHES_MAX = {"append_one": 2_000, "append_many": 20_000}
FUNCTIONS = 20


class Run:
    """Appends, some of them at a time."""

    def __init__(self, workload: str, size: int) -> None:
        self._template = batch_of(size)
        self._tasks = APPENDERS[workload]
        self.count = min(BYTES[workload] // size, BATCHES_MAX[workload])
        self.seconds = self.cpu_seconds = 0.0
        self.way: list[list[float]] = []

    async def go(self, logs: Logs, partition: PartitionLog, stages: Stages | None = None) -> None:
        batches = iter([bytearray(self._template) for _ in range(self.count)])
        start, cpu_start = time.perf_counter(), time.thread_time()
        await asyncio.gather(*(self._append_all(partition, batches, stages) for _ in range(self._tasks)))
        self.seconds, self.cpu_seconds = time.perf_counter() - start, time.thread_time() - cpu_start
        await drain(logs, partition)

    async def _append_all(self, partition: PartitionLog, batches: Iterator[bytearray], stages: Stages | None) -> None:
        for batch in batches:
            called = time.perf_counter()
            await partition.append(batch)
            if stages is not None and self._tasks == 1:
                self.way.append(_way(stages, called, time.perf_counter()))


def _way(stages: Stages, called: float, resumed: float) -> list[float]:
    """The times at which an append that is alone went from stage to stage."""
    return [called, stages.began[WAKE], stages.began[WRITE], stages.ended[WRITE], stages.began[DONE], resumed]


async def main(workload: str, arguments: Arguments) -> None:
    size = arguments.number("size")
    output = Console(width=None if sys.stdout.isatty() else 140)
    plain, clocked, profiled = (Run(workload, size) for _ in range(3))
    profile = cProfile.Profile()
    async with opened(arguments.text("dir") + "/plain") as (logs, partition):
        await warm_up(logs, partition)
        await plain.go(logs, partition)
        profile.enable()
        await profiled.go(logs, partition)
        profile.disable()
    with Stages() as stages:
        async with opened(arguments.text("dir") + "/clocked") as (logs, partition):
            await warm_up(logs, partition)
            stages.clear()
            await clocked.go(logs, partition, stages)
    output.print(f"{plain.count / plain.seconds:,.0f} appends of {size} bytes per second, without clocks")
    output.print(_stage_table(stages, clocked).to_rich())
    if clocked.way:
        output.print(_way_table(clocked.way).to_rich())
    print("The loop's thread by function:")
    pstats.Stats(profile).sort_stats("tottime").print_stats(FUNCTIONS)


def _stage_table(stages: Stages, run: Run) -> Table:
    rows = []
    staged = 0.0
    for stage, _, _, part_of in STAGES:
        seconds, count = stages.seconds[stage], stages.counts[stage]
        staged += 0 if part_of else seconds
        name = f"{'  ' * (2 if part_of == 'journal.append' else bool(part_of))}{stage}"
        rows.append([name, f"{count:,}", _us(seconds / max(count, 1)), _us(seconds / run.count)])
    rows.append(
        ["the rest of the loop: tasks, futures, callbacks", "", "", _us((run.cpu_seconds - staged) / run.count)]
    )
    rows.append(["the loop's thread, all of it", "", "", _us(run.cpu_seconds / run.count)])
    rows.append(["all, in time on the wall", "", "", _us(run.seconds / run.count)])
    columns = ["stage", "calls", "µs", "µs per append"]
    return Table("By stage, in CPU time; what is set in is a part of what is above it", columns, rows)


def _way_table(way: list[list[float]]) -> Table:
    names = [
        "the loop: check, stamp, queue",
        "hand-over to the writer thread",
        "write and fdatasync",
        "hand-over back to the loop",
        "marks, and wake the appender",
    ]
    columns = list(zip(*way, strict=True))
    rows = [
        [name, _us(median(b - a for a, b in zip(before, after, strict=True)))]
        for name, (before, after) in zip(names, pairwise(columns), strict=True)
    ]
    total = _us(median(times[-1] - times[0] for times in way))
    return Table("The way of one append that is alone, median", ["part", "µs"], [*rows, ["all", total]])


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f}"


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Arguments(sys.argv[2:])))
