"""All measurements of a run, and what is computed from them: rates, and ratios within a round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

Measurement = Mapping[str, float]
Series = dict[int, float]  # One figure for each round.


class Spread(NamedTuple):
    """Median, lowest and highest over the rounds."""

    median: float
    low: float
    high: float


def rate(measurement: Measurement) -> float:
    return measurement["entries"] / measurement["seconds"]


def memory_growth(measurement: Measurement) -> float:
    """Bytes at the peak, above what the process had with an empty open log."""
    return measurement["peak_size"] - measurement["idle_size"]


class Figures:
    """The measurements of a run, by label and size."""

    def __init__(self, measurements: Sequence[Mapping[str, object]]) -> None:
        self._measurements = measurements

    def series(self, label: str, size: int, figure: Callable[[Measurement], float] = rate) -> Series:
        chosen = [m for m in self._measurements if m["label"] == label and m["size"] == size and "error" not in m]
        return {m["round"]: figure(m) for m in chosen}  # type: ignore[misc,arg-type]  # JSON numbers.

    def labels(self, start: str) -> list[str]:
        """Those that start like this, in the order in which they were measured."""
        return list(dict.fromkeys(str(m["label"]) for m in self._measurements if str(m["label"]).startswith(start)))

    def errors(self) -> list[str]:
        failed = [m for m in self._measurements if "error" in m]
        return sorted({f"{m['label']} ({m['size']} B) failed: {m['error']}" for m in failed})


def spread(series: Series) -> Spread | None:
    values = list(series.values())
    return Spread(median(values), min(values), max(values)) if values else None


def ratio(above: Series, below: Series) -> Series:
    """`above` ÷ `below`, each pair from one round."""
    return {number: above[number] / below[number] for number in above if below.get(number)}
