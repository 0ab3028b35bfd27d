"""One run from start to end: arguments, every job by every reader, how ours grow, the tables, the files."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks import machine
from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.bars import write_bars
from benchmarks.broker import brokers
from benchmarks.figures import Figures
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


def parse_arguments() -> argparse.Namespace:
    parser = parser_of("Measure Spark on stored topics beside its Kafka connector.", less="values of 100 bytes only")
    parser.add_argument("--rows", type=int, default=ROWS, help="with another number no results are written")
    parser.add_argument("--rounds", type=int, help="how many rounds (default 2; quick 1)")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that brokers and files go, too.
    with fresh(arguments.dir / "spark") as directory:
        # A name that nobody has used: a broker that an earlier run left behind may still write into that run's folder.
        run = measure(arguments, Path(tempfile.mkdtemp(dir=directory)))
    return show(run, stored_as(arguments, "spark", part=arguments.rows != ROWS))


def measure(arguments: argparse.Namespace, directory: Path) -> Run:
    rounds = arguments.rounds or (1 if arguments.quick else 2)
    sizes = SIZES[:1] if arguments.quick else SIZES
    asked = Asked(arguments.rows, rounds, sizes, directory, Console(stderr=True).print)
    measurements = [*compared(asked), *growth(asked)]
    versions = machine.versions("pyspark", "pyarrow") | {"kafka": brokers.KAFKA_VERSION}
    scale = {"rows": asked.rows, "rounds": rounds, "quick": arguments.quick}
    return new_run(scale, arguments.dir, versions, measurements)


def show(run: Run, stem: Path | None) -> int:
    errors = Figures(run["measurements"]).errors()
    run["notes"] += errors + ([] if brokers.kafka_is_there() else [brokers.NO_KAFKA])
    publish(run, TITLE, METHOD, tables(run), stem, partial(write_bars, ratio_bars(run)))
    return 1 if errors else 0
