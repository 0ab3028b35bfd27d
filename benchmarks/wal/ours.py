"""One workload of `holdfast.wal`, in a process of its own: `python -m benchmarks.wal.ours WORKLOAD key=value …`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks.wal import ours_async, ours_read, ours_write
from benchmarks.workload import Arguments, Report

WORKLOADS: dict[str, Callable[[Arguments], Report]] = {
    "each_sync": ours_write.each_sync,
    "each_async": ours_async.each_async,
    "batch": ours_write.batch,
    "single": ours_write.single,
    "one_by_one": ours_write.one_by_one,
    "steady": ours_write.steady,
    "appenders": ours_async.appenders,
    "replay": ours_read.replay,
    "read_cache": ours_read.from_cache,
    "read_cache_blocks": ours_read.blocks_from_cache,
    "read_disk": ours_read.from_disk,
    "read_disk_blocks": ours_read.blocks_from_disk,
    "memory": ours_write.memory,
}


def main(given: list[str]) -> None:
    print(WORKLOADS[given[0]](Arguments(given[1:])).to_json())


if __name__ == "__main__":
    main(sys.argv[1:])
