"""Search for schedules in which rounds in the store lose or invent something:

    python tests/rounds/search.py --seeds 10000 --start 0

Every seed is several processes that take over from each other on one store. They take turns at every call to it, are
stopped for hours, killed, told of failures, and their requests arrive late. The same seed gives the same run.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # So that it runs as a file, too.

from tests.rounds.world import World
from tests.support.seed_search import main

if __name__ == "__main__":
    sys.exit(main(World, __doc__, "crashes of a process"))
