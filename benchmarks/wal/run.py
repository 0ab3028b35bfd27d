"""Measures the write-ahead log side by side with the raft-log crate and with the bare disk.

.venv/bin/python benchmarks/wal/run.py                 about five minutes
.venv/bin/python benchmarks/wal/run.py --quick         under a minute, for a first look
.venv/bin/python benchmarks/wal/run.py --profile batch --size 1024
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.wal.compare import main

    sys.exit(main())
