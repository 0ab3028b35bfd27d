"""The rules of one transactional id: what follows from what. No I/O, no clock; the time comes with each call.

Each function takes a transaction and returns the one that follows, or the same object where nothing changes. Where
epochs may be used up, `spare_id` is a producer id that nobody ever had; it must be one if `needs_spare_id`.

What holds, call by call:
- a request in another epoch than the producer's changes nothing;
- the epoch never goes back, and it rises with each transaction that ends in version 2, and with each that is not ended
  by its own producer: so nothing sent before that end can be taken for part of what comes after it;
- who was fenced stays fenced: its epoch is never one that a repeated request may have.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.coordinator.transaction.errors import (
    NotInTransaction,
    ProducerFenced,
    ProducerIdMismatch,
    TransactionEnding,
    TransactionStateInvalid,
)
from holdfast.coordinator.transaction.transaction import (
    EPOCH_LAST,
    EPOCH_MAX,
    FENCE_STEP,
    NO_EPOCH,
    NO_ID,
    NO_TIME,
    Producer,
    Transaction,
    TransactionState,
)
from holdfast.types import TopicPartition

EPOCH_EACH_FROM = 2  # From this version of transactions on, each one has an epoch of its own.


# Producers


def initialize(
    before: Transaction, expected: Producer | None, timeout_ms: int, spare_id: int, now_ms: int
) -> Transaction:
    """A producer begins, or, if it says who it is, goes on in the next epoch. Its last transaction has ended."""
    if before.state.is_prepared:
        raise TransactionEnding(before.transactional_id, before.state)
    check_expected(before, expected)
    fresh = before._replace(
        timeout_ms=timeout_ms,
        state=TransactionState.EMPTY,
        partitions=frozenset(),
        started_at_ms=NO_TIME,
        changed_at_ms=now_ms,
        last_epoch=NO_EPOCH if expected is None else before.epoch,
    )
    if expected is not None and before.epoch not in (NO_EPOCH, expected.epoch):
        return fresh._replace(epoch=before.epoch, last_epoch=before.last_epoch)  # It asks again: the answer was lost.
    if before.is_exhausted:
        return fresh._replace(producer_id=spare_id, epoch=0, previous_producer_id=before.producer_id)
    return fresh._replace(epoch=before.epoch + 1)


def take_over(
    before: Transaction, expected: Producer | None, timeout_ms: int, spare_id: int, now_ms: int
) -> Transaction:
    """The same, behind a transaction that was open when the producer came, and was aborted for it."""
    after = initialize(before, None, timeout_ms, spare_id, now_ms)
    return after if expected is None else after._replace(last_epoch=expected.epoch)


def check_expected(before: Transaction, expected: Producer | None) -> None:
    """Raise if a producer says who it is, and is not the newest."""
    if expected is not None and not _may_go_on(before, expected):
        raise ProducerFenced(before.transactional_id, expected, before.producer)


def _may_go_on(before: Transaction, expected: Producer) -> bool:
    if before.epoch == NO_EPOCH:
        return True  # We know nothing of this id: whatever it was before, it begins here.
    if expected == before.producer:
        return True
    was_last = before.last_epoch != NO_EPOCH and expected.epoch == before.last_epoch
    return was_last and expected.producer_id in (before.producer_id, before.previous_producer_id)


def check_producer(transaction: Transaction, producer: Producer) -> None:
    """Raise unless this is the id's own producer, and the newest."""
    if producer.producer_id != transaction.producer_id:
        raise ProducerIdMismatch(transaction.transactional_id, producer.producer_id, transaction.producer_id)
    if producer.epoch != transaction.epoch:
        raise ProducerFenced(transaction.transactional_id, producer, transaction.producer)


# Partitions


def add(
    before: Transaction, producer: Producer, partitions: Iterable[TopicPartition], client_version: int, now_ms: int
) -> Transaction:
    """Partitions become part of the open transaction; the first ones open it."""
    check_producer(before, producer)
    if before.state.is_prepared:
        raise TransactionEnding(before.transactional_id, before.state)
    if before.state is TransactionState.ONGOING:
        together = before.partitions.union(partitions)
        if len(together) == len(before.partitions):
            return before
        return before._replace(partitions=together, changed_at_ms=now_ms, client_version=client_version)
    return before._replace(
        state=TransactionState.ONGOING,
        partitions=frozenset(partitions),
        started_at_ms=now_ms,
        changed_at_ms=now_ms,
        client_version=client_version,
        last_epoch=NO_EPOCH,
    )


