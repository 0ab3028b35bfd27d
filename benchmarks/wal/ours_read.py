"""Workloads of ours that open and read."""

from __future__ import annotations

import time
from collections.abc import Callable

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
    return _read_all(_filled(arguments), arguments, _entry_by_entry)


def blocks_from_cache(arguments: Arguments) -> Report:
    """The same in blocks."""
    return _read_all(_filled(arguments), arguments, _in_blocks)


def from_disk(arguments: Arguments) -> Report:
    """Read all entries of a directory that an earlier process wrote, with nothing in the cache."""
    return _read_all(_drained(arguments), arguments, _entry_by_entry)


def blocks_from_disk(arguments: Arguments) -> Report:
    """The same in blocks."""
    return _read_all(_drained(arguments), arguments, _in_blocks)


def _filled(arguments: Arguments) -> Wal:
    wal = open_log(arguments)
    wal.append(LogId(EPOCH, 0), Payloads(arguments.number("size")).of(range(arguments.number("entries"))))
    wal.sync()
    return wal


def _drained(arguments: Arguments) -> Wal:
    wal = open_log(arguments)
    wal.drain_cache_evictable()
    return wal


def _entry_by_entry(wal: Wal, entries: int) -> int:
    total = 0
    for entry in wal.read(0, entries):
        total += len(entry.payload)
    return total


def _in_blocks(wal: Wal, entries: int) -> int:
    total = 0
    for block in wal.read_blocks(0, entries):
        total += int(block.bounds[-1] - block.bounds[0])
    return total


def _read_all(wal: Wal, arguments: Arguments, read: Callable[[Wal, int], int]) -> Report:
    entries = next_index(wal)
    start = time.perf_counter()
    total = read(wal, entries)
    seconds = time.perf_counter() - start
    assert total == entries * arguments.number("size")
    stat = wal.stat()
    report = Report(entries, seconds, facts={"hits": stat.cache_hits, "misses": stat.cache_misses})
    wal.close()
    return report


def next_index(wal: Wal) -> int:
    last = wal.state.last
    return 0 if last is None else last.index + 1
