"""One comparison from start to end: arguments, building the peer, the rounds, the tables, the files."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.wal import machine, peer, plan
from benchmarks.wal.aims import aims
from benchmarks.wal.figures import Figures
from benchmarks.wal.results import Run, surroundings, write_json, write_markdown
from benchmarks.wal.rounds import Runner
from benchmarks.wal.tables import Table, aim_table, latency_table, memory_table, workload_table
from rich.console import Console
from rich.table import Table as RichTable

MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}
BUSY_PERCENT_MAX = 15
BUSY = "others kept the machine busy, and whoever wakes from an fsync waits for a core: measure again when it is quiet"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the write-ahead log beside raft-log and the bare disk.")
    parser.add_argument("--rounds", type=int, help="how many rounds (default 5; quick 2)")
    parser.add_argument("--quick", action="store_true", help="fewer entries, shorter steps; writes no results")
    parser.add_argument("--dir", type=Path, default=peer.CHECKOUT / ".tools" / "bench", help="on the disk to measure")
    parser.add_argument("--results", type=Path, help="where to write (default benchmarks/results; quick: nowhere)")
    parser.add_argument("--profile", metavar="WORKLOAD", help="only show where one workload of ours spends its time")
    parser.add_argument("--size", type=int, default=1024, help="entry size for --profile")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    talk = Console(stderr=True)
    kind = machine.file_system(arguments.dir)
    if kind in MEMORY_FILE_SYSTEMS:
        talk.print(f"{arguments.dir} is on {kind}, which has no fsync to measure: choose a disk with --dir.")
        return 2
    directory = arguments.dir / "wal"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        if arguments.profile:
            return profile(arguments.profile, arguments.size, directory)
        run = measure(arguments, directory, talk)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return show(run, results_of(arguments))


def measure(arguments: argparse.Namespace, directory: Path, talk: Console) -> Run:
    scale = plan.QUICK if arguments.quick else plan.FULL
    if arguments.rounds:
        scale = dataclasses.replace(scale, rounds=arguments.rounds)
    with talk.status("building the peer"):
        program, missing = peer.build()
    with talk.status("measuring") as status:
        measurements = list(Runner(directory, program).rounds(scale, status.update))
    load, busy = ([float(str(m[key])) for m in measurements] for key in ("load", "busy_percent"))
    return Run(
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        scale=dataclasses.asdict(scale),
        machine=machine.describe(arguments.dir),
        versions=machine.versions() | (peer.versions() if program else {}),
        load=(min(load), max(load)),
        busy_percent=(median(busy), max(busy)),
        notes=[note for note in (missing, BUSY if median(busy) > BUSY_PERCENT_MAX else "") if note],
        measurements=measurements,
    )


def results_of(arguments: argparse.Namespace) -> Path | None:
    if arguments.results or arguments.quick:
        return arguments.results  # type: ignore[no-any-return]
    return peer.CHECKOUT / "benchmarks" / "results"


def show(run: Run, results: Path | None) -> int:
    figures = Figures(run["measurements"])
    run["notes"] += figures.errors()
    found = aims(figures)
    tables = [aim_table(found), workload_table(figures), latency_table(figures), memory_table(figures)]
    output = Console(width=None if sys.stdout.isatty() else 140)
    for table in tables:
        output.print(_rich(table))
    for note in run["notes"]:
        output.print(note, markup=False)
    output.print(surroundings(run), markup=False)
    if results:
        from benchmarks.wal.plot import write_plot  # Slow to import, and only needed here.

        results.mkdir(parents=True, exist_ok=True)
        write_json(run, results / "wal.json")
        write_markdown(run, tables, results / "wal.md")
        write_plot(figures, results / "wal.png")
        output.print(f"written: {results / 'wal'}.json, .md, .png")
    return 1 if figures.errors() else 0


def _rich(table: Table) -> RichTable:
    shown = RichTable(title=table.title, title_justify="left")
    for number, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if number == 0 else "right")
    for row in table.rows:
        shown.add_row(*row)
    return shown


def profile(workload: str, size: int, directory: Path) -> int:
    """One workload under the profiler; those that read get a directory written by another process first."""
    values = plan.LIMITS | {
        "size": size,
        "dir": directory / "profiled",
        "seconds": 2.0,
        "turns": 1,
        "batch": plan.BATCH,
    }
    values |= {"entries": plan.FULL.entries.get(size, 100_000), "appenders": plan.APPENDERS}
    given = [f"{key}={value}" for key, value in values.items()]
    name, _, written_by = workload.partition("_after_")

    def start(module: str, name: str) -> int:
        command = [sys.executable, "-m", f"benchmarks.wal.{module}", name, *given]
        return subprocess.run(command, cwd=peer.CHECKOUT, stdin=subprocess.DEVNULL).returncode

    if name in ("replay", "read_disk"):
        start("ours", written_by or "batch")
    return start("where", name)
