"""A skipped test fails the run unless the committed list allows it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci"

SUITE = """
import pytest

def test_runs():
    pass

@pytest.mark.skip(reason="no such machine")
def test_needs_a_machine():
    pass
"""


def run(folder: Path, allowed: str, suite: str = SUITE, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_suite.py").write_text(suite)
    (folder / "allowed.txt").write_text(allowed)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "allowed_skips"]
    return subprocess.run(
        [*command, "--allowed-skips", "allowed.txt", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CI), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )


def test_a_skip_that_is_not_listed_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, "# nothing is allowed\n")
    assert done.returncode == 1, done.stdout
    assert "not allowed to be skipped: test_suite.py::test_needs_a_machine (Skipped: no such machine)" in done.stdout


def test_a_listed_skip_passes(tmp_path: Path) -> None:
    done = run(tmp_path, "test_suite.py::test_needs_*\tthe machine is not everywhere\n")
    assert done.returncode == 0, done.stdout
    assert "allowed skips" not in done.stdout


@pytest.mark.parametrize(("programs", "code"), [("python3", 1), ("python3 no-such-program", 0)])
def test_a_skip_for_want_of_a_program_fails_where_it_is_there(tmp_path: Path, programs: str, code: int) -> None:
    done = run(tmp_path, f"test_suite.py::test_needs_*\tneeds programs\t{programs}\n")
    assert done.returncode == code, done.stdout


def test_the_workers_of_a_parallel_run_are_judged_too(tmp_path: Path) -> None:
    done = run(tmp_path, "", SUITE, "-n", "1")
    assert done.returncode == 1, done.stdout
    assert "not allowed to be skipped: test_suite.py::test_needs_a_machine" in done.stdout


def test_a_stale_entry_is_reported(tmp_path: Path) -> None:
    allowed = "test_suite.py::test_needs_*\tthe machine is not everywhere\ntest_gone.py::*\tlong gone\n"
    done = run(tmp_path, allowed)
    assert done.returncode == 0, done.stdout
    assert "stale entry, no such test ran: test_gone.py::* (long gone)" in done.stdout
    some = run(tmp_path, allowed, SUITE, "test_suite.py")
    assert some.returncode == 0, some.stdout
    assert "stale entry" not in some.stdout


@pytest.mark.parametrize(
    ("suite", "told"),
    [
        ("import pytest\npytest.skip('whole file', allow_module_level=True)\n", "test_suite.py (Skipped: whole file)"),
        (
            "import pytest\n@pytest.mark.xfail\ndef test_x():\n    assert False\n",
            "test_suite.py::test_x",
        ),
    ],
    ids=["a module that skips itself", "a test expected to fail"],
)
def test_other_ways_not_to_run_count_as_skips(tmp_path: Path, suite: str, told: str) -> None:
    done = run(tmp_path, "", suite)
    assert done.returncode == 1, done.stdout
    assert f"not allowed to be skipped: {told}" in done.stdout


def test_an_entry_without_a_reason_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, "test_suite.py::test_needs_a_machine\n")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "needs a pattern, a tab and a reason" in done.stderr


def test_the_closing_line_comes_last(tmp_path: Path) -> None:
    done = run(tmp_path, "")
    assert "1 passed, 1 skipped in " in done.stdout.splitlines()[-1]
