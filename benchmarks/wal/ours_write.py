"""Workloads of ours that append and flush through the synchronous face."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from benchmarks.workload import (
    PURGE_EVERY,
    STEADY_WARM_UP_BATCHES,
    WARM_UP_FLUSHES,
    Arguments,
    Payloads,
    Report,
    memory_size,
)

from holdfast.io.disk import RealDirectory
from holdfast.wal import LogId, Wal, WalSettings

EPOCH = 1


def settings_of(arguments: Arguments) -> WalSettings:
    return WalSettings(
        chunk_size_max=arguments.number("chunk_size"),
        chunk_entries_max=arguments.number("chunk_entries"),
        cache_size_max=arguments.number("cache_size"),
        cache_entries_max=arguments.number("cache_entries"),
        shared_frame_size_max=arguments.number("shared_frame_size"),
    )


def open_log(arguments: Arguments) -> Wal:
    return Wal.open(RealDirectory(arguments.text("dir")), settings_of(arguments))


def each_sync(arguments: Arguments) -> Report:
    """One entry, one flush, wait for it, and again."""
    payloads = Payloads(arguments.number("size"))
    wal = open_log(arguments)
    for index in range(WARM_UP_FLUSHES):
        wal.append(LogId(EPOCH, index), [payloads.get(index)])
        wal.sync()
    report = Report()
    for seconds in arguments.slices():
        end = report.seconds + seconds
        while report.seconds < end:
            index = WARM_UP_FLUSHES + report.entries
            payload = payloads.get(index)
            start = time.perf_counter()
            wal.append(LogId(EPOCH, index), [payload])
            wal.sync()
            report.add(1, start)
        wal.wait_worker_idle(1.0)  # Its marker is not to disturb whose turn is next.
    wal.close()
    return report


def batch(arguments: Arguments) -> Report:
    """Many entries in one `append`, one flush, wait for it, and again."""
    payloads = Payloads(arguments.number("size"))
    wal = open_log(arguments)
    report = Report()
    for indexes in arguments.batches():
        round_ = payloads.of(indexes)
        start = time.perf_counter()
        wal.append(LogId(EPOCH, indexes.start), round_)
        wal.sync()
        report.add(len(round_), start)
    wal.close()
    return report


def single(arguments: Arguments) -> Report:
    """As `batch`, with one `append` for each entry."""
    return _singly(arguments, lambda wal: wal.append)


def one_by_one(arguments: Arguments) -> Report:
    """As `single`, through the face that is for it: small entries share a frame until somebody flushes."""
    return _singly(arguments, lambda wal: wal.append_one)


def _singly(arguments: Arguments, face: Callable[[Wal], Callable[[LogId, tuple[bytes]], object]]) -> Report:
    payloads = Payloads(arguments.number("size"))
    wal = open_log(arguments)
    append, report = face(wal), Report()
    for indexes in arguments.batches():
        round_ = payloads.of(indexes)
        start = time.perf_counter()
        for index, payload in zip(indexes, round_, strict=True):
            append(LogId(EPOCH, index), (payload,))
        wal.sync()
        report.add(len(round_), start)
    wal.close()
    return report


def steady(arguments: Arguments) -> Report:
    """As `batch`, in a log that has run for a while: purged behind every few flushes, so that chunks are recycled."""
    payloads = Payloads(arguments.number("size"))
    wal = open_log(arguments)
    report = Report()
    warm_up = STEADY_WARM_UP_BATCHES * arguments.number("batch")
    for indexes in itertools.chain(arguments.plain_batches(warm_up), arguments.batches(warm_up)):
        round_ = payloads.of(indexes)
        start = time.perf_counter()
        wal.append(LogId(EPOCH, indexes.start), round_)
        if indexes.start and indexes.start // arguments.number("batch") % PURGE_EVERY == 0:
            wal.purge(LogId(EPOCH, indexes.start - 1))
        wal.sync()
        if indexes.start >= warm_up:
            report.add(len(round_), start)
    wal.close()
    return report


def memory(arguments: Arguments) -> Report:
    """Peak memory of a long append with a small cache."""
    payloads = Payloads(arguments.number("size"))
    entries, count = arguments.number("entries"), arguments.number("batch")
    wal = open_log(arguments)
    report = Report(entries, facts={"idle_size": memory_size("VmRSS")})
    start = time.perf_counter()
    for first in range(0, entries, count):
        wal.append(LogId(EPOCH, first), payloads.of(range(first, min(first + count, entries))))
        wal.sync()
        if "half_peak_size" not in report.facts and first + count >= entries // 2:
            report.facts["half_peak_size"] = memory_size("VmHWM")
    report.seconds = time.perf_counter() - start
    wal.close()
    return report
