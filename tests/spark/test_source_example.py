"""The example script runs as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.spark_session import no_spark

SCRIPT = Path(__file__).parents[2] / "examples" / "spark_orders.py"


def test_the_example_runs(tmp_path: Path) -> None:
    """P1: what the example shows is so: it checks itself on the way."""
    reason = no_spark()
    if reason:
        pytest.skip(reason)
    done = subprocess.run(
        [sys.executable, SCRIPT],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "60 orders between five and six past midnight" in done.stdout
    assert "1500 orders in the archive, 1500 of them different" in done.stdout
