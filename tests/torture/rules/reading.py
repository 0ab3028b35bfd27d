"""What readers are shown: only what was sent, the same at every look, and nothing left out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator

from tests.torture.facts import Facts, Place, id_of
from tests.torture.rules.problem import Problem

_MOVING = ("memory", "reborn")  # Where an offset may hold another record later, or none.


def unfinished(facts: Facts) -> Iterator[Problem]:
    """Everything can be read to its end. Where it was not, nobody can say that anything is lost, or that nothing is."""
    places: dict[str, list[Place]] = defaultdict(list)
    for (place, _, _), reader in facts.unread.items():
        places[reader].append(place)
    for reader, missed in places.items():
        yield Problem("unfinished", f"{reader} did not reach the ends of {sorted(missed)}")


def future(facts: Facts) -> Iterator[Problem]:
    """No record is read that was never sent, or before it was."""
    for read in facts.reads:
        for offset, value in zip(read.offsets, read.values, strict=True):
            record = id_of(value)
            sent = facts.sent.get(record) if record is not None else None
            if sent is None:
                yield Problem("future", f"{read.who} in {read.place} {offset}: nobody has sent {value[:60]!r}")
            elif sent.topic != read.place[0]:
                yield Problem("future", f"{read.who} in {read.place} {offset}: {record} was sent to {sent.topic}")
            elif sent.at > read.at:
                yield Problem("future", f"{read.who} in {read.place} {offset}: {record} was sent later")


def changed(facts: Facts) -> Iterator[Problem]:
    """One offset holds one record, whoever looks, and whenever."""
    known: dict[tuple[Place, int], str] = {}
    for read in facts.reads:
        if facts.like(read.place[0]) in _MOVING:
            continue
        for offset, value in zip(read.offsets, read.values, strict=True):
            before = known.setdefault((read.place, offset), value)
            if before != value:
                text = f"{read.place} {offset}: {read.who} saw {value[:60]!r} where {before[:60]!r} was seen"
                yield Problem("changed", text)


def hidden(facts: Facts) -> Iterator[Problem]:
    """No reader is led past a record that is there."""
    offsets = {key: sorted(stored) for key, stored in facts.finals.items()}
    last: dict[tuple[str, Place], int] = {}
    for read in facts.reads:
        if facts.like(read.place[0]) in _MOVING or read.final:
            continue
        there = offsets.get((read.place, read.committed, 1), [])
        for offset in read.offsets:
            before = last.get((read.stream, read.place))
            last[read.stream, read.place] = offset
            if before is None:
                continue
            passed = there[bisect_right(there, before) : bisect_left(there, offset)]
            if passed:
                text = f"{read.who} in {read.place}: {offset} came after {before}; {passed[:3]} are there, too"
                yield Problem("hidden", text)


def skipped(facts: Facts) -> Iterator[Problem]:
    """What a group has committed, its members have read: of all that is there at the end."""
    read_by: dict[tuple[str, Place], set[int]] = defaultdict(set)
    levels: dict[str, bool] = {}
    for read in facts.reads:
        if read.group is not None:
            read_by[read.group, read.place].update(read.offsets)
            levels[read.group] = read.committed
    ends: dict[tuple[str, Place], int] = {}
    for found in facts.found + facts.committed:
        key = found.group, found.place
        ends[key] = max(ends.get(key, 0), found.offset)
    for (group, place), end in ends.items():
        if facts.like(place[0]) in _MOVING or group not in levels:
            continue
        there = facts.finals.get((place, levels[group], 1), {})
        missed = sorted(offset for offset in there if offset < end and offset not in read_by[group, place])
        if missed:
            text = f"group {group} in {place} has committed {end} and never read {len(missed)}, such as {missed[:3]}"
            yield Problem("skipped", text)
