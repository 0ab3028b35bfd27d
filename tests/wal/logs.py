"""Logs for tests: small chunks on a simulated disk, no thread, a clock that stands still, and what a log holds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk import Directory
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import LogId, Wal, WalSettings
from holdfast.wal.chunks.chunk import ChunkName, parse_chunk_name
from holdfast.wal.inspect import RecordLine, dump

Held = list[tuple[LogId, bytes]]

SMALL: dict[str, Any] = {"chunk_size_max": 4096, "zero_ahead_size": 1024}
UNCACHED: dict[str, Any] = {"cache_size_max": 0, "cache_open_chunk": False}


def new_disk(seed: int = 1) -> SimulatedDisk:
    return SimulatedDisk(SeededChance(seed))


def open_log(directory: Directory, *, threaded: bool = False, **settings: Any) -> Wal:
    """A log whose random numbers differ from open to open and are the same from run to run."""
    calls = directory.calls if isinstance(directory, SimulatedDisk) else 0
    return Wal.open(
        directory,
        WalSettings(**{**SMALL, **settings}),
        clock=ManualClock(),
        chance=SeededChance(calls),
        threaded=threaded,
    )


def payload(index: int, epoch: int = 1, size: int = 0) -> bytes:
    """A payload that says where it belongs."""
    return (b"%d:%d." % (epoch, index)).ljust(size, b".")


def append(wal: Wal, count: int, *, epoch: int = 1, size: int = 0) -> Held:
    """Append entries one by one; what was appended. Not durable yet."""
    start = wal.state.next_index
    entries = [(LogId(epoch, index), payload(index, epoch, size)) for index in range(start, start + count)]
    for log_id, data in entries:
        wal.append(log_id, [data])
    return entries


def append_run(wal: Wal, count: int, *, epoch: int = 1, size: int = 0) -> Held:
    """Append small entries one by one, which then share a frame; what was appended. Not durable yet."""
    start = wal.state.next_index
    entries = [(LogId(epoch, index), payload(index, epoch, size)) for index in range(start, start + count)]
    for log_id, data in entries:
        wal.append_one(log_id, (data,))
    return entries


def append_batch(wal: Wal, count: int, *, epoch: int = 1, size: int = 0) -> Held:
    """Append entries with one call; what was appended. Not durable yet."""
    start = wal.state.next_index
    entries = [(LogId(epoch, index), payload(index, epoch, size)) for index in range(start, start + count)]
    wal.append(entries[0][0], [data for _, data in entries])
    return entries


def held(wal: Wal, start: int | None = None, end: int = 1 << 60) -> Held:
    """All entries that a log gives back."""
    first = wal.state.first_index if start is None else start
    return [(entry.log_id, bytes(entry.payload)) for entry in wal.read(first, end)]


def chunk_names(disk: Directory) -> list[str]:
    return [name for name in disk.names() if name.endswith(".wal")]


def chunk_ids(disk: Directory) -> list[int]:
    return [parsed(name).id for name in chunk_names(disk)]


def parsed(name: str) -> ChunkName:
    parsed_name = parse_chunk_name(name)
    assert parsed_name is not None
    return parsed_name


def lines(disk: Directory, chunk: str | None = None) -> list[RecordLine]:
    """The listing of all chunks, or of one."""
    return [line for line in dump(disk) if chunk is None or line.chunk == chunk]


def kinds(disk: Directory, chunk: str | None = None) -> list[str]:
    """The kinds of all records; the padding in front of a marker is none."""
    return [line.kind for line in lines(disk, chunk) if line.kind != "padding"]


def reopened(disk: SimulatedDisk, **settings: Any) -> Wal:
    """The log after its process was killed."""
    disk.kill()
    return open_log(disk, **settings)


@contextmanager
def writer_held(wal: Wal) -> Iterator[None]:
    """The writer thread is busy in a callback, so that everything flushed meanwhile queues up behind it."""
    entered, leave = threading.Event(), threading.Event()

    def block(_: Exception | None) -> None:
        entered.set()
        leave.wait(10)

    wal.save_user_data(b"")
    wal.flush(block)
    assert entered.wait(10)
    try:
        yield
    finally:
        leave.set()


@contextmanager
def calls_of(disk: SimulatedDisk) -> Iterator[list[str]]:
    """The kinds of all calls made meanwhile that change the disk, in order."""
    calls: list[str] = []
    call = disk._call

    def watched(kind: str) -> None:
        calls.append(kind)
        call(kind)

    disk._call = watched  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        disk._call = call  # type: ignore[method-assign]
