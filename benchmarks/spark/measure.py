"""Jobs of one reader, measured from outside: wall seconds, and CPU seconds of everything, the broker included."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from benchmarks.machine import around
from benchmarks.spark.cpu import tree_seconds

_SECONDS_MAX = 900  # Of one job.
_WARM_COUNT = 3
_SHORT_S, _REPEATS_MAX = 2.0, 5  # What takes less is repeated: a clock tick is 10 ms.
_PROGRAM = Path(__file__).with_name("jobs.py")


@dataclass(frozen=True)
class Place:
    """A topic of a size, where readers of a kind find it; and a small one of the same kind."""

    reader: str
    given: dict[str, str] = field(default_factory=dict)
    warm: dict[str, str] = field(default_factory=dict)
    broker: int | None = None  # Its process, when the reader needs one.


class Driver:
    """A Spark driver that does what it is told, for as long as the block lasts."""

    def __init__(self, reader: str, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_PROGRAM), reader, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            self._answer()
        except BaseException:  # Whoever ends us here has no block yet that would end the driver.
            self._end()
            raise

    def measure(self, job: str, place: Place) -> dict[str, object]:
        """Do a job on a small topic first: that loads classes and starts workers, and reads nothing of the other.

        What takes little time is done several times; the figures are of one.
        """
        for _ in range(_WARM_COUNT):
            self._ask(job, place.given | place.warm)
        now: dict[str, object] = {**around()}
        roots = [self._process.pid, *([place.broker] if place.broker else [])]
        before = tree_seconds(*roots)
        answers = [self._ask(job, place.given)]
        while "error" not in answers[-1] and len(answers) < _REPEATS_MAX and _seconds(answers) < _SHORT_S:
            answers.append(self._ask(job, place.given))
        cpu, count = tree_seconds(*roots) - before, len(answers)
        means = {"seconds": round(_seconds(answers) / count, 4), "cpu_seconds": round(cpu / count, 3)}
        return now | answers[-1] | means | {"repeats": count}

    def _ask(self, job: str, given: dict[str, str]) -> dict[str, object]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"job": job, "given": given}) + "\n")
        self._process.stdin.flush()
        found: dict[str, object] = json.loads(self._answer())
        return found

    def _answer(self) -> str:
        assert self._process.stdout is not None
        watchdog = threading.Timer(_SECONDS_MAX, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise RuntimeError("the Spark driver has ended: is Java there, and are the jars in .tools/spark-jars?")
        return line

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        try:
            self._process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def _seconds(answers: list[dict[str, object]]) -> float:
    return sum(float(str(each["seconds"])) for each in answers)
