"""Measures the broker beside Apache Kafka, as it is and with an fsync per ack: same clients, same machine, one run.

.venv/bin/python benchmarks/broker/run.py              about half an hour
.venv/bin/python benchmarks/broker/run.py --quick      three minutes, for a first look
.venv/bin/python benchmarks/broker/run.py --only transactions
.venv/bin/python benchmarks/broker/run.py --part broker-partitions
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.broker.compare import main

    sys.exit(main())
