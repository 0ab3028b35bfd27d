"""Workloads of ours on an event loop."""

from __future__ import annotations

import asyncio
import time

from benchmarks.wal.ours_write import EPOCH, open_log
from benchmarks.workload import WARM_UP_FLUSHES, Arguments, Payloads, Report

from holdfast.wal import LogId, Wal


def each_async(arguments: Arguments) -> Report:
    """One entry, one flush, await it, and again."""
    return asyncio.run(_each(arguments))


async def _each(arguments: Arguments) -> Report:
    payloads = Payloads(arguments.number("size"))
    wal = open_log(arguments)
    for index in range(WARM_UP_FLUSHES):
        wal.append(LogId(EPOCH, index), [payloads.get(index)])
        await wal.flush()
    report = Report()
    for seconds in arguments.slices():
        end = report.seconds + seconds
        while report.seconds < end:
            index = WARM_UP_FLUSHES + report.entries
            payload = payloads.get(index)
            start = time.perf_counter()
            wal.append(LogId(EPOCH, index), [payload])
            await wal.flush()
            report.add(1, start)
        wal.wait_worker_idle(1.0)  # Its marker is not to disturb whose turn is next.
    wal.close()
    return report


def appenders(arguments: Arguments) -> Report:
    """Many tasks, each appends one entry and awaits its flush, and again."""
    return asyncio.run(_appenders(arguments))


async def _appenders(arguments: Arguments) -> Report:
    payloads = Payloads(arguments.number("size"))
    wal = open_log(arguments)
    report = Report(facts={"appended": 0})
    for seconds in arguments.slices():
        start = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(arguments.number("appenders")):
                tasks.create_task(_append_until(start + seconds, wal, payloads, report))
        report.seconds += time.perf_counter() - start
        wal.wait_worker_idle(1.0)  # Its marker is not to disturb whose turn is next.
    wal.close()
    return report


async def _append_until(end: float, wal: Wal, payloads: Payloads, report: Report) -> None:
    # All tasks share the count: an index belongs to whoever takes it, as nothing awaits in between.
    while (start := time.perf_counter()) < end:
        index = report.facts["appended"]
        report.facts["appended"] += 1
        wal.append(LogId(EPOCH, index), [payloads.get(index)])
        await wal.flush()
        report.entries += 1
        report.waits.append(time.perf_counter() - start)
