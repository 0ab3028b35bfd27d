"""Measures what a newcomer waits for: set-up, starts, the first ack, the fixture, the demo, and how large it all is.

.venv/bin/python benchmarks/first/run.py             some five minutes
.venv/bin/python benchmarks/first/run.py --quick     a minute: no set-up from nothing, no demo
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.first.compare import main

    sys.exit(main())
