"""One run from start to end: arguments, the data to read, the rounds, the tables, the files."""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks import machine
from benchmarks.arguments import fresh, has_fsync, parser_of, stored_as
from benchmarks.figures import Figures
from benchmarks.log import plan
from benchmarks.log.tables import all_tables
from benchmarks.machine import CHECKOUT
from benchmarks.results import Run, new_run, publish
from benchmarks.rounds import Runner, Step
from rich.console import Console

TITLE = "The partition log against the disk"
METHOD = """\
Each step runs in a process of its own; steps that are compared take turns, and their order turns round in every second
round; a ratio is taken between two steps of one round, and its median, lowest and highest over the rounds are given.

Appends wait for their ack, which comes after the fsync. Segments are flushed in the background to a store on the same
disk, so that every byte is written twice, and chunk files of the write-ahead log are used again, as in a log that has
run for a while. The raw limit is a loop of write and fdatasync in Python over a file that was written before: of one
batch at a time for one appender, of 64 at a time (at most 16 MiB) for 64 appenders. *Until flushed* counts until the
last byte is in a committed segment.

Reads go through the whole partition, 1 MiB at a time. The raw limit is a loop that reads the same files into one buffer
of 1 MiB: from the page cache, or, for cold reads, after the page cache was told to drop them.

A partition is opened with everything else open already; its manifests are made by the code that always makes them.

Decoding is of records with keys of 8 and values of 100 bytes, headers on a tenth, in batches of 1,000, with crc check,
to Arrow columns in outputs of 20,000. Parquet holds the same rows in the same codec, in memory; pyarrow reads it with
one thread. The format's own limit is beside it: each batch's crc, and its records decompressed, and nothing else."""


def parse_arguments() -> argparse.Namespace:
    parser = parser_of("Measure the partition log against the bare disk and Parquet.", less="less data, shorter steps")
    parser.add_argument("--rounds", type=int, help="how many rounds (default 5; quick 1)")
    parser.add_argument("--profile", metavar="WORKLOAD", help="only show where appends spend their time")
    parser.add_argument("--size", type=int, default=1024, help="batch size for --profile")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if not has_fsync(arguments.dir):
        return 2
    with fresh(arguments.dir / "log") as directory:
        if arguments.profile:
            return profile(arguments.profile, arguments.size, directory)
        run = measure(arguments, directory, Console(stderr=True))
    return show(run, stored_as(arguments, "log"))


def measure(arguments: argparse.Namespace, directory: Path, talk: Console) -> Run:
    scale = plan.QUICK if arguments.quick else plan.FULL
    if arguments.rounds:
        scale = dataclasses.replace(scale, rounds=arguments.rounds)
    data = directory / "data"
    with talk.status("writing what is to be read"):
        for size, data_size in scale.data_sizes.items():
            step = Step("fill", "ours", "fill", size, arguments={"data_size": data_size})
            subprocess.run(command(step, data / str(size), 1), cwd=CHECKOUT, check=True, stdout=subprocess.DEVNULL)
    with talk.status("measuring") as status:
        groups = plan.groups(scale, data)
        measurements = list(Runner(directory / "rounds", command).rounds(groups, scale.rounds, status.update))
    versions = machine.versions("crc32c", "cramjam", "numba", "numpy", "pyarrow")
    return new_run(dataclasses.asdict(scale) | {"quick": arguments.quick}, arguments.dir, versions, measurements)


def command(step: Step, place: Path, turns: int) -> list[str]:
    values = {"dir": place, "size": step.size, "turns": turns, **step.arguments}
    given = [f"{key}={value}" for key, value in values.items()]
    return [sys.executable, "-m", f"benchmarks.log.{step.program}", step.workload, *given]


def show(run: Run, stem: Path | None) -> int:
    from benchmarks.log.plot import write_plot  # Slow to import, and only needed here.

    figures = Figures(run["measurements"])
    run["notes"] += figures.errors()
    publish(run, TITLE, METHOD, all_tables(figures), stem, partial(write_plot, figures))
    return 1 if figures.errors() else 0


def profile(workload: str, size: int, directory: Path) -> int:
    """Where the time of appends goes."""
    given = [f"dir={directory / 'profiled'}", f"size={size}"]
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.log.where", workload, *given], cwd=CHECKOUT, stdin=subprocess.DEVNULL
    ).returncode
