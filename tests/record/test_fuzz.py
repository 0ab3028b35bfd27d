"""K7: damaged records are decoded as the plain reader decodes them, or refused as it refuses, without reading on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.record.guarded", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("seed", range(2))
def test_damaged_records_next_to_forbidden_memory(seed: int) -> None:
    """K7: in a process of its own, because reading too far would end it."""
    count = 4000
    done = run("fuzz", str(seed), str(count))
    assert done.returncode == 0, done.stderr
    assert count * 0.2 < int(done.stdout) < count * 0.9  # Both outcomes were met often.


def test_the_guard_is_up() -> None:
    """Reading one byte past the batch ends the process, so the test above would notice."""
    assert run("overrun").returncode == -signal.SIGSEGV