def verify(transaction: Transaction, producer: Producer, partition: TopicPartition) -> None:
    """Raise unless the partition is part of the producer's open transaction."""
    check_producer(transaction, producer)
    if transaction.state.is_prepared:
        raise TransactionEnding(transaction.transactional_id, transaction.state)
    if transaction.state is not TransactionState.ONGOING or partition not in transaction.partitions:
        raise NotInTransaction(transaction.transactional_id, partition)


# The end


def end(
    before: Transaction, producer: Producer, *, commit: bool, client_version: int, spare_id: int, now_ms: int
) -> Transaction:
    """The producer ends its transaction: prepared, to be carried out. The same again if it has ended it already."""
    each_its_own = client_version >= EPOCH_EACH_FROM
    repeats = each_its_own and _repeats_end(before, producer)
    if not repeats:
        check_producer(before, producer)
    state = before.state
    if state is TransactionState.ONGOING:
        return _prepare(before, commit=commit, client_version=client_version, spare_id=spare_id, now_ms=now_ms)
    if state is _complete(commit=commit) and (repeats or not each_its_own):
        return before
    if state is _prepared(commit=commit):
        raise TransactionEnding(before.transactional_id, state)
    if each_its_own and not repeats and not commit and state.is_idle:
        # Nothing came of it, as far as we know. What was sent and is still on its way must not be the first of the
        # next one: so this one has an end, too.
        started = before._replace(started_at_ms=now_ms, partitions=frozenset())
        return _prepare(started, commit=False, client_version=client_version, spare_id=spare_id, now_ms=now_ms)
    if commit and repeats:  # Its time was up. Streams begins again when fenced, and ends for good when told of a state.
        raise ProducerFenced(before.transactional_id, producer, before.producer)
    raise TransactionStateInvalid(before.transactional_id, state, "commit" if commit else "abort")


def _repeats_end(before: Transaction, producer: Producer) -> bool:
    """Whether the producer speaks from the epoch before the one that its last end has given it."""
    if not (before.state.is_prepared or before.state.is_complete):
        return False
    if producer.producer_id == before.producer_id:
        return before.epoch == producer.epoch + 1
    follows = producer.producer_id == before.previous_producer_id and before.epoch == 0
    return follows and producer.epoch == EPOCH_LAST and before.state.is_complete


def fence(before: Transaction, spare_id: int, now_ms: int) -> Transaction:
    """An open transaction is aborted over its producer's head: prepared, in an epoch that shuts the producer out."""
    epoch = before.epoch + FENCE_STEP
    prepared = before._replace(state=TransactionState.PREPARE_ABORT, changed_at_ms=now_ms, last_epoch=NO_EPOCH)
    if epoch <= EPOCH_MAX:
        return prepared._replace(epoch=epoch)
    # The next producer begins in epoch 1, since 0 is where one that has ended its own transaction would go on.
    return prepared._replace(epoch=EPOCH_MAX, next_producer_id=spare_id, next_epoch=1)


def time_out(before: Transaction, spare_id: int, now_ms: int) -> Transaction:
    """An open transaction has had its time: prepared to be aborted.

    Where each transaction has its own epoch, it is as if the producer had aborted it: it learns the next epoch when it
    does, and goes on, and what it sent before finds its epoch over. A commit of it is refused. Where transactions share
    an epoch, what is on its way could not be told from the next one: so the producer is shut out.
    """
    if before.client_version < EPOCH_EACH_FROM:
        return fence(before, spare_id, now_ms)
    return _prepare(before, commit=False, client_version=before.client_version, spare_id=spare_id, now_ms=now_ms)


def _prepare(before: Transaction, *, commit: bool, client_version: int, spare_id: int, now_ms: int) -> Transaction:
    prepared = before._replace(
        state=_prepared(commit=commit),
        changed_at_ms=now_ms,
        client_version=client_version,
        last_epoch=NO_EPOCH,
    )
    if client_version < EPOCH_EACH_FROM:
        return prepared
    if before.epoch < EPOCH_LAST:
        return prepared._replace(epoch=before.epoch + 1)
    return prepared._replace(epoch=EPOCH_MAX, next_producer_id=spare_id, next_epoch=0)


def complete(before: Transaction, now_ms: int) -> Transaction:
    """A prepared transaction has been carried out in all its partitions."""
    assert before.state.is_prepared
    done = before._replace(
        state=_complete(commit=before.state is TransactionState.PREPARE_COMMIT),
        partitions=frozenset(),
        changed_at_ms=now_ms,
    )
    if before.next_producer_id == NO_ID:
        return done
    return done._replace(
        producer_id=before.next_producer_id,
        epoch=max(before.next_epoch, 0),
        previous_producer_id=before.producer_id,
        next_producer_id=NO_ID,
        next_epoch=NO_EPOCH,
    )


def _prepared(*, commit: bool) -> TransactionState:
    return TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT


def _complete(*, commit: bool) -> TransactionState:
    return TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
