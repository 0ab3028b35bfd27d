"""What must hold of transactions, whatever happens to those who make them.

whole       of a transaction either everything that is in the log is visible to committed readers, or nothing
promised    a commit that was answered is visible, with all that was acknowledged, and stays visible
no zombie   what nobody asked to commit is never visible
stable      no committed reader gets past the beginning of a transaction that may still go either way
together    offsets of a transaction are visible exactly if its records are
"""

from __future__ import annotations

from dataclasses import dataclass, field

Place = tuple[int, bytes]  # Partition and value: every value is sent once.


@dataclass
class NotedTransaction:
    """One transaction, as its producer means it."""

    number: int
    sent: set[Place] = field(default_factory=set)
    acked: set[Place] = field(default_factory=set)
    offsets_acked: bool = False
    asked: str = ""  # "commit" or "abort", once the producer has asked for it.
    told: str = ""  # The same, once it was answered.
    seen: bool = False  # Some committed reader has got something of it.


class TransactionInvariants:
    """All transactions there ever were."""

    def __init__(self) -> None:
        self.transactions: list[NotedTransaction] = []

    def begin(self) -> NotedTransaction:
        self.transactions.append(NotedTransaction(len(self.transactions)))
        return self.transactions[-1]

    def check(self, log: set[Place], visible: set[Place], offset: int | None) -> None:
        """Hold against everything a reader found: in the log, of committed transactions, and as committed offset."""
        shown = [each for each in self.transactions if each.sent & visible]
        for each in self.transactions:
            self._check_one(each, each.sent & log, each.sent & visible)
            each.seen = each.seen or each in shown
        if offset is not None:
            writer = self.transactions[offset]
            assert writer.asked == "commit", "An offset that nobody asked to commit counts."
            assert not writer.sent & log or writer in shown, "An offset counts without its transaction's records."
        elif any(each.offsets_acked and each.told == "commit" for each in self.transactions):
            raise AssertionError("Committed offsets are lost.")

    @staticmethod
    def _check_one(each: NotedTransaction, log: set[Place], visible: set[Place]) -> None:
        assert visible in (set(), log), f"Transaction {each.number} is torn."
        assert each.acked <= log, f"Transaction {each.number} has lost what was acknowledged."
        if each.asked != "commit":
            assert not visible, f"Transaction {each.number} is visible, and nobody has asked to commit it."
        if each.told == "commit":
            assert each.acked <= visible, f"Transaction {each.number} was committed, and is not visible."
        assert visible or not each.seen, f"Transaction {each.number} was visible before."
