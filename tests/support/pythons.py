"""Which Pythons this machine has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def newest_python() -> str:
    """The highest that we know to work; this one where there is no other."""
    roots = [Path(each) for each in os.environ.get("PATH", "").split(":")]
    roots += Path.home().glob(".pyenv/versions/*/bin")
    for minor in (14, 13, 12):
        for root in roots:
            python = root / f"python3.{minor}"
            if python.exists() and _works(python):
                return str(python)
    return sys.executable


def _works(python: Path) -> bool:
    return subprocess.run([python, "-c", "import ssl, ctypes, venv"], capture_output=True).returncode == 0
