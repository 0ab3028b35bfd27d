"""What visitors of the console cost: a broker with many partitions, idle and while it is written to."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.operate.load import create
from benchmarks.operate.measure import MIB, Figures, Scale, Tell, fresh_folder
from benchmarks.operate.process import Measured

PAGES = (
    "/",
    "/topics",
    "/topics/many",
    "/topics/many/0",
    "/groups",
    "/transactions",
    "/wal",
    "/store",
    "/subscriptions",
)
VISITORS = 16
TURNS = 3


def looked_at(directory: Path, scale: Scale, tell: Tell) -> list[Figures]:
    """One visitor on each page, and as many as there may be while the produce benchmark runs; in turns with nobody."""
    measured = Measured(fresh_folder(directory / "console"), ("serve.console_listen=127.0.0.1:0",))
    measured.start()
    create(measured.broker.bootstrap, "many", scale.partitions)
    measured.produce("many", scale.partitions, scale.loaded_size // 8)
    rows = [_one_visitor(measured, scale, path, tell) for path in PAGES]
    tell("writing to it while it is looked at")
    everybody = [PAGES[number % len(PAGES)] for number in range(VISITORS)]
    speeds: dict[int, list[float]] = {0: [], VISITORS: []}
    costs: dict[int, list[float]] = {0: [], VISITORS: []}
    for turn in range(TURNS):
        for paths in ([], everybody) if turn % 2 else (everybody, []):
            with _visited(_address(measured), paths):
                cpu = measured.cpu_seconds()
                seconds = measured.produce("many", scale.partitions, scale.loaded_size)
            speeds[len(paths)].append(scale.loaded_size / MIB / seconds)
            costs[len(paths)].append(measured.cpu_seconds() - cpu)
    for visitors, each in speeds.items():
        ratios = [one / alone for one, alone in zip(each, speeds[0], strict=True)]
        dearer = [one / alone for one, alone in zip(costs[visitors], costs[0], strict=True)]
        found = {"mib_per_s": median(each), "ratio": median(ratios), "ratio_least": min(ratios)}
        found |= {"cpu_s": median(costs[visitors]), "cpu_ratio": median(dearer), "memory_mib": measured.memory_mib()}
        rows.append({"what": "loaded", "visitors": visitors, **found})
    measured.broker.stop(600)
    return rows


def _one_visitor(measured: Measured, scale: Scale, path: str, tell: Tell) -> Figures:
    """In turns without and with: what the visitor takes is the difference of each pair."""
    tell(f"looking at {path}")
    alone, more = [], []
    for _ in range(TURNS):
        alone.append(_used(measured, scale))
        with _visited(_address(measured), [path]):
            more.append(_used(measured, scale) - alone[-1])
    return {
        "what": path,
        "visitors": 1,
        "idle_percent": median(alone),
        "core_percent": median(more),
        "core_percent_most": max(more),
        "memory_mib": measured.memory_mib(),
    }


def _used(measured: Measured, scale: Scale) -> float:
    """Percent of a core."""
    cpu, began = measured.cpu_seconds(), time.monotonic()
    time.sleep(scale.idle_s / 3)
    return (measured.cpu_seconds() - cpu) / (time.monotonic() - began) * 100


def _address(measured: Measured) -> str:
    [said] = [line for line in measured.broker.said if "console at " in line][-1:]
    return said.rpartition(" ")[2].rstrip("/")


@contextmanager
def _visited(address: str, paths: list[str]) -> Iterator[None]:
    """Somebody follows each of these pages, in a process of their own: the producer's must not wait for them."""
    if not paths:
        yield
        return
    visitors = subprocess.Popen([sys.executable, "-c", _FOLLOW, address, *paths], stdout=subprocess.PIPE)
    assert visitors.stdout is not None
    for _ in paths:
        visitors.stdout.readline()  # Each has got its page once.
    try:
        yield
    finally:
        visitors.kill()
        visitors.wait()


_FOLLOW = """
import sys, threading, urllib.request

def follow(path):
    asked = urllib.request.Request(sys.argv[1] + path, headers={"Accept": "text/event-stream"})
    with urllib.request.urlopen(asked, timeout=600) as stream:
        stream.readline()
        print(path, flush=True)
        while stream.readline():
            pass

for path in sys.argv[2:]:
    threading.Thread(target=follow, args=(path,)).start()
"""
