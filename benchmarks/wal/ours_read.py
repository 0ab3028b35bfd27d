"""Workloads of ours that open and read."""

from __future__ import annotations

import time

from benchmarks.wal.ours_write import EPOCH, open_log
from benchmarks.workload import Arguments, Payloads, Report

from holdfast.wal import LogId, Wal


def replay(arguments: Arguments) -> Report:
    """Open a directory that an earlier process wrote."""
    start = time.perf_counter()
    wal = open_log(arguments)
    seconds = time.perf_counter() - start
    report = Report(next_index(wal), seconds)
    wal.close()
    return report


def from_cache(arguments: Arguments) -> Report:
    """Write all entries into a log whose cache holds them all, and read them."""
    entries = arguments.number("entries")
    wal = open_log(arguments)
    wal.append(LogId(EPOCH, 0), Payloads(arguments.number("size")).of(range(entries)))
    wal.sync()
    return _read_all(wal, entries, arguments.number("size"))


def from_disk(arguments: Arguments) -> Report:
    """Read all entries of a directory that an earlier process wrote, with nothing in the cache."""
    wal = open_log(arguments)
    wal.drain_cache_evictable()
    return _read_all(wal, next_index(wal), arguments.number("size"))


def _read_all(wal: Wal, entries: int, size: int) -> Report:
    start = time.perf_counter()
    total = 0
    for entry in wal.read(0, entries):
        total += len(entry.payload)
    seconds = time.perf_counter() - start
    assert total == entries * size
    stat = wal.stat()
    report = Report(entries, seconds, facts={"hits": stat.cache_hits, "misses": stat.cache_misses})
    wal.close()
    return report


def next_index(wal: Wal) -> int:
    last = wal.state.last
    return 0 if last is None else last.index + 1
