"""One run from start to end: arguments, measurements, tables, files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import machine
from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.broker.brokers import kafka_is_there
from benchmarks.cluster import measure, workers
from benchmarks.results import new_run, publish
from benchmarks.tables import Table
from rich.console import Console
from tests.support.s3_server import missing

TITLE = "Several brokers on one bucket"
METHOD = """\
Real brokers (`serve --cluster`, `cluster.leaders=many`) on a real S3 server (versitygw, on the same disk), with
a TCP proxy in between that takes the time each row names, half of it in each direction. Brokers, store, proxy and
clients share the cores.

Acks: one broker; one writer sends a record of 100 B and waits for its ack, then librdkafka sends records of 1 KiB as
fast as it goes. Puts are rounds. An interval is `wal.interval_ms`.

Takeover: three brokers with default settings hold what the row names in rounds that are not flushed; one is killed. The
time is from the kill to the ack of one new record in each of its partitions, as librdkafka sees it. Others wait 4.5 s
(`cluster.takeover_ms`) before they begin.

Hand-over: three brokers, `wal.interval_ms=5`, a record every 5 ms to the next of 12 partitions. The pause is the
longest time that a record of a partition that moves waits for its ack, beside what a record usually waits.

Cost: three brokers, 12 partitions, default settings; requests as the proxy counts them, for each broker.
Dollars are those of requests on S3 Standard: 0.005 for 1,000 puts or lists, 0.0004 for 1,000 gets. Stored bytes are not
in it.

