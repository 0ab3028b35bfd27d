"""Measures a broker with 2,000 partitions, idle, loaded and at its limits, and how long it takes to recover.

.venv/bin/python benchmarks/operate/run.py                 about half an hour
.venv/bin/python benchmarks/operate/run.py --quick     about a minute, for a first look
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.operate.compare import main

    sys.exit(main())
