"""Runs the rounds: each step in a process of its own, and the order of every group turned round in every second round.

A ratio is only taken between steps of one round. Steps that take turns share even the drift of the disk within it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.machine import CHECKOUT, around

CHILD_SECONDS_MAX = 180  # A child that hangs must not hold up the rest.


@dataclass(frozen=True)
class Step:
    """One workload in one process."""

    label: str  # Who and what: `ours.batch`. Together with the size it names a series of figures.
    program: str
    workload: str
    size: int
    directory: str = ""  # One that an earlier step of the round wrote; empty: a fresh one.
    keep: str = ""  # Leave the directory under this name for a later step of the round.
    arguments: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """Steps that are compared: they run at the same time but take turns, or one after the other when there are none."""

    steps: list[Step]
    turns: int = 0


Command = Callable[[Step, Path, int], list[str]]  # How a step is started: given its directory, and how many turns.


class Child:
    """One step in its process."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._last = ""
        self._watchdog = threading.Timer(CHILD_SECONDS_MAX, self._process.kill)
        self._watchdog.start()

    def run_until_ready(self) -> None:
        """Wait until the child wants a turn, or ends."""
        assert self._process.stdout is not None
        self._last = self._process.stdout.readline().strip()

    @property
    def ready(self) -> bool:
        return self._last == "ready"

    def take_turn(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        self.run_until_ready()

    def report(self) -> dict[str, object]:
        _, talk = self._process.communicate()
        self._watchdog.cancel()
        if self._process.returncode:
            return {"error": (talk.strip().splitlines() or [f"exit status {self._process.returncode}"])[-1]}
        report: dict[str, object] = json.loads(self._last)
        return report


class Runner:
    """Starts steps below one directory."""

    def __init__(self, directory: Path, command: Command) -> None:
        self._directory = directory
        self._command = command

    def rounds(self, groups: Sequence[Group], count: int, tell: Callable[[str], None]) -> Iterator[dict[str, object]]:
        """All measurements, as they come."""
        for number in range(count):
            for group in groups:
                steps = group.steps[::-1] if number % 2 else group.steps
                for part in [steps] if group.turns else [[step] for step in steps]:
                    tell(f"round {number + 1} of {count}, {part[0].size}: {part[0].label} …")
                    for step, measured in zip(part, self._measure(Group(part, group.turns)), strict=True):
                        yield {"round": number, "label": step.label, "size": step.size, **measured}
            shutil.rmtree(self._directory)

    def _measure(self, group: Group) -> list[dict[str, object]]:
        for step in group.steps:
            if not step.directory:
                shutil.rmtree(self._place(step), ignore_errors=True)
        os.sync()  # What was written before must not slow these steps down.
        now = around()
        children = [Child(self._command(step, self._place(step), group.turns)) for step in group.steps]
        for child in children:
            child.run_until_ready()
        while waiting := [child for child in children if child.ready]:
            for child in waiting:
                child.take_turn()
        reports = [now | child.report() for child in children]
        for step in group.steps:
            if not step.directory and not step.keep:
                shutil.rmtree(self._place(step), ignore_errors=True)
        return reports

    def _place(self, step: Step) -> Path:
        # A kept directory belongs to one size: that of the next size takes its place.
        return self._directory / (step.directory or step.keep or f"{step.label}.{step.size}")
