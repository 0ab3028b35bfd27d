"""The example of event time runs as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.spark_session import no_spark

SCRIPT = Path(__file__).parents[2] / "examples" / "spark_event_time.py"


def test_late_records_under_watermarks_and_in_merged_order(tmp_path: Path) -> None:
    """P2: what comes within the watermark is counted in its own minute, what is later is dropped and counted as such; a
    join over both topics finds every pair; in merged order nothing is late. The example checks itself on the way."""
    reason = no_spark()
    if reason:
        pytest.skip(reason)
    around = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, SCRIPT], env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "599 orders in 10 minutes, 1 came too late" in done.stdout
    assert "540 of 600 orders were paid, 540 different ones" in done.stdout
    assert "1140 records in one order; minutes of [60] orders" in done.stdout
