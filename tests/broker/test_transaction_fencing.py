"""Zombies and torn transactions: nothing that was sent for one transaction gets into another."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.transactor import Transactor, committed, uncommitted
from tests.broker.wire import Wire, batch, create_topic, end_offset, produce, wait_for

from holdfast.protocol.api import Key

BOTH_WAYS = pytest.mark.parametrize("implicit", [False, True], ids=["explicit", "implicit"])
FENCED, OLD_EPOCH, WRONG_ID, INVALID_STATE, ABORTABLE = 90, 47, 49, 48, 120


def started(wire: Wire, name: str, *, implicit: bool, **more: int) -> Transactor:
    create_topic(wire, name)
    producer = Transactor(wire, name, implicit=implicit, **more)
    assert producer.init() == 0
    return producer


@BOTH_WAYS
def test_a_new_producer_aborts_what_the_old_one_left(wire: Wire, topic: str, implicit: bool) -> None:
    """K4: InitProducerId ends the open transaction with an abort, in an epoch that shuts the old producer out."""
    zombie = started(wire, topic, implicit=implicit)
    zombie.write(topic, b"zombie")
    heir = Transactor(wire, topic, implicit=implicit)
    assert heir.init() == 0
    assert heir.producer_id == zombie.producer_id
    assert heir.epoch > zombie.epoch
    end = end_offset(wire, topic)
    assert zombie.send(topic, b"late").error_code == OLD_EPOCH
    assert zombie.add(topic) == FENCED
    assert zombie.add_offsets("g") == FENCED
    assert zombie.commit_offset("g", topic, 1) == OLD_EPOCH
    assert zombie.end(commit=True) == FENCED
    assert zombie.end(commit=False) == FENCED
    assert end_offset(wire, topic) == end, "A zombie has left something."
    heir.write(topic, b"heir")
    assert heir.end(commit=True) == 0
    assert committed(wire, topic) == [b"heir"]


@pytest.mark.parametrize(("ask", "code"), [(0, OLD_EPOCH), (1, OLD_EPOCH), (2, FENCED)])
def test_older_clients_know_one_code_for_fenced(wire: Wire, topic: str, ask: int, code: int) -> None:
    """K4: PRODUCER_FENCED only where a version knows it."""
    zombie = started(wire, topic, implicit=False)
    assert Transactor(wire, topic, implicit=False).init() == 0
    assert zombie.add(topic, version=ask) == code
    assert zombie.add_offsets("g", version=ask) == code
    assert zombie.end(commit=True, version=ask) == code


def test_a_batch_that_comes_after_its_transaction(wire: Wire, topic: str) -> None:
    """K4: a delayed produce of an aborted transaction begins no other, and is in no later one."""
    producer = started(wire, topic, implicit=True)
    delayed = producer.records(topic, b"delayed")
    producer.write(topic, b"x")
    assert producer.end(commit=False) == 0
    assert producer.send_records(topic, delayed).error_code == OLD_EPOCH
    producer.write(topic, b"a")
    assert producer.send_records(topic, delayed).error_code == OLD_EPOCH
    assert producer.end(commit=True) == 0
    assert committed(wire, topic) == [b"a"]
    assert uncommitted(wire, topic) == [b"x", b"a"]


def test_a_batch_that_comes_after_its_transaction_the_explicit_way(wire: Wire, topic: str) -> None:
    """K4: it is refused, because its partition is in no open transaction."""
    producer = started(wire, topic, implicit=False)
    producer.write(topic, b"x")
    delayed = producer.records(topic, b"delayed")
    assert producer.end(commit=False) == 0
    assert producer.send_records(topic, delayed).error_code == INVALID_STATE
    assert producer.send_records(topic, delayed, version=11).error_code == ABORTABLE
    assert uncommitted(wire, topic) == [b"x"]


def test_an_end_that_is_repeated(wire: Wire, topic: str) -> None:
    """K4: the same end again is answered as before, with the epoch that it gave; the other one is refused."""
    producer = started(wire, topic, implicit=True)
    producer.write(topic, b"a")
    before = producer.epoch
    assert producer.end(commit=True) == 0
    after = producer.epoch
    assert after == before + 1
    assert producer.end(commit=True, epoch=before) == 0
    assert producer.epoch == after
    assert producer.end(commit=False, epoch=before) == INVALID_STATE
    assert committed(wire, topic) == [b"a"]


def test_an_end_that_is_repeated_the_explicit_way(wire: Wire, topic: str) -> None:
    """K4: the epoch stays; a commit is not an abort."""
    producer = started(wire, topic, implicit=False)
    producer.write(topic, b"a")
    epoch = producer.epoch
    assert (producer.end(commit=True), producer.end(commit=True)) == (0, 0)
    assert producer.end(commit=False) == INVALID_STATE
    assert producer.epoch == epoch
    assert committed(wire, topic) == [b"a"]


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_of_the_last_transaction_does_not_end_this_one(wire: Wire, topic: str, commit: bool) -> None:
    """K4: an EndTxn that was on its way while the next transaction began is fenced."""
    producer = started(wire, topic, implicit=True)
    producer.write(topic, b"a")
    before = producer.epoch
    assert producer.end(commit=commit) == 0
    producer.write(topic, b"b")
    assert producer.end(commit=commit, epoch=before) == FENCED
    assert committed(wire, topic) == ([b"a"] if commit else [])
    producer.write(topic, b"c")
    assert producer.end(commit=True) == 0
    assert committed(wire, topic)[-2:] == [b"b", b"c"]


def test_a_producer_goes_on_after_its_time_was_up(wire: Wire, topic: str) -> None:
    """K4: the coordinator has aborted. A commit is refused and nothing is seen of it; an abort, also a repeated one, is
    taken, and gives the epoch to go on in. What was sent in the old one is refused, before and after."""
    late = started(wire, topic, implicit=True, timeout_ms=300)
    late.write(topic, b"late")
    delayed, before = late.records(topic, b"delayed"), late.epoch
    wait_for(lambda: described(wire, topic).transaction_state == "CompleteAbort")
    assert late.end(commit=True) == FENCED
    assert late.send_records(topic, delayed).error_code == OLD_EPOCH
    assert (late.end(commit=False), late.end(commit=False, epoch=before)) == (0, 0)
    assert late.epoch == before + 1
    late.write(topic, b"next")
    assert late.send_records(topic, delayed).error_code == OLD_EPOCH
    assert late.end(commit=True) == 0
    assert (committed(wire, topic), uncommitted(wire, topic)) == ([b"next"], [b"late", b"next"])


def test_a_producer_whose_time_was_up_does_not_end_its_heirs_transaction(wire: Wire, topic: str) -> None:
    """K4: once another has begun, the late one is fenced, whatever it asks for."""
    late = started(wire, topic, implicit=True, timeout_ms=300)
    late.write(topic, b"late")
    wait_for(lambda: described(wire, topic).transaction_state == "CompleteAbort")
    heir = Transactor(wire, topic, implicit=True)
    assert heir.init() == 0
    assert late.end(commit=False) == FENCED
    heir.write(topic, b"heir")
    assert (late.end(commit=False), late.end(commit=True)) == (FENCED, FENCED)
    assert heir.end(commit=True) == 0
    assert (late.end(commit=False), late.end(commit=True)) == (FENCED, FENCED)
    assert committed(wire, topic) == [b"heir"]


def test_a_commit_that_comes_after_the_time_is_up_the_explicit_way(wire: Wire, topic: str) -> None:
    """K4: the coordinator has aborted; the producer's commit, and its abort, find it fenced, and nothing is seen."""
    late = started(wire, topic, implicit=False, timeout_ms=50)
    late.write(topic, b"late")
    wait_for(lambda: described(wire, topic).transaction_state == "CompleteAbort")
    for commit in (True, False, True):
        assert late.end(commit=commit) == FENCED
    assert late.send(topic, b"later").error_code == OLD_EPOCH
    assert (committed(wire, topic), uncommitted(wire, topic)) == ([], [b"late"])
    heir = Transactor(wire, topic, implicit=False)
    assert heir.init() == 0
    heir.write(topic, b"heir")
    assert heir.end(commit=True) == 0
    assert committed(wire, topic) == [b"heir"]


