"""Search for crashes that lose or invent something, over as many seeds as one likes: `make crash SEEDS=…`.

Every seed is several lives of one log on a simulated disk, each ended by a kill or a power cut at a random call. A
seed that found something is printed; the same seed gives the same run.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # So that it runs as a file, too.

from tests.support.seed_search import main
from tests.wal.log_lives import LogLives

if __name__ == "__main__":
    sys.exit(main(LogLives, __doc__, "crashes"))
