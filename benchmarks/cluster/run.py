"""Measures brokers that share a bucket: acks, throughput, takeovers, hand-overs, requests and what they cost, workers.

.venv/bin/python benchmarks/cluster/run.py                 less than ten minutes
.venv/bin/python benchmarks/cluster/run.py --quick         two minutes, for a first look
.venv/bin/python benchmarks/cluster/run.py --part cost     one of acks, takeover, handover, cost, workers
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.cluster.compare import main

    sys.exit(main())