def described(wire: Wire, transactional_id: str) -> Any:
    [found] = wire.ask(Key.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[transactional_id]).transaction_states
    assert found.error_code == 0
    return found


def test_an_abort_without_a_transaction_has_an_epoch_of_its_own(wire: Wire, topic: str) -> None:
    """K4: what the producer sent, and is still on its way, must not begin the next transaction."""
    producer = started(wire, topic, implicit=True)
    delayed = producer.records(topic, b"delayed")
    before = producer.epoch
    assert producer.end(commit=True) == INVALID_STATE
    assert producer.end(commit=False) == 0
    assert producer.epoch == before + 1
    assert producer.send_records(topic, delayed).error_code == OLD_EPOCH
    assert producer.end(commit=False) == 0
    assert producer.epoch == before + 2


def test_a_gap_at_the_beginning_of_an_epoch(wire: Wire, topic: str) -> None:
    """K4: a second batch is not let in before the first: that one would later pass for a repeat, and be lost."""
    producer = started(wire, topic, implicit=True)
    producer.write(topic, b"a")
    assert producer.end(commit=True) == 0
    first = producer.records(topic, b"first")
    producer.sequences[topic, 0] = 1
    second = producer.records(topic, b"second")
    assert producer.send_records(topic, second).error_code == 45
    assert producer.send_records(topic, first).error_code == 0
    assert producer.send_records(topic, second).error_code == 0
    assert producer.end(commit=True) == 0
    assert committed(wire, topic) == [b"a", b"first", b"second"]


