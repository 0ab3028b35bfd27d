"""The broker itself: it ends only when it must, says nothing it should never have to say, and stays within bounds."""

from __future__ import annotations

from collections.abc import Iterator

from tests.torture.facts import Facts
from tests.torture.rules.problem import Problem


def unexpected(facts: Facts) -> Iterator[Problem]:
    """An end that nobody has asked for, an exception that nobody has caught, a client that never got its answer."""
    for event in facts.wrong:
        told = {key: value for key, value in event.items() if key not in ("at", "who", "kind", "op")}
        yield Problem("unexpected", f"{event['op']} at {event['at']:.1f}: {event['who']}: {told}")


def memory(facts: Facts) -> Iterator[Problem]:
    most = max((rss for rss, _ in facts.samples), default=0)
    if most > facts.limits[0]:
        yield Problem("memory", f"the broker had {most >> 20} MiB; {facts.limits[0] >> 20} MiB are the limit")


def handles(facts: Facts) -> Iterator[Problem]:
    most = max((count for _, count in facts.samples), default=0)
    if most > facts.limits[1]:
        yield Problem("handles", f"the broker had {most} open files and connections; {facts.limits[1]} are the limit")
