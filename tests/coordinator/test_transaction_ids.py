"""Transactional ids over a long time: epochs that are used up, and ids that nobody uses any more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.coordinator.test_transaction_end import begun
from tests.coordinator.transaction_world import TIMEOUT_MS, TOPIC, TransactionWorld
from tests.log.log_world import in_loop, turns

from holdfast.coordinator.transaction.coordinator import IMPLICIT
from holdfast.coordinator.transaction.errors import (
    ProducerFenced,
    ProducerIdMismatch,
    TooManyTransactionalIds,
    TransactionalIdUnknown,
)
from holdfast.coordinator.transaction.settings import TransactionSettings
from holdfast.coordinator.transaction.transaction import EPOCH_LAST, Producer, TransactionState
from holdfast.types import TopicPartition

DAY_S = 24 * 60 * 60


async def with_last_epoch(house: TransactionWorld) -> Producer:
    """A producer with an open transaction, and no epoch left after it."""
    hosted = house.opened.context.transactions._hosted
    await house.opened.context.transactions.initialize("x", TIMEOUT_MS)
    hosted["x"].move(hosted["x"].value._replace(epoch=EPOCH_LAST - 1))
    return await begun(house)


@in_loop
async def test_the_last_epoch_is_followed_by_another_producer_id() -> None:
    """K4: with the end of the transaction; a repeat of the end is known again, also after a crash."""
    house = TransactionWorld(1)
    await house.open()
    producer = await with_last_epoch(house)
    assert producer.epoch == EPOCH_LAST
    end = house.opened.context.transactions.end
    after = await end("x", producer, commit=True, client_version=IMPLICIT)
    assert (after.producer_id != producer.producer_id, after.epoch) == (True, 0)
    for _ in range(2):
        assert await end("x", producer, commit=True, client_version=IMPLICIT) == after
        log, visible = await house.read()
        assert visible == log
        house.disk.power_cut()
        await house.open()
        end = house.opened.context.transactions.end


@in_loop
async def test_a_timeout_in_the_last_epoch() -> None:
    """K4: the transaction is aborted, and cannot be committed any more, though there is no epoch left for it. Its
    producer goes on under another id when it aborts."""
    house = TransactionWorld(1)
    await house.open()
    producer = await with_last_epoch(house)
    await house.pass_time(TIMEOUT_MS / 1000 + 1)
    await turns(40)
    transactions = house.opened.context.transactions
    assert transactions.describe("x").state is TransactionState.COMPLETE_ABORT
    assert (await house.read())[1] == set()
    with pytest.raises(ProducerFenced):
        await transactions.end("x", producer, commit=True, client_version=IMPLICIT)
    after = await transactions.end("x", producer, commit=False, client_version=IMPLICIT)
    assert (after.producer_id != producer.producer_id, after.epoch) == (True, 0)
    heir = await transactions.initialize("x", TIMEOUT_MS)
    assert heir.producer_id != producer.producer_id
    for late in (producer, after):
        for commit in (True, False):
            with pytest.raises((ProducerFenced, ProducerIdMismatch)):
                await transactions.end("x", late, commit=commit, client_version=IMPLICIT)


@in_loop
async def test_an_id_that_nobody_uses_is_forgotten() -> None:
    """K4: after its time, for ever; one with an open transaction is not."""
    house = TransactionWorld(1)
    longest_ms = 10 * DAY_S * 1000
    longer = replace(house.settings.broker, transaction_max_timeout_ms=longest_ms)
    house.settings = replace(house.settings, broker=longer)
    await house.open()
    transactions = house.opened.context.transactions
    await transactions.initialize("idle", TIMEOUT_MS)
    busy = await transactions.initialize("busy", longest_ms)
    transactions.enlist("busy", busy, TopicPartition(TOPIC, 0), implicit=True)
    await house.pass_time(6 * DAY_S)
    await transactions.initialize("young", TIMEOUT_MS)
    await house.pass_time(1.1 * DAY_S)
    await turns()
    for _ in range(2):
        with pytest.raises(TransactionalIdUnknown):
            house.opened.context.transactions.describe("idle")
        assert house.opened.context.transactions.describe("young").epoch == 0
        assert house.opened.context.transactions.describe("busy").state is TransactionState.ONGOING
        house.disk.power_cut()
        await house.open()


@in_loop
async def test_there_may_be_so_many_ids_and_no_more() -> None:
    """K4: past the limit a producer is told to come again; those that are known go on."""
    house = TransactionWorld(1)
    await house.open()
    transactions = house.opened.context.transactions
    transactions._settings = TransactionSettings(ids_max=2)
    for name in ("a", "b", "a"):
        await transactions.initialize(name, TIMEOUT_MS)
    with pytest.raises(TooManyTransactionalIds):
        await transactions.initialize("c", TIMEOUT_MS)
    assert [(await transactions.initialize(name, TIMEOUT_MS)).epoch for name in ("a", "b")] == [2, 1]
