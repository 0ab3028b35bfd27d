"""The guide's example runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "wire-client.md"


def test_the_example_runs(tmp_path: Path) -> None:
    """P3: the block of the page, in a fresh process; kafka-python's own warnings are not ours."""
    [program] = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
