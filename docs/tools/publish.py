"""Puts a generated page in its place, or with --check fails when the page there is another one."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path


def publish(path: Path, page: str) -> None:
    """Write the page; with --check compare it and exit with the difference."""
    there = path.read_text(encoding="utf-8") if path.exists() else ""
    if there == page:
        return
    if "--check" in sys.argv:
        difference = difflib.unified_diff(there.splitlines(), page.splitlines(), str(path), "the code", lineterm="")
        sys.exit("\n".join([*difference, f"{path} is not what the code says: run `make docs`."]))
    path.write_text(page, encoding="utf-8")
    print(f"wrote {path}")
