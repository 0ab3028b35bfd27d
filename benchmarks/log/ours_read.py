"""Workloads that read a partition from start to end: from the tail, the block cache, the page cache, the disk."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path

from benchmarks.log.batches import batch_of, record_count
from benchmarks.log.page_cache import drop, load, resident_percent
from benchmarks.log.partition import MIB, opened
from benchmarks.workload import Arguments, Report

from holdfast.log.partition.partition import PartitionLog

READ_SIZE = MIB  # What a consumer fetches from a partition by default.
SECONDS_MIN = 0.2


def fill(arguments: Arguments) -> Report:
    """Write the data that is read later, into segments."""
    return asyncio.run(_fill(arguments))


async def _fill(arguments: Arguments) -> Report:
    async with opened(arguments.text("dir")) as (logs, partition):
        await _append_data(partition, arguments)
        await logs.flush_all()
    return Report()


async def _append_data(partition: PartitionLog, arguments: Arguments) -> None:
    size = arguments.number("size")
    per_append = max(64 * 1024 // size, 1)
    template = batch_of(size) * per_append
    for _ in range(arguments.number("data_size") // len(template)):
        await partition.append(bytearray(template))


def hot(arguments: Arguments) -> Report:
    """Everything is in the tail."""
    return asyncio.run(_hot(arguments))


async def _hot(arguments: Arguments) -> Report:
    report = Report()
    async with opened(arguments.text("dir"), background=False, close_timeout_ms=0) as (_, partition):
        await _append_data(partition, arguments)
        for _ in range(arguments.number("turns")):
            arguments.await_turn()
            await _read_for_a_while(partition, report, arguments)
    return report


def cached(arguments: Arguments) -> Report:
    """Everything is in the block cache."""
    return asyncio.run(_stored(arguments, "cached"))


def paged(arguments: Arguments) -> Report:
    """Nothing is in the block cache, all files are in the page cache."""
    return asyncio.run(_stored(arguments, "paged"))


def cold(arguments: Arguments) -> Report:
    """Nothing is in any cache of this machine."""
    return asyncio.run(_stored(arguments, "cold"))


async def _stored(arguments: Arguments, place: str) -> Report:
    directory = arguments.text("dir")
    _link_store(Path(arguments.text("data")), Path(directory))
    files = segment_files(directory)
    report = Report()
    for _ in range(arguments.number("turns")):
        # Opened anew in each turn: a block cache that has served a turn is not empty any more.
        async with opened(directory, background=False, cache_size_max=1024 * MIB) as (_, partition):
            if place == "cached":
                await _read_all(partition, Report(), arguments)
            else:
                load(files)
            arguments.await_turn()
            if place == "cold":
                drop(files)
                report.facts["resident_percent"] = resident_percent(files)
            if place == "cached":
                await _read_for_a_while(partition, report, arguments)
            else:
                await _read_all(partition, report, arguments)
    return report


def _link_store(source: Path, target: Path) -> None:
    """A store of its own over the same files: several processes read them, and each has its own manifests."""
    shutil.copytree(source / "objects", target / "objects", copy_function=os.link)


def segment_files(directory: str) -> list[Path]:
    return sorted((Path(directory) / "objects" / "segments").rglob("*.seg"))


async def _read_for_a_while(partition: PartitionLog, report: Report, arguments: Arguments) -> None:
    """Again and again: one pass over memory is over too soon to be measured."""
    end = report.seconds + SECONDS_MIN
    while report.seconds < end:
        await _read_all(partition, report, arguments)


async def _read_all(partition: PartitionLog, report: Report, arguments: Arguments) -> None:
    end, offset, size = partition.marks.high_watermark, 0, 0
    start = time.perf_counter()
    while offset < end:
        found = await partition.read(offset, None, READ_SIZE)
        size += sum(map(len, found.buffers))
        offset = found.next_offset
    report.seconds += time.perf_counter() - start
    batches = size // arguments.number("size")
    assert batches * record_count(arguments.number("size")) == end, (batches, end)
    report.entries += batches
    report.facts["bytes"] = report.facts.get("bytes", 0) + size
    report.facts["records"] = report.facts.get("records", 0) + end
