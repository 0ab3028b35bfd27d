"""Which transactional ids an operator wants to see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from holdfast.coordinator.group.consumer.patterns import compiled
from holdfast.coordinator.transaction.transaction import NO_TIME, Transaction, TransactionState


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """All conditions must hold; one that is empty, or negative, always does."""

    states: frozenset[TransactionState]
    producer_ids: frozenset[int]
    longer_than_ms: int  # The transaction began longer ago than this.
    pattern: Any  # A compiled regular expression for the whole id, or None.

    @classmethod
    def make(
        cls,
        *,
        states: Iterable[TransactionState] = (),
        producer_ids: Iterable[int] = (),
        longer_than_ms: int = -1,
        pattern: str = "",
    ) -> Self:
        """The pattern is in the syntax of RE2, whose time to match does not depend on the pattern's tricks."""
        whole = compiled(pattern) if pattern else None
        return cls(frozenset(states), frozenset(producer_ids), longer_than_ms, whole)

    def select(self, transactions: Iterable[Transaction], now_ms: int) -> list[Transaction]:
        return [each for each in transactions if self._fits(each, now_ms)]

    def _fits(self, each: Transaction, now_ms: int) -> bool:
        if self.states and each.state not in self.states:
            return False
        if self.producer_ids and each.producer_id not in self.producer_ids:
            return False
        if self.longer_than_ms >= 0 and (
            each.started_at_ms == NO_TIME or now_ms - each.started_at_ms <= self.longer_than_ms
        ):
            return False
        return self.pattern is None or self.pattern.fullmatch(each.transactional_id) is not None
