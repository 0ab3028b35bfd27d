"""One run from start to end: arguments, measurements, tables, files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

from benchmarks import machine
from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.operate import measure
from benchmarks.operate.sustained import Sustained, write_plot
from benchmarks.operate.visitors import TURNS, looked_at
from benchmarks.results import Run, new_run, publish, show, write_json
from benchmarks.tables import Table
from rich.console import Console

TITLE = "Operating: many partitions, and recovery"
METHOD = """\
One `holdfast serve` with its store in a directory on the same disk, default settings where nothing else is said, and
librdkafka as the client, on the same machine. CPU, memory and file handles are those of the broker's process. Store
requests are counted by the broker itself: those of the start, those of the first round of upkeep after it, in which
every partition is looked at for garbage, and those of an hour from then on, in which nothing changes. For this count
all upkeep runs ten times as often as usual.

Sustained: librdkafka sends 1 KiB records to all partitions as fast as it goes, with a write-ahead log whose limit is
small, so that it is at its limit after a short while and stays there. What was acknowledged is counted second by
second from that moment on; the slowest second stands beside the mean.

Recovery is timed from the start of the process until it says that it serves, after kill -9, with all records of the
write-ahead log unflushed. The same amount of log lies beside little stored data and beside ten times as much; the two
take turns."""
CONSOLE_TITLE = "What visitors of the console cost"
CONSOLE_METHOD = """\
One `holdfast serve` with 2,000 partitions, default settings. Whoever looks follows one page, as a browser does. What
one visitor costs is the processor time of the idle broker with and without them, in three turns each; what sixteen cost
is the speed at which the same records are written, and the processor time that the broker takes for it, with and
without them, in three turns each."""
HEADINGS = {
    "cpu_s_per_minute": "CPU, s per minute",
    "memory_mib": "memory, MiB",
    "file_handles": "file handles",
    "requests": "store requests",
    "slowest_mib_per_s": "slowest second, MiB/s",
    "slowest_part": "slowest, part of the mean",
    "held_back_s": "producers held back, s",
    "mib_per_s": "MiB/s",
    "records_per_s": "records/s",
    "start_s": "start, s",
    "make_topic_s": "topic made, s",
    "start_requests": "store requests, start",
    "first_round_requests": "store requests, first round",
    "requests_per_hour": "store requests per hour, later",
    "start_cpu_s": "start, CPU s",
    "stored_mib": "stored, MiB",
    "wal_mib": "log, MiB",
    "recovery_s": "log read, s",
    "s_per_gib": "start, s per GiB of log",
    "idle_percent": "nobody looks, % of a core",
    "core_percent": "a visitor, % of a core",
    "core_percent_most": "at most",
    "ratio": "÷ nobody",
    "ratio_least": "at least",
    "cpu_s": "CPU, s",
    "cpu_ratio": "CPU ÷ nobody",
}

PARTS = {
    "partitions": measure.many_partitions,
    "sustained": measure.at_the_limit,
    "recovery": measure.recovery,
    "console": looked_at,
}
STORED = ("console",)  # A part with results of its own.


def main() -> int:
    parser = parser_of("Measure a broker with thousands of partitions, and recovery.", less="less of everything")
    parser.add_argument("--seconds", type=float, help="how long to produce at the limit of the log (default 600)")
    parser.add_argument("--partitions", type=int, help="how many (default 2,000)")
    parser.add_argument("--part", choices=list(PARTS), help="only this; writes as a quick run does, but for console")
    arguments = parser.parse_args()
    scale, talk = measure.QUICK if arguments.quick else measure.FULL, Console(stderr=True)
    asked = {"sustained_s": arguments.seconds, "partitions": arguments.partitions}
    scale = dataclasses.replace(scale, **{name: value for name, value in asked.items() if value is not None})
    facts = dataclasses.asdict(scale) | {"quick": arguments.quick}
    if arguments.part in STORED:
        facts["rounds"] = TURNS
    figures: list[measure.Figures] = []
    with fresh(arguments.dir / "operate") as directory:
        for name, part in PARTS.items():
            if arguments.part in (None, name):
                found = _noted(partial(part, directory, scale, talk.print))
                figures += found
                run = new_run(facts, arguments.dir, machine.versions("confluent-kafka"), figures)
                _keep(run, _tables(found, scale), arguments.dir / "operate-so-far.json")
    name = f"operate-{arguments.part}" if arguments.part in STORED else "operate"
    stem = stored_as(arguments, name, part=arguments.part not in (None, *STORED))
    title, method = (
        (CONSOLE_TITLE, CONSOLE_METHOD) if arguments.part in STORED else (TITLE, f"{METHOD}\n\n{CONSOLE_METHOD}")
    )
    publish(run, title, method, _tables(figures, scale), stem, _plot(figures))
    return 0


def _keep(run: Run, tables: list[Table], path: Path) -> None:
    """What took minutes to measure is shown and stored at once: a later part may fail."""
    show(run, tables)
    write_json(run, path)


def _plot(figures: list[measure.Figures]) -> Callable[[Path], None] | None:
    for each in figures:
        if seconds := each.get("each_second_mib"):
            run = Sustained(cast("list[float]", seconds), 0)
            return lambda path: write_plot(run, path)
    return None


def _noted(measured: Callable[[], list[measure.Figures]]) -> list[measure.Figures]:
    before = machine.around()
    return [each | before for each in measured()]


def _tables(figures: list[measure.Figures], scale: measure.Scale) -> list[Table]:
    recovered = [each for each in figures if str(each["what"]).startswith("recovery")]
    limited = [each for each in figures if "each_second_mib" in each]
    visited = [each for each in figures if "visitors" in each]
    others = [each for each in figures if each not in recovered and each not in limited and each not in visited]
    tables = []
    if others:
        wanted = ["make_topic_s", "start_s", "cpu_s_per_minute", "memory_mib", "file_handles", "mib_per_s"]
        wanted += ["records_per_s", "start_requests", "first_round_requests", "requests_per_hour"]
        tables.append(_table(f"{scale.partitions} partitions", others, wanted))
    if limited:
        wanted = ["seconds", "mib_per_s", "slowest_mib_per_s", "slowest_part", "held_back_s", "cpu_s_per_minute"]
        tables.append(
            _table(f"{scale.partitions} partitions at the limit of the log", limited, [*wanted, "memory_mib"])
        )
    if visited:
        wanted = ["visitors", "idle_percent", "core_percent", "core_percent_most"]
        wanted += ["memory_mib", "mib_per_s", "ratio", "ratio_least", "cpu_s", "cpu_ratio"]
        tables.append(_table(f"{scale.partitions} partitions, looked at through the console", visited, wanted))
    if recovered:
        wanted = ["round", "stored_mib", "wal_mib", "recovery_s", "start_s", "start_cpu_s", "s_per_gib"]
        tables.append(_table("Recovery", recovered, wanted))
    return tables


def _table(title: str, figures: list[measure.Figures], wanted: list[str]) -> Table:
    rows = [[str(each["what"]), *(_text(each.get(name)) for name in wanted)] for each in figures]
    return Table(title, ["", *(HEADINGS.get(name, name) for name in wanted)], rows)


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.2f}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"
