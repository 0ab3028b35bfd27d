"""The limit of the disk from Python: positioned write and fdatasync in a loop, with no log around it.

`python -m benchmarks.wal.raw raw key=value …`; `file=growing` extends the file with every write, `file=written` starts
over in a file that was written before, as recycled chunks are.
"""

from __future__ import annotations

import os
import sys
import time

from benchmarks.wal.workload import WARM_UP_FLUSHES, Arguments, Payloads, Report

PIECE_SIZE = 1 << 20


def write_and_sync(arguments: Arguments) -> Report:
    frames = arguments.number("batch")
    round_ = b"".join(Payloads(arguments.number("frame_size")).run(0, frames))
    file_size = arguments.number("chunk_size")
    growing = arguments.text("file") == "growing"
    descriptor = _create(arguments.text("dir"))
    if not growing:
        _write_once(descriptor, file_size)
    report = Report()
    position = count = 0
    limit = arguments.seconds()
    while report.seconds < limit:
        if not growing and position + len(round_) > file_size:
            position = 0
        start = time.perf_counter()
        os.pwrite(descriptor, round_, position)
        os.fdatasync(descriptor)
        if count >= WARM_UP_FLUSHES:
            report.add(frames, start)
        position += len(round_)
        count += 1
    os.close(descriptor)
    return report


def _create(directory: str) -> int:
    os.makedirs(directory, exist_ok=True)
    return os.open(os.path.join(directory, "raw"), os.O_RDWR | os.O_CREAT | os.O_EXCL)


def _write_once(descriptor: int, size: int) -> None:
    """Reserved blocks are not enough: only blocks that have been written cost no metadata when written again."""
    piece = bytes(PIECE_SIZE)
    for position in range(0, size, PIECE_SIZE):
        os.pwrite(descriptor, piece[: size - position], position)
    os.fsync(descriptor)


if __name__ == "__main__":
    print(write_and_sync(Arguments(sys.argv[2:])).to_json())
