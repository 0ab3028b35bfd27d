"""Histograms as pages show them."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from holdfast.measure import BOUNDS, Histogram


def of_times(times: Histogram) -> dict[str, Any]:
    """How many, how long on average, and below which bound half of them and 99 of 100 lie."""
    counts = list(times.counts)
    count = sum(counts)
    return {
        "count": count,
        "mean_ms": round(times.seconds / count * 1000, 3) if count else None,
        "half_ms": _below(counts, count, 0.5),
        "most_ms": _below(counts, count, 0.99),
    }


def _below(counts: list[int], count: int, share: float) -> float | None:
    """The bound is known, not the time itself; None: there are none, or they took longer than every bound."""
    if not count:
        return None
    for bound, so_far in zip(BOUNDS, accumulate(counts), strict=False):
        if so_far >= share * count:
            return bound * 1000
    return None


def buckets(times: Histogram) -> list[list[float | None]]:
    """Each bound in milliseconds, and how many lie at or below it but above the one before."""
    bounds: list[float | None] = [each * 1000 for each in BOUNDS]
    return [[bound, count] for bound, count in zip([*bounds, None], times.counts, strict=True)]
