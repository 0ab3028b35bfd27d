"""Acknowledged records: present, once, in their producer's order, and visible from the moment of the ack."""

from __future__ import annotations

from collections.abc import Iterator

from tests.torture.facts import NO_TXN, Ack, Facts, Id, Place, id_of, txn_of
from tests.torture.rules.problem import Problem


def lost(facts: Facts) -> Iterator[Problem]:
    """What was acknowledged is at its offset, in the first reading of everything and in the second.

    A repeat that the broker calls a duplicate has no offset: it must be somewhere. A reading that did not reach its
    end proves nothing: see `unfinished`.
    """
    there = {key: {id_of(value) for value in stored.values()} for key, stored in facts.finals.items()}
    lows = {place: facts.final_low(place) for place, _, _ in facts.finals}
    for round_ in sorted({which for _, _, which in facts.finals}):
        for record, ack in facts.acks.items():
            if (ack.place, False, round_) in facts.unread:
                continue
            stored = facts.finals.get((ack.place, False, round_), {})
            value = stored.get(ack.offset)
            if value is not None and id_of(value) == record:
                continue
            if ack.offset < 0 and record in there.get((ack.place, False, round_), set()):
                continue
            if not _may_be_gone(facts, record, ack, lows.get(ack.place, 0), stored):
                yield Problem("lost", f"{record} was acknowledged at {ack.place} {ack.offset}; there is {value}")


def _may_be_gone(facts: Facts, record: Id, ack: Ack, low: int, stored: dict[int, str]) -> bool:
    like = facts.like(ack.place[0])
    if like == "shrinking":
        return ack.offset < low
    if like == "compacted":
        return ack.offset not in stored and _has_later(facts, record, ack, stored)
    if like == "memory":
        return any(facts.sent[record].at <= when for when in facts.unclean)
    if like == "reborn":
        hears_s = facts.limits.hears_s
        return any(facts.sent[record].at <= span.at + hears_s for span in facts.deleted.get(ack.place[0], []))
    return False


def _has_later(facts: Facts, record: Id, ack: Ack, stored: dict[int, str]) -> bool:
    """Whether a later record of its key is there: a key is the number's remainder, see `KEYS`."""
    key = key_of(record.number)
    return any(
        offset > ack.offset and (found := id_of(value)) is not None and key_of(found.number) == key
        for offset, value in stored.items()
    )


KEYS = 20  # Of compacted topics.


def key_of(number: int) -> int:
    return number % KEYS


def doubled(facts: Facts) -> Iterator[Problem]:
    """A record of an idempotent or transactional producer is stored once; again only after its transaction's abort."""
    for (place, committed, _), stored in facts.finals.items():
        seen: dict[tuple[Id, int], int] = {}
        for offset, value in sorted(stored.items()):
            record = id_of(value)
            if record is None or record.producer not in facts.once:
                continue
            key = record, NO_TXN if committed else txn_of(value)
            if key in seen:
                yield Problem("doubled", f"{record} is in {place} at {seen[key]} and at {offset}")
            seen[key] = offset


def disorder(facts: Facts) -> Iterator[Problem]:
    """A producer's records are in the order in which it sent them; repeats do not count.

    For idempotent producers that is so for all records, for plain ones with one request in flight for the acknowledged
    ones: what was given up may come late. With more in flight a plain producer's records may pass one another when some
    are sent again. Then only this holds: what was acknowledged before another record was sent comes before that one.
    """
    for (place, _, _), stored in facts.finals.items():
        last: dict[str, int] = {}
        newest: dict[str, float] = {}  # When the newest record so far was sent.
        seen: set[Id] = set()
        for offset, value in sorted(stored.items()):
            record = id_of(value)
            if record is None or record in seen or record not in facts.sent:
                continue
            seen.add(record)
            name = record.producer
            ack = facts.acks.get(record)
            is_late = record.number < last.get(name, -1)
            must_not = ack is not None and (name in facts.single or ack.at < newest.get(name, 0.0))
            if is_late and (name in facts.once or must_not):
                yield Problem("disorder", f"{place} {offset}: {record} comes after {last[name]}")
            last[name] = max(record.number, last.get(name, -1))
            newest[name] = max(facts.sent[record].at, newest.get(name, 0.0))


def unseen(facts: Facts) -> Iterator[Problem]:
    """Whoever asks for the high watermark after an ack finds it above the acknowledged record."""
    acks = sorted(facts.acks.items(), key=lambda item: item[1].at)
    highest: dict[Place, tuple[int, Id]] = {}
    at = 0
    for marks in sorted(facts.marks, key=lambda marks: marks.asked):
        while at < len(acks) and acks[at][1].at < marks.asked:
            record, ack = acks[at]
            if ack.offset > highest.get(ack.place, (-1, record))[0]:
                highest[ack.place] = ack.offset, record
            at += 1
        if facts.like(marks.place[0]) in ("memory", "reborn"):
            continue
        offset, record = highest.get(marks.place, (-1, None))
        if offset >= marks.high:
            text = f"{marks.place}: {record} was acknowledged at {offset}, then the watermark was {marks.high}"
            yield Problem("unseen", text)
