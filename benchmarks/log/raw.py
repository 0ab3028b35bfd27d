"""The limits of the disk from Python: write and fdatasync in a loop, and reads of files into one buffer.

`python -m benchmarks.log.raw WORKLOAD key=value …`
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.log.ours_read import segment_files
from benchmarks.log.page_cache import drop, load, resident_percent
from benchmarks.raw import create, write_once
from benchmarks.workload import WARM_UP_FLUSHES, Arguments, Report

MIB = 1 << 20
FILE_SIZE = 128 * MIB
READ_SIZE = MIB
WARM_UP_SIZE = 16 * MIB


def write(arguments: Arguments) -> Report:
    """Sequential writes of `sync_size` bytes, each made durable, into a file that was written before."""
    size = arguments.number("sync_size")
    data = os.urandom(size)
    descriptor = create(arguments.text("dir"))
    write_once(descriptor, FILE_SIZE)
    position = 0
    for _ in range(min(max(WARM_UP_SIZE // size, 1), WARM_UP_FLUSHES)):
        position = _write_round(descriptor, data, position)
    report = Report()
    for seconds in arguments.slices():
        end = report.seconds + seconds
        while report.seconds < end:
            start = time.perf_counter()
            position = _write_round(descriptor, data, position)
            report.add(1, start)
    os.close(descriptor)
    report.facts = {"bytes": report.entries * size}
    return report


def _write_round(descriptor: int, data: bytes, position: int) -> int:
    if position + len(data) > FILE_SIZE:
        position = 0
    os.pwrite(descriptor, data, position)
    os.fdatasync(descriptor)
    return position + len(data)


def read_paged(arguments: Arguments) -> Report:
    """Files that are in the page cache."""
    return _read(arguments, load)


def read_cold(arguments: Arguments) -> Report:
    """Files that are not."""
    return _read(arguments, drop)


def _read(arguments: Arguments, prepare: Callable[[list[Path]], None]) -> Report:
    files = segment_files(arguments.text("data"))
    buffer = bytearray(READ_SIZE)
    report = Report(facts={"bytes": 0})
    for _ in range(arguments.number("turns")):
        arguments.await_turn()
        prepare(files)
        report.facts["resident_percent"] = resident_percent(files)
        start = time.perf_counter()
        for file in files:
            with open(file, "rb", buffering=0) as opened:
                while count := opened.readinto(buffer):
                    report.facts["bytes"] += count
        report.seconds += time.perf_counter() - start
        report.entries += len(files)
    return report


WORKLOADS: dict[str, Callable[[Arguments], Report]] = {"write": write, "read_paged": read_paged, "read_cold": read_cold}

if __name__ == "__main__":
    print(WORKLOADS[sys.argv[1]](Arguments(sys.argv[2:])).to_json())
