"""Sizes and times as people write them: `64MiB`, `1.5 GB`, `5m`, `-1`; and counts as they say them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

_QUANTITY = re.compile(r"([+-]?[\d_]+(?:\.\d+)?)\s*([A-Za-z]*)")
SIZES: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
TIMES_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def counted(count: int, noun: str, form: str = "") -> str:
    """`1 record`, `2 records`; with the form "," also `1,500 records`."""
    return f"{count:{form}} {noun if count == 1 else noun + ('es' if noun.endswith('ch') else 's')}"


def parse_size(text: str) -> int:
    """Bytes. Raises ValueError."""
    return _parse(text, SIZES)


def parse_time(text: str, unit_ms: int = 1) -> int:
    """A time in the unit of a setting, which a bare number is in. Raises ValueError."""
    found = _parse(text, {"": unit_ms, **TIMES_MS})
    if found % unit_ms:
        raise ValueError(text)
    return found // unit_ms


def _parse(text: str, units: Mapping[str, int]) -> int:
    found = _QUANTITY.fullmatch(text.strip())
    if found is None or found[2].lower() not in units:
        raise ValueError(text)
    number = Fraction(found[1].replace("_", "")) * units[found[2].lower()]
    if number.denominator != 1:
        raise ValueError(text)  # Half a byte.
    return number.numerator
