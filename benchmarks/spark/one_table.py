"""Measures one table over an archive and the log beside Parquet alone, and a table that is kept fresh.

python -m benchmarks.spark.one_table                    5 and 50 million rows, about half an hour
python -m benchmarks.spark.one_table --quick            300,000 rows, for a first look
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks import machine
from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.figures import Figures, Measurement, Spread, ratio, spread
from benchmarks.results import Run, new_run, publish
from benchmarks.spark import servers
from benchmarks.spark.fresh import kept_fresh
from benchmarks.spark.measure import Driver, Place
from benchmarks.spark.places import WARM_ROWS, facts, warm_facts
from benchmarks.tables import Table, median_text, spread_text
from rich.console import Console

TITLE = "Spark: one table over all places"
METHOD = """\
A topic in four partitions, values of 100 B, is archived to Parquet by `holdfast archive`. `parquet` is
`spark.read.parquet` on that directory; `one table` is `holdfast.spark.table` on the topic and the archive, everything
archived; `one table, live` the same with 1 % more rows behind the archive, half of them flushed to segments, half in
the broker's tail. Each reader has a Spark driver (`local[2]`) of its own, and does each job three times on 4,000 rows
before it is measured, and on 100 live ones where it reads such. Seconds are those of making the frame and of the job;
CPU seconds those of driver, JVM, Python workers and, where it is asked, the broker. The filter is a `where` on
`timestamp` that one row in a hundred passes.

