"""What a workload's own process is given, and what it reports: the same for both sides of the comparison.

`… WORKLOAD key=value …` prints one line of JSON. Each workload has a process to itself: its peak memory is its own.
Disk speed drifts within seconds, so workloads that are compared run at the same time, but in turns: a workload prints
`ready`, waits for a line on its standard input, does a slice of its work, and says `ready` again.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

POOL_SIZE = 65_536
WARM_UP_FLUSHES = 50  # The first flushes make files and fill caches; they are not counted.
PURGE_EVERY = 4  # Batches, in a log that is purged behind.
STEADY_WARM_UP_BATCHES = 40  # Until chunks come back from the purge.


class Arguments:
    """`key=value` arguments."""

    def __init__(self, given: Sequence[str]) -> None:
        self._values = dict(argument.split("=", 1) for argument in given)

    def text(self, key: str) -> str:
        return self._values[key]

    def number(self, key: str) -> int:
        return int(self._values[key])

    def await_turn(self) -> None:
        print("ready", flush=True)
        sys.stdin.readline()

    def slices(self) -> Iterator[float]:
        """Waits for each turn; yields the seconds it should last."""
        turns = self.number("turns")
        for _ in range(turns):
            self.await_turn()
            yield float(self._values["seconds"]) / turns

    def batches(self, start: int = 0) -> Iterator[range]:
        """Waits for each turn; yields the indexes, from `start` on, of the batches it should write."""
        batches = list(self.plain_batches(self.number("entries"), start))
        per_turn = -(-len(batches) // self.number("turns"))
        for number, indexes in enumerate(batches):
            if number % per_turn == 0:
                self.await_turn()
            yield indexes

    def plain_batches(self, entries: int, start: int = 0) -> Iterator[range]:
        batch = self.number("batch")
        return (range(first, min(first + batch, start + entries)) for first in range(start, start + entries, batch))


class Payloads:
    """Payloads cut from one pool of noise, each a buffer of its own as a caller's would be."""

    def __init__(self, size: int) -> None:
        self._pool = random.Random(7).randbytes(POOL_SIZE + size)
        self._size = size

    def get(self, index: int) -> bytes:
        start = index * 61 % POOL_SIZE
        return self._pool[start : start + self._size]

    def of(self, indexes: range) -> list[bytes]:
        return [self.get(index) for index in indexes]


@dataclass
class Report:
    """Entries, the seconds they took, how long each wait was, and further facts."""

    entries: int = 0
    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    facts: dict[str, int] = field(default_factory=dict)

    def add(self, entries: int, start: float) -> None:
        """Count `entries` as done in the time since `start`."""
        wait = time.perf_counter() - start
        self.entries += entries
        self.seconds += wait
        self.waits.append(wait)

    def to_json(self) -> str:
        report: dict[str, float] = {
            "entries": self.entries,
            "seconds": round(self.seconds, 6),
            "peak_size": memory_size("VmHWM"),
            **self.facts,
        }
        if self.waits:
            waits = sorted(self.waits)
            for percent in (50, 99):
                report[f"p{percent}_us"] = round(waits[min(len(waits) * percent // 100, len(waits) - 1)] * 1e6, 1)
        return json.dumps(report)


def memory_size(field_name: str) -> int:
    """This process's memory in bytes: VmRSS now, VmHWM at its peak. (The peak in rusage would include the parent's.)"""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field_name):
                return int(line.split()[1]) * 1024
    return 0
