"""Measures subscriptions: two simulated set-ups, then millions of real events on disk and on S3, and live latency.

.venv/bin/python benchmarks/subscribe/run.py                 about ten minutes
.venv/bin/python benchmarks/subscribe/run.py --quick         about a minute, for a first look
.venv/bin/python benchmarks/subscribe/run.py --events 1000000
.venv/bin/python benchmarks/subscribe/run.py --profile       where a merged read of references spends its time
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.subscribe.compare import main

    sys.exit(main())
