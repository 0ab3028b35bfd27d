"""A process that appends to a log and reports every acknowledgement, made to be killed.

It is started once and forks a child for each life, so that fifty lives do not cost fifty starts of the interpreter:
    start DIRECTORY FACE LIFE   forks; answers "pid N", then the child writes "acked FIRST NEXT" lines until it dies
    reap                        waits for the child's end; answers "gone"
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import sys
from collections.abc import Callable

from holdfast.io.disk import RealDirectory
from holdfast.wal import LogId, Wal, WalSettings

SETTINGS = WalSettings(chunk_size_max=1 << 18, zero_ahead_size=1 << 14)
SMALL_CHUNKS = WalSettings(chunk_size_max=1 << 13, zero_ahead_size=1 << 10, marker_delay_ms=1)


def payload(life: int, index: int) -> bytes:
    """What an entry of a life holds: whoever finds it can tell where it belongs."""
    return b"%d:%d." % (life, index) * (1 + index % 40)


def append(wal: Wal, life: int, count: int) -> int:
    """Append entries; the index behind them."""
    start = wal.state.next_index
    wal.append(LogId(life, start), [payload(life, index) for index in range(start, start + count)])
    return start + count


def report(first: int, next_index: int) -> None:
    """Tell whoever watches that all entries from `first` up to `next_index` are acknowledged."""
    os.write(1, b"acked %d %d\n" % (first, next_index))


def run_sync(wal: Wal, life: int) -> None:
    chance = random.Random(life)
    while True:
        end = append(wal, life, chance.choice((1, 1, 1, 2, 10)))
        wal.sync()
        report(wal.state.first_index, end)


def run_callbacks(wal: Wal, life: int) -> None:
    """Never more than a few hundred on their way, told by the writer thread."""
    acked = wal.state.next_index

    def told(end: int) -> Callable[[Exception | None], None]:
        def tell(failure: Exception | None) -> None:
            nonlocal acked
            if failure is None:
                acked = end
                report(wal.state.first_index, end)

        return tell

    while True:
        end = append(wal, life, 1)
        flush = wal.flush(told(end))
        if end - acked > 300:
            flush.wait()


def run_async(wal: Wal, life: int) -> None:
    async def appender() -> None:
        while True:
            end = append(wal, life, 1)
            await wal.flush()
            report(wal.state.first_index, end)

    async def run() -> None:
        await asyncio.gather(*(appender() for _ in range(16)))

    asyncio.run(run())


def run_purging(wal: Wal, life: int) -> None:
    for turn in itertools.count():
        end = append(wal, life, 7)
        if turn % 5 == 4 and end > 200:
            upto = wal.log_id(end - 150)
            assert upto is not None
            wal.purge(upto)
        wal.sync()
        report(wal.state.first_index, end)


FACES: dict[str, tuple[Callable[[Wal, int], None], WalSettings]] = {
    "sync": (run_sync, SETTINGS),
    "callbacks": (run_callbacks, SETTINGS),
    "async": (run_async, SETTINGS),
    "purging": (run_purging, SMALL_CHUNKS),
}


def main() -> None:
    child = 0
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "reap":
            os.waitpid(child, 0)
            os.write(1, b"gone\n")
            continue
        directory, face, life = rest
        may_begin, begin = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(may_begin, 1)  # The pid comes first.
            run, settings = FACES[face]
            run(Wal.open(RealDirectory(directory), settings), int(life))
        os.write(1, b"pid %d\n" % child)
        os.write(begin, b".")
        os.close(may_begin)
        os.close(begin)


if __name__ == "__main__":
    main()
