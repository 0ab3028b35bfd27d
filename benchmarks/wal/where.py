"""Where the time goes in one workload of ours: a profile of every thread.

`python -m benchmarks.wal.where WORKLOAD key=value …`; the profiler makes small calls look dearer than they are.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import threading

LINES = 22


def main(given: list[str]) -> None:
    profiles: list[tuple[str, cProfile.Profile]] = []
    plain_run = threading.Thread.run

    def profiled_run(thread: threading.Thread) -> None:
        profile = cProfile.Profile()
        profiles.append((thread.name, profile))
        profile.runcall(plain_run, thread)

    threading.Thread.run = profiled_run  # type: ignore[assignment,method-assign]  # A profiler sees only its own thread.
    from benchmarks.wal import ours  # Only now: imports are no part of the workload.

    own = cProfile.Profile()
    own.runcall(ours.main, given)
    for name, profile in [("the caller's thread", own), *profiles]:
        print(f"\n=== {name}")
        pstats.Stats(profile).sort_stats("tottime").print_stats(LINES)


if __name__ == "__main__":
    main(sys.argv[1:])
