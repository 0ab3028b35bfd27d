"""The broker itself: it ends only when it must, says nothing it should never have to say, and stays within bounds."""

from __future__ import annotations

from collections.abc import Iterator

from tests.torture.facts import Facts, Sample
from tests.torture.rules.problem import Problem

SETTLES_S = 60.0  # Much is loaded when it is first used.
LONG_S = 60.0  # A shorter life says nothing about what piles up.
GROWN_HANDLES = 12


def unexpected(facts: Facts) -> Iterator[Problem]:
    """An end that nobody has asked for, an exception that nobody has caught, a client that never got its answer."""
    for event in facts.wrong:
        told = {key: value for key, value in event.items() if key not in ("at", "who", "kind", "op")}
        yield Problem("unexpected", f"{event['op']} at {event['at']:.1f}: {event['who']}: {told}")


def memory(facts: Facts) -> Iterator[Problem]:
    most = max((sample.rss for sample in facts.samples), default=0)
    if most > facts.limits.rss:
        yield Problem("memory", f"the broker had {most >> 20} MiB; {facts.limits.rss >> 20} MiB are the limit")


def handles(facts: Facts) -> Iterator[Problem]:
    """Never more than the limit; and half of the time no more than its clients' connections and its own files.

    Half of the time: a frozen broker has not closed what its clients have.
    """
    most = max((sample.handles for sample in facts.samples), default=0)
    if most > facts.limits.handles:
        yield Problem(
            "handles", f"the broker had {most} open files and connections; {facts.limits.handles} are allowed"
        )
    usual = _middle([sample.handles - sample.connections for sample in facts.samples])
    if usual > facts.limits.files:
        text = f"the broker had {usual} handles besides its connections; {facts.limits.files} are the limit"
        yield Problem("handles", text)


def growing(facts: Facts) -> Iterator[Problem]:
    """A process that has settled holds no more later on than it did at first."""
    for life in _long_lives(facts):
        third = len(life) // 3
        early, late = life[:third], life[-third:]
        more = _middle([sample.rss for sample in late]) - _middle([sample.rss for sample in early])
        seconds = life[-1].at - life[0].at
        if more > facts.limits.growth:
            text = f"a broker grew by {more >> 10} KiB in {seconds:.0f} s; {facts.limits.growth >> 10} KiB are allowed"
            yield Problem("growing", text)
        spare = [_middle([each.handles - each.connections for each in part]) for part in (early, late)]
        if spare[1] > spare[0] + GROWN_HANDLES:
            yield Problem("growing", f"a broker had {spare[0]} handles besides its connections, then {spare[1]}")


def _long_lives(facts: Facts) -> Iterator[list[Sample]]:
    """Samples of each process from when it has settled, if it has lived on long enough."""
    for process in sorted({sample.process for sample in facts.samples}):
        life = [sample for sample in facts.samples if sample.process == process]
        served = min((at for at in facts.started if at >= life[0].at), default=life[-1].at)
        settled = [sample for sample in life if sample.at >= served + SETTLES_S]
        if settled and settled[-1].at - settled[0].at >= LONG_S:
            yield settled


def _middle(numbers: list[int]) -> int:
    return sorted(numbers)[len(numbers) // 2] if numbers else 0
