"""A table that is kept fresh while records come at a steady rate: how old rows are when they appear, and the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.machine import around
from benchmarks.spark import servers
from benchmarks.spark.cpu import tree_seconds

from holdfast.client import Client
from holdfast.record.build import build
from holdfast.record.records import Record

FORMATS = ("parquet", "delta", "iceberg")
RATES = ((1_000, 2_000), (20_000, 10_000))  # Records a second, and the freshness that is wanted, in milliseconds.
SECONDS = 20.0
_TICK_S = 0.05


def kept_fresh(folder: Path, *, quick: bool) -> Iterator[dict[str, object]]:
    """Each format at each rate, one after the other."""
    for number, (rate, wanted_ms) in enumerate(RATES[:1] if quick else RATES):
        for kind in FORMATS[:1] if quick else FORMATS:
            now: dict[str, object] = {**around()}
            found = _one(folder / f"{kind}-{number}", kind, rate, wanted_ms, 6.0 if quick else SECONDS)
            label = f"fresh: {kind}, {rate:,}/s, {wanted_ms / 1000:g} s"
            yield {"round": 0, "label": label, "size": rate, **now, **found}


def _one(folder: Path, kind: str, rate: int, wanted_ms: int, seconds: float) -> dict[str, object]:
    configs = {"format": kind, "location": str(folder / "table"), "freshness.ms": str(wanted_ms)}
    with servers.ours(folder / "data") as broker, Client(broker.address) as client:
        client.create_topics({"t": 4}, {f"holdfast.table.{name}": text for name, text in configs.items()})
        command = [str(Path(sys.executable).parent / "holdfast"), "tables", "run", "--path", str(folder / "data")]
        command += ["--bootstrap", broker.address, "--master", "none", "--json"]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        ) as process:
            try:
                return _followed(process, client, rate, seconds)
            finally:
                process.terminate()


def _followed(process: subprocess.Popen[str], client: Client, rate: int, seconds: float) -> dict[str, object]:
    """Acks by their time, commits by theirs: a row is as fresh as the commit that has it is late."""
    commits: list[tuple[float, int]] = []
    arrived = threading.Condition()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with arrived:
                commits.append((time.monotonic(), int(json.loads(line)["rows"])))
                arrived.notify()

    threading.Thread(target=read, daemon=True).start()
    _send(client, 100)  # A first commit loads what a process loads once.
    with arrived:
        arrived.wait_for(lambda: sum(rows for _, rows in commits) >= 100, 60)
        commits.clear()
    before = tree_seconds(process.pid)
    acks = []  # When, and how many rows.
    start, sent = time.monotonic(), 0
    while (now := time.monotonic()) < start + seconds:
        due = int(rate * (now - start)) - sent
        if due:
            _send(client, due)
            sent += due
            acks.append((time.monotonic(), due))
        time.sleep(_TICK_S)
    with arrived:
        whole = arrived.wait_for(lambda: sum(rows for _, rows in commits) >= sent, 60)
    cpu = tree_seconds(process.pid) - before
    if not whole:
        return {"error": f"{sum(rows for _, rows in commits)} of {sent} rows came into the table"}
    ages = sorted(_ages(acks, commits))
    middle, late = ages[len(ages) // 2], ages[len(ages) * 99 // 100]
    return {
        "records": sent,
        "seconds": round(seconds, 1),
        "commits": len(commits),
        "p50_ms": round(1000 * middle),
        "p99_ms": round(1000 * late),
        "cpu_seconds": round(cpu, 2),
        "cpu_per_million": round(cpu / sent * 1_000_000, 2),
    }


def _ages(acks: list[tuple[float, int]], commits: list[tuple[float, int]]) -> Iterator[float]:
    """By ack. Commits take rows in the order of acks, as each partition does."""
    waiting, done = list(commits), 0
    seen = 0
    for at, rows in acks:
        seen += rows
        while done < seen and waiting:
            when, count = waiting.pop(0)
            done += count
            last = when
        yield last - at


def _send(client: Client, count: int) -> None:
    now_ms = time.time_ns() // 1_000_000
    rows = [Record(b"key-%d" % (n % 100_000), b"%0100d" % n, now_ms) for n in range(count)]
    client.produce({("t", number): build(rows[number::4]) for number in range(4) if rows[number::4]})
