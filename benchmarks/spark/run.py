"""Measures Spark on stored topics beside Spark's Kafka connector, on Apache Kafka and on Holdfast, and beside Parquet.

.venv/bin/python benchmarks/spark/run.py                            5 million rows of each size, about half an hour
.venv/bin/python benchmarks/spark/run.py --quick --rows 300000      one round, for a first look
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # The checkout, so that every module has one name.
    from benchmarks.spark.compare import main

    sys.exit(main())
