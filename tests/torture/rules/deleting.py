"""What was deleted stays so: records below a new log start, and all that a deleted topic held."""

from __future__ import annotations

from collections.abc import Iterator

from tests.torture.facts import Facts, id_of
from tests.torture.rules.problem import Problem


def undead(facts: Facts) -> Iterator[Problem]:
    """Who begins to read after DeleteRecords was answered sees nothing below."""
    for at, place, low in facts.cut:
        for read in facts.reads:
            if read.place == place and read.since > at and read.offsets and read.offsets[0] < low:
                yield Problem("undead", f"{read.who} in {place} saw {read.offsets[0]}; all below {low} was deleted")


def reborn(facts: Facts) -> Iterator[Problem]:
    """Who begins to read a topic after its re-creation sees nothing that was acknowledged before its deletion."""
    for read in facts.reads:
        born = [span.at for span in facts.created.get(read.place[0], []) if span.at < read.since]
        ends = [span.asked for span in facts.deleted.get(read.place[0], []) if born and span.at <= born[-1]]
        if not ends:
            continue
        for offset, value in zip(read.offsets, read.values, strict=True):
            record = id_of(value)
            ack = facts.acks.get(record) if record is not None else None
            if ack is not None and ack.at < ends[-1]:
                yield Problem("reborn", f"{read.who} in {read.place} {offset}: {record} is of the deleted topic")
