"""Produce to thousands of partitions for minutes, at the write-ahead log's limit: what each second got through."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import mean

import matplotlib

matplotlib.use("Agg")
from benchmarks.operate.load import create
from benchmarks.operate.process import Measured
from confluent_kafka import Producer
from matplotlib import pyplot

MIB = 1 << 20
VALUE = bytes(range(256)) * 4
AT_ONCE = 200  # Records of one partition behind one another, as many as make a batch.


@dataclass(frozen=True)
class Sustained:
    """What every second got through, from the moment the log had its limit."""

    mib_per_s: Sequence[float]
    warm_up_s: int

    @property
    def mean(self) -> float:
        return mean(self.mib_per_s)

    @property
    def slowest(self) -> float:
        return min(self.mib_per_s)


def sustained(measured: Measured, partitions: int, seconds: float, wal_size_max: int) -> tuple[Sustained, float]:
    """Send as fast as it goes, for so long from the moment the log had its limit; and CPU seconds per minute."""
    create(measured.broker.bootstrap, "sustained", partitions)
    cpu, began = measured.cpu_seconds(), time.monotonic()
    acked = _produce(measured.broker.bootstrap, partitions, seconds, wal_size_max)
    used = (measured.cpu_seconds() - cpu) * 60 / (time.monotonic() - began)
    warm_up_s = 1 + sum(total < wal_size_max for total in accumulate(acked))
    whole = acked[warm_up_s:-1]  # The last second is not a whole one.
    return Sustained([size / MIB for size in whole], warm_up_s), used


def _produce(bootstrap: str, partitions: int, seconds: float, fill_size: int) -> list[int]:
    """Bytes that were acknowledged in each second."""
    acked: list[int] = []
    failures: list[object] = []
    sent = done = 0
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "queue.buffering.max.kbytes": 64 << 10,  # Little: what waits here would hide how the broker goes on.
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    began = time.monotonic()

    def note(error: object, _: object) -> None:
        nonlocal done
        if error is not None:
            failures.append(error)
        done += len(VALUE)
        second = int(time.monotonic() - began)
        acked.extend([0] * (second + 1 - len(acked)))
        acked[second] += len(VALUE)

    deadline = None
    while deadline is None or time.monotonic() < deadline:
        for _ in range(AT_ONCE):
            try:
                producer.produce("sustained", VALUE, partition=sent // AT_ONCE % partitions, on_delivery=note)
                sent += 1
            except BufferError:
                producer.poll(0.05)
        producer.poll(0)
        if deadline is None and done >= fill_size:
            deadline = time.monotonic() + seconds + 2
    acked.extend([0] * (int(time.monotonic() - began) + 1 - len(acked)))  # Also those in which nothing was.
    found = list(acked)
    producer.flush(600)
    assert not failures, failures[0]
    return found


def write_plot(run: Sustained, path: Path) -> None:
    """Each second as a point, with the mean and a tenth of it."""
    figure, axes = pyplot.subplots(figsize=(9, 3), layout="constrained")
    axes.plot(range(len(run.mib_per_s)), run.mib_per_s, color="#2a7f62", linewidth=0.8)
    for level, label in ((run.mean, "mean"), (run.mean / 10, "a tenth of it")):
        axes.axhline(level, color="#555555", linewidth=0.8, linestyle="--")
        axes.annotate(label, (0, level), fontsize=7, va="bottom")
    axes.set_ylim(0)
    axes.set_xlabel("seconds at the limit of the write-ahead log", fontsize=8)
    axes.set_ylabel("MiB/s acknowledged", fontsize=8)
    axes.tick_params(labelsize=7)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
