"""Workloads that append and wait for the ack, while segments are flushed to a store on the same disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from benchmarks.log.batches import batch_of, record_count
from benchmarks.log.partition import drain, opened, warm_up
from benchmarks.workload import Arguments, Report

from holdfast.log.partition.partition import PartitionLog


def append(arguments: Arguments) -> Report:
    """Some tasks, each appends a batch and awaits its ack, and again. Flushes under way at the end are not awaited."""
    return asyncio.run(_append(arguments, until_flushed=False))


def append_until_flushed(arguments: Arguments) -> Report:
    """As `append`, until everything is in committed segments: what the disk can keep up with for ever."""
    return asyncio.run(_append(arguments, until_flushed=True))


async def _append(arguments: Arguments, *, until_flushed: bool) -> Report:
    size, tasks = arguments.number("size"), arguments.number("appenders")
    template = batch_of(size)
    report = Report()
    async with opened(arguments.text("dir")) as (logs, partition):
        await warm_up(logs, partition)
        turns = arguments.number("turns")
        count = -(-arguments.number("batches") // turns)
        for _ in range(turns):
            # Made before the clock starts: a broker receives into buffers that it owns.
            batches = iter([bytearray(template) for _ in range(count)])
            arguments.await_turn()
            start = time.perf_counter()
            await asyncio.gather(*(_append_all(partition, batches, report) for _ in range(tasks)))
            if until_flushed:
                await logs.flush_all()
            report.seconds += time.perf_counter() - start
            await drain(logs, partition)
    report.entries = count * turns
    report.facts = {"bytes": report.entries * size, "records": report.entries * record_count(size)}
    return report


async def _append_all(partition: PartitionLog, batches: Iterator[bytearray], report: Report) -> None:
    for batch in batches:
        start = time.perf_counter()
        await partition.append(batch)
        report.waits.append(time.perf_counter() - start)
