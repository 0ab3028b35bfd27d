"""What can be wrong with a request about a transaction.

Rejected
├── TransactionalIdUnknown      there is no such transactional id
├── TransactionTimeoutInvalid   the timeout is not between 1 ms and the limit
├── ProducerIdMismatch          the transactional id has another producer id
├── ProducerFenced              a producer with a higher epoch has taken over, or the transaction timed out
├── NotInTransaction            abort: this partition is not part of the open transaction
└── TransactionStateInvalid     the transaction cannot do this from where it is
Unavailable
├── TransactionEnding           the last transaction is still being carried out
└── TooManyTransactionalIds     there are as many transactional ids as are allowed
"""

from __future__ import annotations

from holdfast.coordinator.transaction.transaction import Producer, TransactionState
from holdfast.errors import Rejected, Unavailable
from holdfast.types import TopicPartition


class TransactionalIdUnknown(Rejected):
    """There is no such transactional id."""

    def __init__(self, transactional_id: str) -> None:
        super().__init__(f"there is no transactional id {transactional_id}")
        self.transactional_id = transactional_id


class TransactionTimeoutInvalid(Rejected):
    """The timeout is not between the limits."""

    def __init__(self, timeout_ms: int, timeout_ms_max: int) -> None:
        super().__init__(f"a transaction timeout of {timeout_ms} ms is not between 1 and {timeout_ms_max} ms")
        self.timeout_ms = timeout_ms
        self.timeout_ms_max = timeout_ms_max


class ProducerIdMismatch(Rejected):
    """The transactional id has another producer id, or none: begin with InitProducerId."""

    def __init__(self, transactional_id: str, found: int, current: int | None) -> None:
        has = "no producer id" if current is None else f"producer id {current}"
        super().__init__(f"transactional id {transactional_id} has {has}, not {found}")
        self.transactional_id = transactional_id
        self.found = found
        self.current = current


class ProducerFenced(Rejected):
    """The producer is not the newest one of its transactional id: it must stop, or begin again."""

    def __init__(self, transactional_id: str, found: Producer, current: Producer | None) -> None:
        newer = f"producer {current.producer_id} in epoch {current.epoch}" if current else "a newer one"
        super().__init__(
            f"transactional id {transactional_id}: producer {found.producer_id} in epoch {found.epoch} is fenced by "
            f"{newer}"
        )
        self.transactional_id = transactional_id
        self.found = found
        self.current = current


class NotInTransaction(Rejected):
    """What was sent belongs to no open transaction: abort, and begin again."""

    def __init__(self, transactional_id: str, partition: TopicPartition) -> None:
        super().__init__(
            f"transactional id {transactional_id} has no open transaction with {partition.topic}-{partition.partition}"
        )
        self.transactional_id = transactional_id
        self.partition = partition


class TransactionStateInvalid(Rejected):
    """The transaction cannot do this from where it is."""

    def __init__(self, transactional_id: str, state: TransactionState, wanted: str) -> None:
        super().__init__(f"transactional id {transactional_id}: its transaction is {state.title}, it cannot {wanted}")
        self.transactional_id = transactional_id
        self.state = state
        self.wanted = wanted


class TransactionEnding(Unavailable):
    """The last transaction is decided, but not carried out everywhere."""

    def __init__(self, transactional_id: str, state: TransactionState) -> None:
        super().__init__(f"transactional id {transactional_id}: its last transaction is still {state.title}")
        self.transactional_id = transactional_id
        self.state = state


class TooManyTransactionalIds(Unavailable):
    """There are as many transactional ids as are allowed."""

    def __init__(self, count_max: int) -> None:
        super().__init__(f"there are {count_max} transactional ids already; no more are allowed")
        self.count_max = count_max
