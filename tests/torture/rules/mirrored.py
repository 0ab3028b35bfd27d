"""What others have made of the broker's topics: a Spark stream, and a sync to another broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.torture.facts import Facts
from tests.torture.rules.problem import Problem


def unmirrored(facts: Facts) -> Iterator[Problem]:
    """It is exactly what is committed: every record, once, in its order."""
    for mirror in facts.mirrors:
        if (mirror.place, True, 1) in facts.unread:
            continue  # What is there is not known.
        stored = facts.finals.get((mirror.place, True, 1), {})
        wanted = [stored[offset] for offset in sorted(stored)]
        who = f"{mirror.by} of {mirror.place}"
        lacks, more = Counter(wanted) - Counter(mirror.values), Counter(mirror.values) - Counter(wanted)
        if lacks:
            yield Problem("unmirrored", f"{who} lacks {lacks.total()} records, such as {sorted(lacks)[:3]}")
        if more:
            yield Problem("unmirrored", f"{who} has {more.total()} records too many, such as {sorted(more)[:3]}")
        if not lacks and not more and mirror.values != wanted:
            yield Problem("unmirrored", f"{who} has all records, but not in their order")
        if mirror.offsets is not None and mirror.offsets != sorted(stored):
            yield Problem("unmirrored", f"{who}: {len(mirror.offsets)} offsets are not those of the topic")
