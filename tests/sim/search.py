"""Search for crashes of the whole broker that lose or invent something: `make crash SEEDS=…`, or

    python tests/sim/search.py --seeds 1000 --start 0

Every seed is several lives of one broker on a simulated disk, each ended by a kill or a power cut at a random call to
disk or store, or cleanly. A seed that found something is printed; the same seed gives the same run. `--faults` says
what else happens, and leaves everything else as it was: denies,misreads,usurps,jumps,ages, or none. `--place store` has
the write-ahead log in the store.
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # So that it runs as a file, too.

from tests.sim.broker_lives import KINDS, BrokerLives
from tests.support.seed_search import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--faults", default=",".join(KINDS))
    parser.add_argument("--place", default="disk")
    asked, sys.argv[1:] = parser.parse_known_args()
    kinds = tuple(kind for kind in KINDS if kind in asked.faults.split(","))
    sys.exit(main(functools.partial(BrokerLives, kinds=kinds, place=asked.place), __doc__, "crashes of a broker"))
