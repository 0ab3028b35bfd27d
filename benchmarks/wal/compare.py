"""One comparison from start to end: arguments, building the peer, the rounds, the tables, the files."""

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
from benchmarks.machine import CHECKOUT
from benchmarks.results import Run, new_run, publish
from benchmarks.rounds import Group, Runner, Step
from benchmarks.wal import peer, plan
from benchmarks.wal.aims import aims
from benchmarks.wal.tables import aim_table, latency_table, memory_table, workload_table
from rich.console import Console

TITLE = "The write-ahead log, side by side"
METHOD = """\
Each step runs in a process of its own on a fresh directory. Those that flush run at the same time but take turns of a
tenth of a second, so that drift of the disk hits all alike; the order turns round in every second round. A ratio is
taken between two steps of one round, and its median, lowest and highest over the rounds are given. The raw limit is a
loop of write and fdatasync in Rust over a file that was written before (in Python when there is no cargo), with frames
of the size ours have. Both logs have the same limits for chunks and cache; the peer's `flush_batch_wait` is 0 except
where the table says otherwise. Files that are replayed or read are in the page cache."""


def parse_arguments() -> argparse.Namespace:
    parser = parser_of("Measure the write-ahead log beside raft-log and the bare disk.", less="fewer entries, shorter")
    parser.add_argument("--rounds", type=int, help="how many rounds (default 5; quick 2)")
    parser.add_argument("--profile", metavar="WORKLOAD", help="only show where one workload of ours spends its time")
    parser.add_argument("--size", type=int, default=1024, help="entry size for --profile")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if not has_fsync(arguments.dir):
        return 2
    with fresh(arguments.dir / "wal") as directory:
        if arguments.profile:
            return profile(arguments.profile, arguments.size, directory)
        run = measure(arguments, directory, Console(stderr=True))
    return show(run, stored_as(arguments, "wal"))


def measure(arguments: argparse.Namespace, directory: Path, talk: Console) -> Run:
    scale = plan.QUICK if arguments.quick else plan.FULL
    if arguments.rounds:
        scale = dataclasses.replace(scale, rounds=arguments.rounds)
    with talk.status("building the peer"):
        program, missing = peer.build()
    with talk.status("measuring") as status:
        groups = [_without_peer(group) if program is None else group for group in plan.groups(scale)]
        measurements = list(Runner(directory, _Command(program)).rounds(groups, scale.rounds, status.update))
    versions = machine.versions("crc32c", "numba", "numpy") | (peer.versions() if program else {})
    run = new_run(dataclasses.asdict(scale) | {"quick": arguments.quick}, arguments.dir, versions, measurements)
    run["notes"] += [missing] if missing else []
    return run


def _without_peer(group: Group) -> Group:
    return dataclasses.replace(group, steps=[step for step in group.steps if step.program != "peer"])


class _Command:
    """How a step is started."""

    def __init__(self, peer_program: Path | None) -> None:
        python = [sys.executable, "-m"]
        self._programs = {"ours": [*python, "benchmarks.wal.ours"], "raw": [*python, "benchmarks.raw"]}
        self._programs["peer"] = [str(peer_program)]

    def __call__(self, step: Step, place: Path, turns: int) -> list[str]:
        values = {
            **plan.LIMITS,
            **plan.SHARED,
            "wait_us": 0,
            "turns": turns,
            "size": step.size,
            "dir": place,
            **step.arguments,
        }
        return [*self._programs[step.program], step.workload, *(f"{key}={value}" for key, value in values.items())]


def show(run: Run, stem: Path | None) -> int:
    from benchmarks.wal.plot import write_plot  # Slow to import, and only needed here.

    figures = Figures(run["measurements"])
    run["notes"] += figures.errors()
    tables = [aim_table(aims(figures)), workload_table(figures), latency_table(figures), memory_table(figures)]
    publish(run, TITLE, METHOD, tables, stem, partial(write_plot, figures))
    return 1 if figures.errors() else 0


def profile(workload: str, size: int, directory: Path) -> int:
    """One workload under the profiler; those that read get a directory written by another process first."""
    values = (
        plan.LIMITS
        | plan.SHARED
        | {
            "size": size,
            "dir": directory / "profiled",
            "seconds": 2.0,
            "turns": 1,
            "batch": plan.BATCH,
        }
    )
    values |= {"entries": plan.FULL.entries.get(size, 100_000), "appenders": plan.APPENDERS}
    given = [f"{key}={value}" for key, value in values.items()]
    name, _, written_by = workload.partition("_after_")

    def start(module: str, name: str) -> int:
        command = [sys.executable, "-m", f"benchmarks.wal.{module}", name, *given]
        return subprocess.run(command, cwd=CHECKOUT, stdin=subprocess.DEVNULL).returncode

    if name in ("replay", "read_disk"):
        start("ours", written_by or "batch")
    return start("where", name)
