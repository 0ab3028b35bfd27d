"""One run from start to end: arguments, the two simulated set-ups, the real thing, the tables, the files."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.bars import write_bars
from benchmarks.figures import Figures, ratio, spread
from benchmarks.machine import around
from benchmarks.results import Run, new_run, publish
from benchmarks.subscribe import files, real, sends, where
from benchmarks.subscribe.tables import REAL, SIMULATED, all_tables
from rich.console import Console

TITLE = "Subscriptions"
PROFILED_MAX = 3_000_000  # Events.
METHOD = """\
The first table has simulated costs: every message that is sent takes 50 µs of a core, every file that is read 2 ms.
Each event is checked at the client: that it is the next one of its partition, that its value is right, and that the
merged order holds. Messages hold at most 256 events and 1 MiB. No network lies between the two ends, but messages are
encoded and decoded. The time of the Python process that stands for the client counts in full.

The second table is real: a broker process, events of 100 bytes in three topics whose timestamps interleave event by
event, all of them flushed to segments, and a client process that reads them to the end over loopback, checked in the
same way. The Kafka consumer reads the same topics without merging them; slow ways read a part of the events. Loading
and compiling is done before the clock starts; connecting is not. The broker and its client share the cores.

The third is the time from handing a record to a Kafka producer, which waits for the fsync, to having it as an event. It
is taken first, with a broker of its own, on a disk that has nothing left to write; a plain Kafka consumer takes turns.

The last is a profile of a client that reads references from the local disk, in the broker's own process: which function
every thread was in, looked at every 2 ms; threads that only wait are left out. Machine code counts for its caller."""


def parse_arguments() -> argparse.Namespace:
    parser = parser_of("Measure subscriptions.", less="fewer events")
    parser.add_argument("--events", type=int, help="how many events to read (default 10 million; quick 300,000)")
    parser.add_argument("--rounds", type=int, help="how many rounds (default 2; quick 1)")
    parser.add_argument("--no-s3", action="store_true", help="only local disk")
    parser.add_argument("--profile", action="store_true", help="only show where a read of references spends its time")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    with fresh(arguments.dir / "subscribe") as directory:
        if arguments.profile:
            return where.show_profile(directory, arguments.events or 1_000_000)
        run = measure(arguments, directory)
    return show(run, stored_as(arguments, "subscribe"))


def measure(arguments: argparse.Namespace, directory: Path) -> Run:
    events = arguments.events or (300_000 if arguments.quick else 10_000_000)
    rounds = arguments.rounds or (1 if arguments.quick else 2)
    talk = Console(stderr=True)
    measurements: list[dict[str, Any]] = []
    with talk.status("measuring") as status:
        for name, part in (("sends", sends), ("files", files)):
            status.update(f"simulated: {name}")
            now = around()
            measurements += [{**now, **row} for row in asyncio.run(part.measure(directory / name, max(rounds, 3)))]
        measurements += real.measure(directory, events, rounds, status.update, s3=not arguments.no_s3)
        status.update("profile")
        now = around()
        measurements += [{**now, **row} for row in where.measure(directory / "profile", min(events, PROFILED_MAX))]
    versions = machine.versions("grpcio", "protobuf", "pyarrow", "numba", "numpy", "confluent-kafka")
    scale = {"events": events, "rounds": rounds, "quick": arguments.quick}
    return new_run(scale, arguments.dir, versions, measurements)


def show(run: Run, stem: Path | None) -> int:
    figures = Figures(run["measurements"])
    run["notes"] += figures.errors()
    publish(run, TITLE, METHOD, all_tables(figures), stem, partial(write_plot, figures))
    return 1 if figures.errors() else 0


def write_plot(figures: Figures, path: Path) -> None:
    """How many times as fast as the plain way, and as a Kafka consumer."""
    simulated, real_ = [], []
    for label, (_, way, base) in SIMULATED.items():
        found = spread(ratio(figures.series(label, 0), figures.series(base, 0))) if base else None
        if found:
            simulated.append((way, found))
    for store in ("disk", "s3"):
        for way, told in REAL.items():
            kafka = figures.series(f"{store}.kafka", 100)
            found = spread(ratio(figures.series(f"{store}.{way}", 100), kafka)) if way != "kafka" else None
            if found:
                real_.append((f"{store}: {told}", found))
    write_bars({"the plain way, simulated costs": simulated, "a Kafka consumer": real_}, path)
