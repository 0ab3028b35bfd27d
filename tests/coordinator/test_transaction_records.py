"""Transactions as they are stored: in Kafka's formats, and the same when they are read back."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.coordinator.runtime.errors import CorruptRecord, NewerRecord
from holdfast.coordinator.transaction.records import (
    decode_transaction,
    decode_transactional_id,
    forgotten_record,
    transaction_record,
)
from holdfast.coordinator.transaction.transaction import Transaction, TransactionState
from holdfast.types import TopicPartition

partitions = st.builds(TopicPartition, st.text(min_size=1, max_size=4), st.integers(0, 5))
ids = st.integers(-1, 2**63 - 1)
transactions = st.builds(
    Transaction,
    transactional_id=st.text(min_size=1, max_size=9),
    producer_id=ids,
    timeout_ms=st.integers(1, 2**31 - 1),
    epoch=st.integers(-1, 2**15 - 1),
    state=st.sampled_from(TransactionState),
    partitions=st.frozensets(partitions, max_size=5),
    changed_at_ms=ids,
    started_at_ms=ids,
    previous_producer_id=ids,
    next_producer_id=ids,
    next_epoch=st.integers(-1, 1),
    client_version=st.integers(0, 2),
    last_epoch=st.just(-1),
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(each=transactions)
def test_what_is_stored_comes_back(each: Transaction) -> None:
    """K4: every field, and nothing else."""
    record = transaction_record(each, 1)
    assert decode_transactional_id(record.key) == each.transactional_id
    assert record.value is not None
    assert decode_transaction(each.transactional_id, record.value) == each
    for size in range(len(record.value)):
        with pytest.raises(CorruptRecord):
            decode_transaction(each.transactional_id, record.value[:size])


def test_the_bytes_are_kafkas() -> None:
    """K4: laid out by hand, from Kafka's own schema."""
    each = Transaction(
        transactional_id="x",
        producer_id=7,
        timeout_ms=60_000,
        epoch=3,
        state=TransactionState.ONGOING,
        partitions=frozenset({TopicPartition("t", 1), TopicPartition("t", 0)}),
        changed_at_ms=11,
        started_at_ms=10,
        client_version=2,
    )
    record = transaction_record(each, 11)
    assert record.key == b"\0\0\0\x01x"
    head = struct.pack(">hqhib", 1, 7, 3, 60_000, 1)
    topics = b"\x02" + b"\x02t" + b"\x03" + struct.pack(">ii", 0, 1) + b"\0"
    assert record.value == head + topics + struct.pack(">qq", 11, 10) + b"\x01" + b"\x02\x02\x00\x02"
    assert forgotten_record("x", 1).value is None


def test_the_older_version_is_read() -> None:
    """K4: version 0, plain and without tags; null for no partitions."""
    value = struct.pack(">hqhib", 0, 7, 3, 60_000, 4) + struct.pack(">i", -1) + struct.pack(">qq", 11, 10)
    found = decode_transaction("x", value)
    assert (found.producer_id, found.epoch, found.state) == (7, 3, TransactionState.COMPLETE_COMMIT)
    topics = struct.pack(">ih", 1, 1) + b"t" + struct.pack(">ii", 1, 5)
    value = struct.pack(">hqhib", 0, 7, 3, 60_000, 1) + topics + struct.pack(">qq", 11, 10)
    assert decode_transaction("x", value).partitions == {TopicPartition("t", 5)}


def test_what_is_not_understood() -> None:
    """K4: a newer value stops the load, a newer key is skipped, a state that does not exist is damage."""
    with pytest.raises(NewerRecord):
        decode_transaction("x", struct.pack(">h", 2))
    assert decode_transactional_id(struct.pack(">h", 1)) is None
    with pytest.raises(CorruptRecord):
        decode_transactional_id(b"\0")
    value = struct.pack(">hqhib", 0, 7, 3, 60_000, 9) + struct.pack(">iqq", -1, 11, 10)
    with pytest.raises(CorruptRecord):
        decode_transaction("x", value)
