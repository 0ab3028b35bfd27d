"""Nobody waits for ever: producers get their answers, and the write-ahead log lets go, while nothing disturbs."""

from __future__ import annotations

from collections.abc import Iterator

from tests.torture.facts import Facts
from tests.torture.rules.problem import Problem


def stuck(facts: Facts) -> Iterator[Problem]:
    """A producer waits for longer than the limit though broker, disk, store and network are well."""
    for seconds, who in facts.stuck:
        yield Problem("stuck", f"{who} was not acknowledged within {seconds:.0f} s, and nothing disturbed")


def pinned(facts: Facts) -> Iterator[Problem]:
    """What is stored leaves the write-ahead log: else it fills up, and all producers stop."""
    for entries in facts.idle:
        if entries > facts.limits.entries:
            yield Problem("pinned", f"nobody writes, and the log still holds {entries} entries")
