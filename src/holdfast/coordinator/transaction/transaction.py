"""What is known of one transactional id: its producer, and the transaction that it has, or had last."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from holdfast.types import TopicPartition

EPOCH_MAX = 2**15 - 1
EPOCH_LAST = EPOCH_MAX - 1  # The last that a producer gets; the one above it is left to fence it.
FENCE_STEP = 2  # One more than an end by the producer itself: what it repeats must not look like a repeat of that.
NO_ID = -1
NO_EPOCH = -1
NO_TIME = -1


class TransactionState(Enum):
    """Where a transaction is; the values are the numbers that are stored."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2  # It is decided, and will be carried out whatever happens.
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6  # Stored by Kafka only.
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """The name that clients know."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def is_idle(self) -> bool:
        """No transaction is open: the id may be forgotten when nobody uses it any more."""
        return self is TransactionState.EMPTY or self.is_complete


class Producer(NamedTuple):
    """Who a request says it comes from."""

    producer_id: int
    epoch: int


class Transaction(NamedTuple):
    """One transactional id. A tuple, since every step makes a new one, and each transaction takes four."""

    transactional_id: str
    producer_id: int
    timeout_ms: int
    epoch: int = NO_EPOCH  # None as long as no producer was told one.
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    changed_at_ms: int = NO_TIME
    started_at_ms: int = NO_TIME
    previous_producer_id: int = NO_ID  # Which this one has followed, because its epochs were used up.
    next_producer_id: int = NO_ID  # Which follows this one, once the prepared transaction is complete …
    next_epoch: int = NO_EPOCH  # … and the epoch it begins in.
    client_version: int = 0  # Of transactions, as the client does them: 2 has an epoch for each.
    last_epoch: int = NO_EPOCH  # Which the producer had when it asked for the next one. Not stored.

    @property
    def producer(self) -> Producer:
        return Producer(self.producer_id, self.epoch)

    @property
    def is_exhausted(self) -> bool:
        """Its next epoch needs a new producer id."""
        return self.epoch >= EPOCH_LAST

    @property
    def needs_spare_id(self) -> bool:
        """Its next steps, up to a new producer's first epoch, may need a new producer id."""
        return self.epoch >= EPOCH_LAST - FENCE_STEP

    @property
    def deadline_ms(self) -> int:
        """When an open transaction is given up."""
        return self.started_at_ms + self.timeout_ms
