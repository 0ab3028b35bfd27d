"""Whether the machine is quiet enough to measure on.

.venv/bin/python -m benchmarks.quiet        says so; exit code 1 when it is not
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from benchmarks.machine import busy_percent
from benchmarks.results import BUSY_PERCENT_MAX

SAMPLES, SAMPLE_S = 10, 0.5
WAIT_S = 60.0


class Quiet(NamedTuple):
    """How busy others keep the machine."""

    busy_percent: float  # The median of some looks.
    load: float

    @property
    def enough(self) -> bool:
        return self.busy_percent <= BUSY_PERCENT_MAX

    def __str__(self) -> str:
        told = f"others use {self.busy_percent:.0f} % of the cores (load average {self.load:.1f})"
        if self.enough:
            return f"quiet enough: {told}"
        return (
            f"NOT quiet: {told}, and more than {BUSY_PERCENT_MAX} % spoils figures. "
            "Stop what else runs; what is measured anyway will say so on its page"
        )


def look(busy: Callable[[float], float] = busy_percent) -> Quiet:
    """Some seconds of doing nothing, and how busy the machine was meanwhile."""
    return Quiet(median(busy(SAMPLE_S) for _ in range(SAMPLES)), os.getloadavg()[0])


def wait_until_quiet(tell: Callable[[str], None], busy: Callable[[float], float] = busy_percent) -> Quiet:
    """Look again for a while: what has just ended may still be cleaning up."""
    looks = max(int(WAIT_S / (SAMPLES * SAMPLE_S)), 1)
    for number in range(looks):
        found = look(busy)
        if found.enough:
            break
        if number == 0:
            tell(f"waiting up to {WAIT_S:.0f} s for the machine to become quiet: {found.busy_percent:.0f} % busy")
    tell(str(found))
    return found


if __name__ == "__main__":
    result = look()
    print(result)
    sys.exit(0 if result.enough else 1)
