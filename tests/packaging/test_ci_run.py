"""`.ci/run` fails when anything fails, and its last line is pytest's closing line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / ".ci" / "run"
CLOSING = "======== 3 passed, 1 skipped in 0.12s ========"


def run(folder: Path, check: str, test: str) -> subprocess.CompletedProcess[str]:
    """Run it in a checkout where `make check` and `make test` are these shell commands."""
    (folder / ".ci").mkdir()
    shutil.copy(RUN, folder / ".ci" / "run")
    make = folder / "make"
    make.write_text(f'#!/bin/sh\ncase "$*" in *check) {check} ;; *test) {test} ;; esac\n')
    make.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    return subprocess.run([folder / ".ci" / "run"], env={**os.environ, "PATH": path}, capture_output=True, text=True)


def test_the_closing_line_of_pytest_comes_last(tmp_path: Path) -> None:
    done = run(tmp_path, "true", f"echo '{CLOSING}'; echo talk")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, CLOSING)


@pytest.mark.parametrize(
    ("check", "test"),
    [("false", f"echo '{CLOSING}'"), ("true", f"echo '{CLOSING}'; false"), ("true", "true")],
    ids=["a check fails", "a test fails", "pytest never reached its end"],
)
def test_it_fails_when_anything_fails(tmp_path: Path, check: str, test: str) -> None:
    assert run(tmp_path, check, test).returncode != 0


def test_a_failed_run_still_ends_with_the_closing_line(tmp_path: Path) -> None:
    done = run(tmp_path, "true", f"echo '{CLOSING}'; false")
    assert done.stdout.splitlines()[-1] == CLOSING
