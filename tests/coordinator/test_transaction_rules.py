"""The rules of one transactional id, above all where its epochs are used up."""

from __future__ import annotations

import pytest

from holdfast.coordinator.transaction import rules
from holdfast.coordinator.transaction.errors import (
    NotInTransaction,
    ProducerFenced,
    ProducerIdMismatch,
    TransactionEnding,
    TransactionStateInvalid,
)
from holdfast.coordinator.transaction.transaction import EPOCH_LAST, EPOCH_MAX, Producer, Transaction, TransactionState
from holdfast.types import TopicPartition

AT = TopicPartition("t", 0)
SPARE = 900


def begun(epoch: int = 0, version: int = 2) -> Transaction:
    """A producer with an open transaction."""
    new = Transaction(transactional_id="x", producer_id=7, timeout_ms=1000, epoch=epoch)
    return rules.add(new, new.producer, [AT], version, 5)


def ended(before: Transaction, *, commit: bool = True, version: int = 2) -> Transaction:
    prepared = rules.end(before, before.producer, commit=commit, client_version=version, spare_id=SPARE, now_ms=6)
    return rules.complete(prepared, 7)


def again(after: Transaction, producer: Producer, *, commit: bool = True) -> Transaction:
    return rules.end(after, producer, commit=commit, client_version=2, spare_id=SPARE, now_ms=8)


def fenced(before: Transaction) -> Transaction:
    return rules.complete(rules.fence(before, SPARE, 6), 7)


@pytest.mark.parametrize("epoch", [0, EPOCH_LAST - 1, EPOCH_LAST])
def test_an_end_that_is_repeated_is_known_again(epoch: int) -> None:
    """K4: also where the producer got a new id with it; the other end is refused."""
    before = begun(epoch)
    after = ended(before)
    expected = Producer(7, epoch + 1) if epoch < EPOCH_LAST else Producer(SPARE, 0)
    assert after.producer == expected
    assert again(after, before.producer) is after
    with pytest.raises(TransactionStateInvalid):
        again(after, before.producer, commit=False)
    nxt = rules.add(after, after.producer, [AT], 2, 8)
    with pytest.raises((ProducerFenced, ProducerIdMismatch)):
        again(nxt, before.producer)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("epoch", [0, EPOCH_LAST - 2, EPOCH_LAST - 1, EPOCH_LAST])
def test_who_is_fenced_stays_fenced(epoch: int, version: int) -> None:
    """K4: neither a commit nor an abort of it passes for a repeat of its own end, whatever epochs are left."""
    before = begun(epoch, version)
    after = fenced(before)
    assert after.state is TransactionState.COMPLETE_ABORT
    for commit in (True, False):
        with pytest.raises((ProducerFenced, ProducerIdMismatch)):
            again(after, before.producer, commit=commit)
    with pytest.raises((ProducerFenced, ProducerIdMismatch)):
        rules.add(after, before.producer, [AT], version, 8)
    heir = rules.initialize(after, None, 1000, SPARE + 1, 9)
    assert heir.epoch <= EPOCH_LAST
    assert heir.producer != before.producer
    for commit in (True, False):
        with pytest.raises((ProducerFenced, ProducerIdMismatch, TransactionStateInvalid)):
            again(heir, before.producer, commit=commit)


@pytest.mark.parametrize("epoch", range(EPOCH_LAST - 6, EPOCH_LAST + 1))
def test_epochs_never_overflow(epoch: int) -> None:
    """K4: whichever way they are used up, a new id comes in time, and one spare id is enough."""
    for step in (lambda each: ended(each), fenced, lambda each: ended(each, commit=False)):
        at = begun(epoch)
        for _ in range(8):
            spare = at.needs_spare_id
            after = rules.initialize(step(at), None, 1000, SPARE, 9)
            assert 0 <= after.epoch <= EPOCH_LAST < EPOCH_MAX
            assert after.producer_id == 7 or spare or at.producer_id == SPARE
            at = rules.add(after, after.producer, [AT], 2, 9)


def test_a_producer_that_asks_again_for_its_next_epoch() -> None:
    """K4: it gets the same, also where that is another id; once it has gone on, or another has begun, it is fenced."""
    for epoch in (3, EPOCH_LAST):
        before = Transaction(transactional_id="x", producer_id=7, timeout_ms=1000, epoch=epoch)
        after = rules.initialize(before, before.producer, 1000, SPARE, 1)
        assert rules.initialize(after, before.producer, 1000, SPARE + 1, 1).producer == after.producer
        other = rules.initialize(after, None, 1000, SPARE + 1, 1)
        for later in (other, rules.add(after, after.producer, [AT], 2, 1)):
            with pytest.raises(ProducerFenced):
                rules.check_expected(later, before.producer)


def test_what_is_prepared_is_waited_for() -> None:
    """K4: nothing else begins before the end is carried out."""
    prepared = rules.end(begun(), Producer(7, 0), commit=True, client_version=1, spare_id=SPARE, now_ms=6)
    assert prepared.state is TransactionState.PREPARE_COMMIT
    for step in (
        lambda: rules.initialize(prepared, None, 1000, SPARE, 7),
        lambda: rules.add(prepared, prepared.producer, [AT], 1, 7),
        lambda: rules.verify(prepared, prepared.producer, AT),
        lambda: rules.end(prepared, prepared.producer, commit=True, client_version=1, spare_id=SPARE, now_ms=7),
    ):
        with pytest.raises(TransactionEnding):
            step()
    with pytest.raises(TransactionStateInvalid):
        rules.end(prepared, prepared.producer, commit=False, client_version=1, spare_id=SPARE, now_ms=7)


def test_a_partition_that_was_added_already_changes_nothing() -> None:
    """K4: no record is written for it."""
    before = begun()
    assert rules.add(before, before.producer, [AT], 2, 9) is before
    rules.verify(before, before.producer, AT)
    with pytest.raises(NotInTransaction):
        rules.verify(before, before.producer, AT._replace(partition=1))
    with pytest.raises(NotInTransaction):
        rules.verify(before._replace(state=TransactionState.COMPLETE_COMMIT), before.producer, AT)
