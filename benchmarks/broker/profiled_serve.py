"""A child of the benchmark: `holdfast serve` under Python's profiler, which says at the end where the time went.

    profiled_serve.py FOLDER HOST:PORT

The profiler makes every call dearer, small ones most: read the order, not the seconds. Disk calls are made by the
writer thread and do not count here; `poll` is the time in which the loop had nothing to do.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import sys

from holdfast import config
from holdfast.cli.serve import command as serve

_LINES = 25


def main(folder: str, address: str) -> None:
    settings = config.load(None, {}, [f"serve.data_path={folder}", f"serve.listen={address}"])
    profiler = cProfile.Profile()
    profiler.enable()
    asyncio.run(serve.run(settings, lambda: settings))
    profiler.disable()
    pstats.Stats(profiler, stream=sys.stdout).strip_dirs().sort_stats("tottime").print_stats(_LINES)


if __name__ == "__main__":
    main(*sys.argv[1:])
