"""One run: the same records in Kafka, in Holdfast and in Parquet; every job by every reader; then how it grows."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.bars import write_bars
from benchmarks.broker import brokers
from benchmarks.figures import Figures
from benchmarks.machine import versions
from benchmarks.results import Run, new_run, publish
from benchmarks.spark.growth import growth
from benchmarks.spark.places import Asked, compared
from benchmarks.spark.tables import ratio_bars, tables
from rich.console import Console

TITLE = "Spark"
METHOD = """\
Every reader has a Spark driver (`local[2]`) of its own, and does each job three times on a topic of 4,000 rows before
it is measured: that loads classes and starts Python workers. Rows a second are of the job alone. CPU seconds are those
of the driver, the JVM, all Python workers and, for readers that need one, the broker, from the job's beginning to its
end; processes that ended meanwhile are counted. A job of less than two seconds is done again, up to five times, and its
mean counts. The connector on Holdfast is measured in the first round only.

`count` of the whole readers makes all columns of all rows and throws them away; `narrow` asks for one column. The
filter is a `where` on `timestamp` that one row in a hundred passes; Holdfast gets it pushed down, Spark's connector has
no way to. `archive` writes Parquet, with snappy. `audit` counts offsets and checks the bytes: ours is the command,
theirs counts distinct offsets and sums up crcs. Records have a key of 10 bytes and a value of the size given, a time of
their own every 10 ms, and lie in batches of lz4, in four partitions."""

ROWS = 5_000_000
SIZES = (100, 1024)
talk = Console(stderr=True)


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that brokers and files go, too.
    started = time.monotonic()
    with fresh(arguments.dir / "spark") as place:
        # A name that nobody has used: a broker that an earlier run left behind may still write into that run's folder.
        folder = Path(tempfile.mkdtemp(dir=place))
        asked = Asked(arguments.rows, arguments.rounds, SIZES[:1] if arguments.quick else SIZES, folder, _tell)
        run = _measured(arguments, asked)
    run["scale"] = {**run["scale"], "minutes": round((time.monotonic() - started) / 60, 1)}
    stem = stored_as(arguments, "spark", part=asked.rows != ROWS)
    publish(run, TITLE, METHOD, tables(run), stem, lambda path: write_bars(ratio_bars(run), path))
    _tell(f"took {run['scale']['minutes']} minutes")
    return 1 if Figures(run["measurements"]).errors() else 0


def _measured(arguments: argparse.Namespace, asked: Asked) -> Run:
    measurements = [*compared(asked), *growth(asked)]
    scale = {"rounds": asked.rounds, "quick": arguments.quick, "rows": asked.rows}
    run = new_run(scale, arguments.dir, versions("pyspark", "pyarrow") | {"kafka": "4.3.1"}, measurements)
    if not brokers.kafka_is_there():
        run["notes"].append("Apache Kafka is not there: run .ci/install-java-clients, which needs a JDK and Maven")
    run["notes"] += Figures(measurements).errors()
    return run


def _arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = parser_of("Measure Spark on stored topics beside its Kafka connector.", less="values of 100 bytes only")
    parser.add_argument("--rows", type=int, default=ROWS, help="with another number no results are written")
    parser.add_argument("--rounds", type=int, default=0, help="how many rounds (default 2; quick 1)")
    asked = parser.parse_args(given)
    asked.rounds = asked.rounds or (1 if asked.quick else 2)
    return asked


def _tell(sentence: str) -> None:
    talk.print(sentence, markup=False)
