"""Measures the partition log: appends and reads against the bare disk, opening, and decoding against Parquet.

.venv/bin/python benchmarks/log/run.py                 about four minutes
.venv/bin/python benchmarks/log/run.py --quick         under a minute, for a first look
.venv/bin/python benchmarks/log/run.py --profile append_many --size 1024
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.log.compare import main

    sys.exit(main())