A table that is kept fresh: `holdfast tables run --master none` on one topic with `holdfast.table.freshness.ms`, whose
records a producer sends at a steady rate. Freshness is from a record's ack to the commit that has it, as its lines say;
CPU is that of `tables run` alone, for a million rows."""
SIZE = 100
JOBS = {"count": "count", "sum": "sum(length(value))", "filter": "1 % by timestamp"}
READERS = ("parquet", "one table", "one table, live")
AIM = 1.3


def parse_arguments() -> argparse.Namespace:
    parser = parser_of("Measure one table over an archive and the log.", less="300,000 rows")
    parser.add_argument("--rows", type=int, nargs="*", help="how many rows (default 5 and 50 million)")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main() -> int:
    asked = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that brokers and files go, too.
    counts = asked.rows if asked.rows is not None else [300_000] if asked.quick else [5_000_000, 50_000_000]
    measurements: list[dict[str, object]] = []
    with fresh(asked.dir / "spark-table") as directory:
        folder = Path(tempfile.mkdtemp(dir=directory))
        for count in counts:
            measurements += compared(count, asked.rounds, folder / str(count))
        measurements += kept_fresh(folder / "fresh", quick=asked.quick)
    run = new_run(
        {"rounds": asked.rounds, "quick": asked.quick}, asked.dir, machine.versions("pyspark", "pyarrow"), measurements
    )
    run["notes"] += Figures(measurements).errors()
    publish(run, TITLE, METHOD, tables(run), stored_as(asked, "spark-table"))
    return 1 if Figures(measurements).errors() else 0


def compared(count: int, rounds: int, folder: Path) -> Iterator[dict[str, object]]:
    """Every job by every reader, in rounds; the order of the readers turns round in every second one."""
    say = Console(stderr=True).print
    with ExitStack() as stack:
        places = list(_places(count, folder, stack))
        for number in range(rounds):
            for place in places[::-1] if number % 2 else places:
                with Driver(place.reader, folder) as driver:
                    for job in JOBS:
                        say(f"{count:,} rows, round {number + 1} of {rounds}: {place.reader}, {job} …")
                        label = f"{place.reader}.{job}"
                        yield {"round": number, "label": label, "size": count, **driver.measure(job, place)}
    shutil.rmtree(folder, ignore_errors=True)


def _places(count: int, folder: Path, stack: ExitStack) -> Iterator[Place]:
    data, extra = folder / "data", count // 100
    say = Console(stderr=True).print
    say(f"filling with {count:,} rows …")
    with servers.ours(data) as filled:
        for topic, rows in (("warm", WARM_ROWS), ("rows", count)):
            servers.fill(filled.address, topic, SIZE, rows)
    for topic in ("warm", "rows"):
        _archive(data, topic, folder / f"parquet-{topic}")
    copied = folder / "live"
    shutil.copytree(data, copied, copy_function=_linked)
    ours = stack.enter_context(servers.ours(copied))
    servers.add(ours.address, "rows", SIZE, count, extra // 2)
    servers.flush(ours.address, "rows")
    servers.add(ours.address, "rows", SIZE, count + extra // 2, extra - extra // 2)
    servers.add(ours.address, "warm", SIZE, WARM_ROWS, 100)
    given, warm = facts(count, SIZE, folder), warm_facts(folder)
    yield Place("parquet", given, warm)
    yield Place("one table", given | {"path": str(data)}, warm)
    live = given | {"path": str(copied), "address": ours.address, "rows": str(count + extra)}
    yield Place("one table, live", live, warm | {"rows": str(WARM_ROWS + 100)}, ours.pid)


def _linked(source: str, target: str) -> None:
    """Sealed objects never change: only what a broker writes on is copied."""
    path = Path(target)
    if "/objects/segments/" in source:
        path.hardlink_to(source)
    else:
        shutil.copy2(source, target)


def _archive(data: Path, topic: str, target: Path) -> None:
    from holdfast.catalog.catalog import open_catalog
    from holdfast.spark.jobs.archive.archive import archive
    from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store
    from holdfast.spark.session.small import SmallFirst

    here = SmallFirst(lambda: None, None, lambda _: None)
    catalog = open_catalog(str(data), topics=[topic])
    archive(here, catalog, ParquetTarget(here, parquet_store(str(target))))


def tables(run: Run) -> list[Table]:
    """Seconds and CPU of each reader, and how many times as much as Parquet; then the table that is kept fresh."""
    figures = Figures(run["measurements"])
    made = []
    for count in sorted({int(str(m["size"])) for m in run["measurements"] if "." in str(m["label"])}):
        rows = [
            [f"{what}: {reader}", *_cells(figures, reader, job, count)]
            for job, what in JOBS.items()
            for reader in READERS
        ]
        columns = ["job: reader", "seconds", "CPU s", "times the seconds of Parquet", "times the CPU", f"aim {AIM}"]
        made.append(Table(f"{count:,} rows", columns, rows))
    fresh_rows = [
        [
            str(m["label"]),
            f"{int(str(m['records'])):,}",
            f"{float(str(m['p50_ms'])):,.0f}",
            f"{float(str(m['p99_ms'])):,.0f}",
            f"{float(str(m['cpu_seconds'])):.2f}",
            f"{float(str(m['cpu_per_million'])):.2f}",
        ]
        for m in run["measurements"]
        if str(m["label"]).startswith("fresh")
    ]
    columns = ["table, rate, wanted freshness", "rows", "p50 ms", "p99 ms", "CPU s", "CPU s for a million rows"]
    return [*made, Table("A table that is kept fresh", columns, fresh_rows)]


def _seconds(measurement: Measurement) -> float:
    return measurement["seconds"]


def _cpu(measurement: Measurement) -> float:
    return measurement["cpu_seconds"]


def _cells(figures: Figures, reader: str, job: str, count: int) -> list[str]:
    figures_of = [
        [figures.series(f"{each}.{job}", count, what) for each in (reader, "parquet")] for what in (_seconds, _cpu)
    ]
    took, cpu = (spread(ours) for ours, _ in figures_of)
    times = [spread(ratio(ours, theirs)) for ours, theirs in figures_of]
    told = ["", "", ""] if reader == "parquet" else [*map(spread_text, times), _verdict(reader, times)]
    return [median_text(took, 3), median_text(cpu, 2), *told]


def _verdict(reader: str, times: Sequence[Spread | None]) -> str:
    """Of what is archived: met by both, by one, or by none."""
    if reader != "one table":
        return ""
    met = [what for what, each in zip(("seconds", "CPU"), times, strict=True) if each and each.median <= AIM]
    return {2: "met", 1: f"met by {met[0]}" if met else "", 0: "missed"}[len(met)]


if __name__ == "__main__":
    sys.exit(main())
