"""The example of the write-ahead log does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "wal_library.py"


def test_the_example_loses_nothing() -> None:
    """W10: a real process is killed with SIGKILL, and every entry it acknowledged is there."""
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "with SIGKILL" in done.stdout
    assert "acknowledged entries are there, in order, byte for byte" in done.stdout
