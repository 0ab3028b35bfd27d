"""Offsets never go back: those of groups, of readers, and the marks of partitions."""

from __future__ import annotations

from collections.abc import Iterator

from tests.torture.facts import Facts, Place
from tests.torture.rules.problem import Problem


def group_back(facts: Facts) -> Iterator[Problem]:
    """Whoever asks for a group's offset finds at least what was committed, and what was found, before the question."""
    known = sorted(facts.committed + facts.found, key=lambda each: each.at)
    highest: dict[tuple[str, Place], int] = {}
    at = 0
    for found in sorted(facts.found, key=lambda each: each.asked):
        while at < len(known) and known[at].at < found.asked:
            key = known[at].group, known[at].place
            highest[key] = max(highest.get(key, -1), known[at].offset)
            at += 1
        before = highest.get((found.group, found.place), -1)
        if facts.like(found.place[0]) != "reborn" and found.offset < before:
            text = f"group {found.group} in {found.place}: {before} was committed, then it was {found.offset}"
            yield Problem("group_back", text)


def position_back(facts: Facts) -> Iterator[Problem]:
    """Within one stream of reads each record's offset is above the one before."""
    last: dict[tuple[str, Place], int] = {}
    for read in facts.reads:
        key = read.stream, read.place
        for offset in read.offsets:
            if offset <= last.get(key, -1) and facts.like(read.place[0]) != "reborn":
                yield Problem("position_back", f"{read.who} in {read.place}: {offset} came after {last[key]}")
            last[key] = offset


def marks_back(facts: Facts) -> Iterator[Problem]:
    """Neither end of a partition goes back, unless its records were in memory only and the broker died meanwhile."""
    last: dict[Place, tuple[float, int, int]] = {}
    for marks in sorted(facts.marks, key=lambda marks: marks.asked):
        like = facts.like(marks.place[0])
        told, low, high = last.get(marks.place, (-1.0, 0, 0))
        if told > marks.asked:
            continue  # Both were under way at once: either may be the older.
        excused = like == "reborn" or (like == "memory" and any(told <= when <= marks.at for when in facts.unclean))
        if not excused and (marks.low < low or marks.high < high or marks.low > marks.high):
            text = f"{marks.place}: {low} to {high} became {marks.low} to {marks.high}"
            yield Problem("marks_back", text)
        last[marks.place] = marks.at, marks.low, marks.high