Workers: the load generator in C of the broker's benchmark sends requests with acks=all to a topic that each worker
leads. Workers keep their rounds in a directory and wait 5 ms for more (`wal.interval_ms`); `serve` alone has a
write-ahead log with an fsync for each ack; Kafka has none."""
PARTS = ("acks", "takeover", "handover", "cost", "workers")


class Row(NamedTuple):
    """One measurement: which table it is in, what it is about, and how to make it."""

    part: str
    about: tuple[str, ...]
    make: Callable[[Path], measure.Figures]


class Columns(NamedTuple):
    title: str
    about: tuple[str, ...]
    figures: dict[str, tuple[str, int]]  # Name → heading, digits.


COLUMNS = {
    "acks": Columns(
        "Acks and throughput",
        ("latency of the store, ms", "interval, ms"),
        {
            "p50_ms": ("ack p50, ms", 1),
            "p99_ms": ("ack p99, ms", 1),
            "mb_per_s": ("MB/s", 0),
            "puts_per_s": ("puts/s", 0),
        },
    ),
    "takeover": Columns(
        "Takeover of a killed broker, one of three",
        ("latency of the store, ms", "partitions", "in rounds, MiB"),
        {
            "lost_partitions": ("partitions of the lost one", 0),
            "first_s": ("first ack after, s", 1),
            "last_s": ("last ack after, s", 1),
        },
    ),
    "handover": Columns(
        "Hand-over, as a producer sees it",
        ("latency of the store, ms",),
        {
            "usual_ms": ("an ack usually, ms", 0),
            "move_ms": ("longest in a move, median, ms", 0),
            "move_ms_most": ("most, ms", 0),
            "drained_partitions": ("drained partitions", 0),
            "drain_s": ("drain, s", 1),
            "drain_ms_most": ("longest in a drain, ms", 0),
            "errors": ("errors", 0),
        },
    ),
    "cost": Columns(
        "Requests of one broker of three",
        ("load of all",),
        {
            "puts_per_s": ("puts/s", 2),
            "rounds_per_s": ("of these rounds/s", 2),
            "gets_per_s": ("gets/s", 2),
            "lists_per_s": ("lists/s", 2),
            "deletes_per_s": ("deletes/s", 2),
            "dollars_a_month": ("dollars a month", 2),
        },
    ),
    "workers": Columns(
        "Workers on two cores",
        ("who", "requests of"),
        {"requests_per_s": ("requests/s", 0), "mb_per_s": ("MB/s", 1)},
    ),
}


def rows(*, quick: bool) -> Iterator[Row]:
    seconds = 1.5 if quick else 4.0
    latencies = (0, 40) if quick else (0, 5, 15, 40)
    for latency in latencies:
        for interval in (5, 100):
            make = partial(measure.acks, latency_ms=latency, interval_ms=interval, seconds=seconds)
            yield Row("acks", (str(latency), str(interval)), make)
    sizes = ((30, 8),) if quick else ((30, 32), (300, 32), (300, 256))
    for latency in (0,) if quick else (0, 40):
        for partitions, mib in sizes:
            make = partial(measure.takeover, latency_ms=latency, partitions=partitions, mib=mib)
            yield Row("takeover", (str(latency), str(partitions), str(mib)), make)
    for latency in latencies:
        make = partial(measure.handover, latency_ms=latency, partitions=12, moves=2 if quick else 5)
        yield Row("handover", (str(latency),), make)
    for name, amount in (("none", 0.0), ("1 MB/s", 1.0)):
        yield Row("cost", (name,), partial(measure.cost, seconds=5.0 if quick else 20.0, mb_per_s=amount))
    kinds = ["serve", "workers 1", "workers 2", *(["kafka"] if kafka_is_there() else [])]
    for what in workers.REQUESTS:
        for kind in kinds:
            yield Row("workers", (kind, what), partial(workers.requests, kind, what, seconds=seconds))


def main() -> int:
    parser = parser_of("Measure several brokers on one bucket.", less="two latencies, and less of everything")
    parser.add_argument("--part", choices=PARTS, help="only this; writes as a quick run does")
    parser.add_argument("--rounds", type=int, default=1, help="the median of so many (default 1)")
    asked = parser.parse_args()
    if reason := missing():
        raise SystemExit(f"there is nothing to measure: {reason}")
    talk = Console(stderr=True)
    figures: list[dict[str, object]] = []
    chosen = [row for row in rows(quick=asked.quick) if asked.part in (None, row.part)]
    for number in range(asked.rounds):
        for row in chosen:
            before = machine.around()
            with fresh(asked.dir / "cluster") as folder:
                found = _made(row, folder)
            told = ", ".join(
                f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                for name, value in found.items()
            )
            talk.print(f"{row.part} {' · '.join(row.about)}: {told}", markup=False, highlight=False)
            figures.append({"part": row.part, "about": list(row.about), "round": number, **found, **before})
    facts = {"rounds": asked.rounds, "quick": asked.quick}
    run = new_run(facts, asked.dir, machine.versions("confluent-kafka"), figures)
    run["notes"] += _failed(figures)
    publish(run, TITLE, METHOD, _tables(figures), stored_as(asked, "cluster", part=asked.part is not None))
    return 1 if _failed(figures) else 0


def _made(row: Row, folder: Path) -> dict[str, object]:
    """One that fails is told of in its place, and keeps no other from being measured."""
    try:
        return dict(row.make(folder))
    except Exception as failure:
        return {"error": f"{type(failure).__name__}: {str(failure).strip()[:200]}"}


def _failed(figures: list[dict[str, object]]) -> list[str]:
    return [
        f"{each['part']} {' · '.join(each['about'])} failed: {each['error']}" for each in figures if "error" in each
    ]  # type: ignore[arg-type]


def _tables(figures: list[dict[str, object]]) -> list[Table]:
    tables = []
    for part, columns in COLUMNS.items():
        of_part = [each for each in figures if each["part"] == part]
        if not of_part:
            continue
        names = dict.fromkeys(tuple(each["about"]) for each in of_part)  # type: ignore[arg-type]
        lines = []
        for about in names:
            same = [each for each in of_part if tuple(each["about"]) == about and "error" not in each]  # type: ignore[arg-type]
            cells = [
                f"{median([float(str(each[name])) for each in same]):,.{digits}f}" if same else "failed"
                for name, (_, digits) in columns.figures.items()
            ]
            lines.append([*about, *cells])
        headings = [*columns.about, *(heading for heading, _ in columns.figures.values())]
        tables.append(Table(columns.title, headings, lines))
    return tables
