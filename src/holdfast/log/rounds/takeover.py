"""What lives before left in the store: their series are sealed, and read from the first round that is needed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from holdfast.io.objects import NotFound
from holdfast.log.rounds.errors import SeriesBroken
from holdfast.log.rounds.format import Round
from holdfast.log.rounds.series import Series

T = TypeVar("T")


def take_over(
    series: Sequence[Series], why: Mapping[str, Any], take: Callable[[Series, list[Round]], None], load: Callable[[], T]
) -> T:
    """End all series, hand out the rounds of each, then load what is flushed.

    In this order: what was flushed and forgotten while they were read is only there. Blocks.
    """
    for each in series:
        each.seal(why)
    for each in series:
        take(each, read_series(each))
    return load()


def read_series(series: Series) -> list[Round]:
    """The rounds of a sealed series, from the first that is needed to the seal; none if it is forgotten meanwhile."""
    rounds: list[Round] = []
    try:
        number = series.header(series.numbers()[-1]).needed_from
        while not (found := series.get(number)).is_seal:
            rounds.append(found)
            number += 1
    except NotFound as missing:
        if not series.is_forgotten:
            raise SeriesBroken(missing.name) from missing
        return []
    return rounds
