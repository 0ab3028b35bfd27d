"""The limit of the disk from Python: positioned write and fdatasync in a loop, with no log around it.

`python -m benchmarks.raw raw key=value …`; `file=growing` extends the file with every write, `file=written` starts
over in a file that was written before, as recycled chunks are.
"""

from __future__ import annotations

import os
import sys
import time

from benchmarks.workload import WARM_UP_FLUSHES, Arguments, Payloads, Report

PIECE_SIZE = 1 << 14  # Large pieces become large folios in the page cache, and small writes into those are slower.


def write_and_sync(arguments: Arguments) -> Report:
    frames = arguments.number("batch")
    round_ = b"".join(Payloads(arguments.number("frame_size")).of(range(frames)))
    size_max = sys.maxsize if arguments.text("file") == "growing" else arguments.number("chunk_size")
    descriptor = create(arguments.text("dir"))
    if size_max < sys.maxsize:
        write_once(descriptor, size_max)
    position = 0
    for _ in range(WARM_UP_FLUSHES):
        position = _write_round(descriptor, round_, position, size_max)
    report = Report()
    for seconds in arguments.slices():
        end = report.seconds + seconds
        while report.seconds < end:
            start = time.perf_counter()
            position = _write_round(descriptor, round_, position, size_max)
            report.add(frames, start)
    os.close(descriptor)
    return report


def _write_round(descriptor: int, round_: bytes, position: int, size_max: int) -> int:
    if position + len(round_) > size_max:
        position = 0
    os.pwrite(descriptor, round_, position)
    os.fdatasync(descriptor)
    return position + len(round_)


def create(directory: str) -> int:
    os.makedirs(directory, exist_ok=True)
    return os.open(os.path.join(directory, "raw"), os.O_RDWR | os.O_CREAT | os.O_EXCL)


def write_once(descriptor: int, size: int) -> None:
    """Reserved blocks are not enough: only blocks that have been written cost no metadata when written again."""
    piece = bytes(PIECE_SIZE)
    for position in range(0, size, PIECE_SIZE):
        os.pwrite(descriptor, piece[: size - position], position)
    os.fsync(descriptor)


if __name__ == "__main__":
    print(write_and_sync(Arguments(sys.argv[2:])).to_json())
