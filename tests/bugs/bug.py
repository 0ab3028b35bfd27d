"""A bug that is put into a copy of the code on purpose, and the tests that must fail with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAILED = 1  # What pytest returns when tests failed. Anything else means that it could not run them.


@dataclass(frozen=True)
class Edit:
    """One piece of source text, which must be there exactly once, and what takes its place."""

    file: str  # Below src/holdfast.
    old: str
    new: str

    def apply(self, source: Path) -> None:
        path = source / "holdfast" / self.file
        text = path.read_text(encoding="utf-8")
        count = text.count(self.old)
        if count != 1:
            raise LookupError(f"{self.file} has this {count} times, not once:\n{self.old}")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True)
class Bug:
    """What goes wrong, how to make it, and which tests see it: a few, small and fast."""

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]  # As given to pytest, relative to the checkout.


@dataclass(frozen=True)
class Outcome:
    """What the tests said."""

    code: int
    seconds: float
    output: str

    @property
    def failed_test(self) -> str:
        """The first test that failed."""
        lines = [line for line in self.output.splitlines() if line.startswith("FAILED ")]
        return lines[0].split(" - ")[0].removeprefix("FAILED ") if lines else ""


def copy_source(target: Path) -> Path:
    """A copy of the package in which anything may be broken."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "holdfast", target / "holdfast", ignore=skip)
    return target


def run_tests(source: Path, tests: tuple[str, ...]) -> Outcome:
    """Run tests of this checkout against a copy of its source."""
    started = time.monotonic()
    options = ["-x", "-q", "-p", "no:cacheprovider", "--timeout", "120", "--show-capture", "no", "--tb", "no"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(ran.returncode, time.monotonic() - started, ran.stdout + ran.stderr)


def run_with(bug: Bug | None, tests: tuple[str, ...] = ()) -> Outcome:
    """Run tests with a bug in the code, or without any."""
    with tempfile.TemporaryDirectory() as folder:
        source = copy_source(Path(folder))
        for edit in bug.edits if bug else ():
            edit.apply(source)
        if bug and any(edit.file.startswith("native/source/") for edit in bug.edits):
            subprocess.run([sys.executable, str(source / "holdfast/native/build.py")], check=True)
        return run_tests(source, bug.tests if bug else tests)
