"""Search for crashes of the whole broker that lose or invent something: `make crash SEEDS=…`, or

    python tests/sim/search.py --seeds 1000 --start 0

Every seed is several lives of one broker on a simulated disk, each ended by a kill or a power cut at a random call to
disk or store, or cleanly. A seed that found something is printed; the same seed gives the same run.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # So that it runs as a file, too.

from tests.sim.lives import Lives


def search(seeds: Iterable[int], found_max: int = sys.maxsize) -> tuple[Counter[str], dict[int, BaseException]]:
    """Run all seeds, or until enough of them found something; what happened how often, and what they found."""
    counts: Counter[str] = Counter()
    found: dict[int, BaseException] = {}
    for seed in seeds:
        lives = Lives(seed)
        try:
            lives.run()
        except Exception as failure:
            found[seed] = failure
        counts += lives.counts
        if len(found) >= found_max:
            break
    return counts, found


def crash_points(counts: Counter[str]) -> int:
    return counts["killed"] + counts["power cut"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds to run (default 1000)")
    parser.add_argument("--start", type=int, default=0, help="the first seed (default 0)")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    counts, found = search(range(options.start, options.start + options.seeds))
    seconds = time.monotonic() - started
    print(f"{options.seeds} seeds from {options.start}, {crash_points(counts)} crashes of a broker, {seconds:.0f} s")
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    for seed, failure in found.items():
        print(f"seed {seed}: {type(failure).__name__}: {failure}")
    print(f"{len(found)} seeds found something" if found else "nothing was lost, nothing came from nowhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
