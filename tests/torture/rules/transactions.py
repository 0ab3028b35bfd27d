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
            yield Problem(
                "undecided", f"{read} saw {record} at {offset}, of transaction {txn} that was never committed"
            )


def _committed_reads(facts: Facts) -> Iterator[tuple[str, int, Id, int]]:
    for read in facts.reads:
        if not read.committed:
            continue
        for offset, value in zip(read.offsets, read.values, strict=True):
            record = id_of(value)
            if record is not None and txn_of(value) != NO_TXN:
                yield f"{read.who} in {read.place}", offset, record, txn_of(value)


def torn(facts: Facts) -> Iterator[Problem]:
    """At the end a transaction is there as a whole or not at all; if its producer was told of its commit, as a whole."""
    for round_ in sorted({which for _, committed, which in facts.finals if committed}):
        there = {
            record
            for (_, committed, which), stored in facts.finals.items()
            if committed and which == round_
            for value in stored.values()
            if (record := id_of(value)) is not None
        }
        for (producer, txn), transaction in facts.transactions.items():
            found = sum(record in there for record in transaction.ids)
            if found != len(transaction.ids) and (found or transaction.committed):
                how = "was committed" if transaction.committed else "was seen"
                text = f"transaction {txn} of {producer} {how}; there are {found} of its {len(transaction.ids)} records"
                yield Problem("torn", text)
