"""Copies a topic from one cluster to another, with `holdfast sync` and with MirrorMaker 2, in turns.

.venv/bin/python benchmarks/sync/run.py                        about a quarter of an hour
.venv/bin/python benchmarks/sync/run.py --quick            two minutes, for a first look
.venv/bin/python benchmarks/sync/run.py --records 10000000     more of them
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.sync.compare import main

    sys.exit(main())
