"""Runs the rounds: each step in a process of its own, and the order of every group turned round in every second round.

Disk speed drifts within seconds, so a ratio is only taken between steps of one round (A B, then B A, and so on).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.wal.peer import CHECKOUT
from benchmarks.wal.plan import LIMITS, Scale, Step, groups

STEP_SECONDS_MAX = 180


@dataclass
class Runner:
    """Starts steps below one directory."""

    directory: Path
    peer: Path | None

    def rounds(self, scale: Scale, tell: Callable[[str], None]) -> Iterator[dict[str, object]]:
        """All measurements, as they come."""
        for number in range(scale.rounds):
            for group in groups(scale):
                for step in group if number % 2 == 0 else reversed(group):
                    if self._command(step) is None:
                        continue
                    tell(f"round {number + 1} of {scale.rounds}: {step.label}, {step.size} B")
                    yield {"round": number, "label": step.label, "size": step.size, **self._measure(step)}
            shutil.rmtree(self.directory)

    def _command(self, step: Step) -> list[str] | None:
        if step.program == "peer":
            return None if self.peer is None else [str(self.peer), step.workload]
        return [sys.executable, "-m", f"benchmarks.wal.{step.program}", step.workload]

    def _measure(self, step: Step) -> dict[str, object]:
        # A kept directory belongs to one size: those of the next size take its place.
        place = self.directory / (step.directory or step.keep or "fresh")
        if not step.directory:
            shutil.rmtree(place, ignore_errors=True)
        os.sync()  # What an earlier step left unwritten must not slow this one down.
        load = os.getloadavg()[0]
        values = {**LIMITS, "wait_us": 0, "size": step.size, "dir": place, **step.arguments}
        command = [*(self._command(step) or ()), *(f"{key}={value}" for key, value in values.items())]
        done = _run(command)
        if not step.directory and not step.keep:
            shutil.rmtree(place, ignore_errors=True)
        return {"load": round(load, 2), **done}


def _run(command: list[str]) -> dict[str, object]:
    try:
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=STEP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {STEP_SECONDS_MAX} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}
    report: dict[str, object] = json.loads(done.stdout)
    return report
