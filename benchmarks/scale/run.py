"""Measures how the cost of a broker grows with partitions, connections, stored records and groups.

.venv/bin/python benchmarks/scale/run.py                    some minutes
.venv/bin/python benchmarks/scale/run.py --quick            less of everything
.venv/bin/python benchmarks/scale/run.py --part groups      only this; writes as a quick run does
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.scale.compare import main

    sys.exit(main())