@BOTH_WAYS
def test_a_batch_that_is_repeated(wire: Wire, topic: str, implicit: bool) -> None:
    """K4: it is where it was, and is there once."""
    producer = started(wire, topic, implicit=implicit)
    if not implicit:
        producer.add(topic)
    records = producer.records(topic, b"a")
    assert [producer.send_records(topic, records).base_offset for _ in range(3)] == [0, 0, 0]
    assert producer.end(commit=True) == 0
    assert committed(wire, topic) == [b"a"]


def test_what_is_not_of_the_transaction(wire: Wire, topic: str) -> None:
    """K4: a batch outside of the transaction, or without its id, does not get into it."""
    producer = started(wire, topic, implicit=True)
    producer.write(topic, b"a")
    plain = batch(b"plain", producer_id=producer.producer_id, producer_epoch=producer.epoch, base_sequence=1)
    assert produce(wire, topic, plain).error_code == INVALID_STATE
    assert produce(wire, topic, Transactor(wire, "x", implicit=True).records(topic, b"?")).error_code != 0
    create_topic(wire, f"{topic}-2")
    nameless = batch(
        b"?", producer_id=producer.producer_id, producer_epoch=producer.epoch, base_sequence=0, transactional=True
    )
    assert produce(wire, f"{topic}-2", nameless).error_code == 53
    other = Transactor(wire, f"{topic}-other", implicit=True)
    assert other.init() == 0
    other.producer_id = producer.producer_id
    assert other.send(f"{topic}-2", b"?").error_code == WRONG_ID
    assert producer.end(commit=True) == 0
    assert committed(wire, topic) == [b"a"]


def test_a_producer_that_goes_on_in_its_next_epoch(wire: Wire, topic: str) -> None:
    """K4: one that says who it is gets the next epoch, also if it asks twice; one that is not the newest is fenced."""
    producer = started(wire, topic, implicit=False)
    number, epoch = producer.producer_id, producer.epoch
    for _ in range(3):
        assert producer.init(producer_id=number, epoch=epoch) == 0
        assert (producer.producer_id, producer.epoch) == (number, epoch + 1)
    producer.write(topic, b"a")
    assert producer.end(commit=True) == 0
    assert producer.init(producer_id=number, epoch=epoch) == FENCED
    assert producer.init(producer_id=number, epoch=epoch, version=3) == OLD_EPOCH
    assert producer.init(producer_id=number + 1, epoch=epoch + 1) == FENCED
    assert producer.init(producer_id=number, epoch=-1) == 42


def test_a_producer_that_goes_on_with_its_transaction_open(wire: Wire, topic: str) -> None:
    """K4: its transaction is aborted, and it may ask again for the answer."""
    producer = started(wire, topic, implicit=True)
    producer.write(topic, b"x")
    number, epoch = producer.producer_id, producer.epoch
    assert producer.init(producer_id=number, epoch=epoch) == 0
    after = producer.epoch
    assert after > epoch
    assert producer.init(producer_id=number, epoch=epoch) == 0
    assert producer.epoch == after
    producer.write(topic, b"a")
    assert producer.end(commit=True) == 0
    assert committed(wire, topic) == [b"a"]
