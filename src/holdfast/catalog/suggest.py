"""The nearest of the names that are known, for whoever has mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """`, did you mean …?`, or nothing where no name is near."""
    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), by_lower, 1, 0.6)
    return f", did you mean {by_lower[found[0]]}?" if found else ""
