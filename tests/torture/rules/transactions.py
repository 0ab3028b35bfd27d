"""Read-committed: nothing aborted, nothing undecided, all or nothing of every transaction."""

from __future__ import annotations

from collections.abc import Iterator

from tests.torture.facts import NO_TXN, Facts, Id, id_of, txn_of
from tests.torture.rules.problem import Problem


def aborted(facts: Facts) -> Iterator[Problem]:
    """No reader of what is committed ever sees a record whose producer was told that it is aborted."""
    for read, offset, record, txn in _committed_reads(facts):
        if facts.transactions[record.producer, txn].aborted:
            yield Problem("aborted", f"{read} saw {record} at {offset}, of the aborted transaction {txn}")


def undecided(facts: Facts) -> Iterator[Problem]:
    """No reader of what is committed ever sees a record whose commit nobody has asked for."""
    for read, offset, record, txn in _committed_reads(facts):
        transaction = facts.transactions[record.producer, txn]
        if not transaction.commit_asked and not transaction.aborted:
            yield Problem("undecided", f"{read} saw {record} at {offset}; nobody has committed {txn}")


def _committed_reads(facts: Facts) -> Iterator[tuple[str, int, Id, int]]:
    for read in facts.reads:
        if not read.committed:
            continue
        for offset, value in zip(read.offsets, read.values, strict=True):
            record = id_of(value)
            if record is not None and txn_of(value) != NO_TXN:
                yield f"{read.who} in {read.place}", offset, record, txn_of(value)


def _is_whole(facts: Facts, round_: int) -> bool:
    """Whether all that is committed was read then: a transaction may be in any partition."""
    return not any(committed and which == round_ for _, committed, which in facts.unread)


def torn(facts: Facts) -> Iterator[Problem]:
    """At the end a transaction is there as a whole or not at all; as a whole, if its producer was told so."""
    rounds = {which for _, committed, which in facts.finals if committed}
    for round_ in sorted(each for each in rounds if _is_whole(facts, each)):
        there = {
            (record, txn_of(value))
            for (_, committed, which), stored in facts.finals.items()
            if committed and which == round_
            for value in stored.values()
            if (record := id_of(value)) is not None
        }
        for (producer, txn), transaction in facts.transactions.items():
            found = sum((record, txn) in there for record in transaction.ids)
            if found != len(transaction.ids) and (found or transaction.committed):
                how = "was committed" if transaction.committed else "was seen"
                text = f"transaction {txn} of {producer} {how}; there are {found} of its {len(transaction.ids)} records"
                yield Problem("torn", text)


def uncopied(facts: Facts) -> Iterator[Problem]:
    """A copy in transactions: what its group has committed is copied, and nothing else is."""
    for source, target, group in facts.copies if _is_whole(facts, 1) else ():
        for place in {place for place, _, _ in facts.finals if place[0] == source}:
            end = max((each.offset for each in facts.found if each.group == group and each.place == place), default=0)
            wanted = {offset for offset in facts.finals[place, True, 1] if offset < end}
            copied = _copied(facts, target, copier_of(group, place[1]))
            if wanted - copied:
                text = f"{group} has committed {end} of {place}; {sorted(wanted - copied)[:3]} are not in {target}"
                yield Problem("uncopied", text)
            if copied - wanted:
                text = f"{group} has committed {end} of {place}; {sorted(copied - wanted)[:3]} are in {target}, too"
                yield Problem("uncopied", text)


def copier_of(group: str, partition: int) -> str:
    """The producer that copies of this partition name; their numbers are the offsets they were copied from."""
    return f"{group}-{partition}"


def _copied(facts: Facts, target: str, producer: str) -> set[int]:
    values = [
        value
        for (place, committed, which), stored in facts.finals.items()
        if place[0] == target and committed and which == 1
        for value in stored.values()
    ]
    records = [record for value in values if (record := id_of(value)) is not None]
    return {record.number for record in records if record.producer == producer}
