"""What lives before left in the store: their series are sealed, and read from the first round that is needed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Protocol, TypeVar

from holdfast.io.objects import NotFound
from holdfast.log.rounds.errors import SeriesBroken
from holdfast.log.rounds.format import SEAL, Round
from holdfast.log.rounds.series import Series

T = TypeVar("T")


class RoundOrSeal(Protocol):
    """A round, or what somebody keeps of it."""

    @property
    def is_seal(self) -> bool: ...


S = TypeVar("S", bound=RoundOrSeal)

_LOOKS = 5


def take_over(
    series: Sequence[Series],
    why: Mapping[str, Any],
    take: Callable[[Series, list[Round]], None],
    load: Callable[[], T],
    executor: Executor | None = None,
) -> T:
    """End all series, hand out the rounds of each with its seal, then load what is flushed.

    In this order: what was flushed and forgotten while they were read is only there. Blocks.
    """
    for each in series:
        each.seal(why)
    for each in series:
        take(each, read_series(each, executor))
    return load()


def look_at_series(series: Series, executor: Executor, get: Callable[[Series, int], S]) -> list[S]:
    """The rounds of a series that may still be written, as far as they count whatever comes: none is absent below.

    Whoever ends it takes the first absent number, or did so: then it is read as one that is sealed. None if the series
    is forgotten. Nothing is written.
    """
    for look in range(_LOOKS):
        numbers = series.numbers()
        try:
            if not numbers or series.is_forgotten:
                return []
            start, taken = series.header(numbers[-1]).needed_from, set(numbers)
            end = next(number for number in range(start, numbers[-1] + 2) if number not in taken)
            rounds = list(executor.map(lambda number: get(series, number), range(start, end)))
            above_is_sealed = any(series.header(number).kind == SEAL for number in numbers if number > end)
        except NotFound as missing:  # It moved on while we looked.
            if look + 1 == _LOOKS:
                raise SeriesBroken(missing.name) from missing
            continue
        sealed = next((number for number, found in enumerate(rounds) if found.is_seal), None)
        if sealed is not None:
            return rounds[:sealed]
        if above_is_sealed:
            raise SeriesBroken(series.name(end))
        return rounds
    raise AssertionError("unreachable")


def read_series(series: Series, executor: Executor | None = None) -> list[Round]:
    """The rounds of a sealed series from the first that is needed on, and its seal; none if it is forgotten meanwhile.

    With an executor several are read at the same time.
    """
    rounds: list[Round] = []
    try:
        numbers = series.numbers()
        start = series.header(numbers[-1]).needed_from
        for found in (executor.map if executor else map)(series.get, range(start, numbers[-1] + 1)):
            rounds.append(found)
            if found.is_seal:
                return rounds
    except NotFound as missing:
        if not series.is_forgotten:
            raise SeriesBroken(missing.name) from missing
        return []
    raise SeriesBroken(series.name(numbers[-1] + 1))
