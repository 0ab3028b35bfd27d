"""CPU seconds of a process and of all below it, those that have ended included.

A parent's own figures hold what its ended and reaped children used. Spark's Python daemon reaps its workers, and the
JVM its daemon; so the sum over all that are alive, with the children's figures, misses nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def tree_seconds(*roots: int) -> float:
    """Of these processes and all below them."""
    below: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # Ended while we looked: then its parent has its figures.
        number = int(entry.name)
        below.setdefault(int(fields[1]), []).append(number)
        ticks[number] = sum(map(int, fields[11:15]))
    waiting, total = list(roots), 0
    while waiting:
        number = waiting.pop()
        total += ticks.get(number, 0)
        waiting += below.get(number, [])
    return total / _TICKS
