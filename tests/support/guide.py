"""What the guide to security says, for tests that do it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "security.md"


def section(title: str) -> str:
    """What stands below a heading."""
    return re.split(r"^## ", PAGE.read_text().split(f"## {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def rights(row: str) -> list[str]:
    """What somebody needs, by the beginning of the row."""
    [needed] = re.findall(rf"^\| {re.escape(row)}[^|]*\|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    return re.findall(r"`([A-Z_]+ [^`]+)`", needed)
