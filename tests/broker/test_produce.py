"""Produce on the wire: names and ids, timestamps, codecs, and what clients cannot be made to do: repeats and gaps."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.broker.wire import NOW_MS, Wire, batch, create_topic, delete_topic, end_offset, fetch, produce, read, values

from holdfast.protocol.api import Key
from holdfast.record.layout import Codec

OUT_OF_ORDER, INVALID_EPOCH = 45, 47


@pytest.mark.parametrize("version", range(3, 14))
def test_a_batch_is_taken_in_every_version(wire: Wire, topic: str, version: int) -> None:
    """K2: by name up to version 12, by id in 13."""
    topic_id = create_topic(wire, topic)
    made = produce(wire, topic_id if version == 13 else topic, batch(b"a", b"b"), version=version)
    assert (made.error_code, made.base_offset, made.log_append_time_ms) == (0, 0, -1)
    assert values(fetch(wire, topic).records) == [b"a", b"b"]


def test_an_id_that_nobody_has_is_refused(wire: Wire) -> None:
    """K2: UNKNOWN_TOPIC_ID."""
    assert produce(wire, UUID(int=1), batch(b"x")).error_code == 100


def test_a_topic_made_again_has_another_id(wire: Wire, topic: str) -> None:
    """K2, K6: and the old id reaches nothing."""
    before = create_topic(wire, topic)
    delete_topic(wire, topic)
    after = create_topic(wire, topic)
    assert before != after
    assert produce(wire, before, batch(b"x")).error_code == 100
    assert produce(wire, after, batch(b"x")).error_code == 0


def test_a_topic_that_is_not_there_is_refused(wire: Wire, topic: str) -> None:
    """K2: UNKNOWN_TOPIC_OR_PARTITION, for a topic and for a partition; produce makes no topics."""
    assert produce(wire, topic, batch(b"x")).error_code == 3
    create_topic(wire, topic)
    assert produce(wire, topic, batch(b"x"), partition=1).error_code == 3


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_is_stored_as_it_was_sent(wire: Wire, topic: str, codec: Codec) -> None:
    """K2: byte for byte; the broker packs no record anew."""
    create_topic(wire, topic)
    sent = batch(*[b"value" * 20] * 5, codec=codec)
    assert produce(wire, topic, sent).error_code == 0
    stored = fetch(wire, topic).records
    assert stored[17:] == sent[17:]  # Behind base offset, length, leader epoch and magic: the crc and all it covers.
    assert values(stored) == [b"value" * 20] * 5


def test_tombstones_come_back(wire: Wire, topic: str) -> None:
    """K2: null is not empty."""
    create_topic(wire, topic)
    produce(wire, topic, batch(None, b"", b"x"))
    assert values(fetch(wire, topic).records) == [None, b"", b"x"]


def test_a_damaged_batch_is_refused(wire: Wire, topic: str) -> None:
    """K7: CORRUPT_MESSAGE, nothing is appended, and the connection stays."""
    create_topic(wire, topic)
    damaged = bytearray(batch(b"fine"))
    damaged[-1] ^= 1
    assert produce(wire, topic, bytes(damaged)).error_code == 2
    assert produce(wire, topic, batch(b"fine")[:-1]).error_code == 2
    assert produce(wire, topic, None).error_code == 87
    assert end_offset(wire, topic) == 0


def test_create_time_is_the_producers(wire: Wire, topic: str) -> None:
    """K2: and the answer names no append time."""
    create_topic(wire, topic)
    assert produce(wire, topic, batch(b"x", timestamp=NOW_MS - 5000)).log_append_time_ms == -1
    [record] = read(fetch(wire, topic).records)
    assert (record.timestamp, record.timestamp_type) == (NOW_MS - 5000, 0)


def test_log_append_time_is_the_brokers(wire: Wire, topic: str) -> None:
    """K2: the answer and the record say the same."""
    create_topic(wire, topic, message_timestamp_type="LogAppendTime")
    made = produce(wire, topic, batch(b"x", timestamp=5))
    [record] = read(fetch(wire, topic).records)
    assert made.log_append_time_ms >= NOW_MS
    assert (record.timestamp, record.timestamp_type) == (made.log_append_time_ms, 1)


# Idempotence


def producer_id(wire: Wire) -> int:
    made = wire.ask(Key.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=1, producer_id=-1)
    assert (made.error_code, made.producer_epoch) == (0, 0)
    found: int = made.producer_id
    return found


def from_producer(number: int, sequence: int, epoch: int = 0, count: int = 1) -> bytes:
    return batch(*[b"x"] * count, producer_id=number, producer_epoch=epoch, base_sequence=sequence)


def test_producer_ids_never_repeat(wire: Wire) -> None:
    """K4: each producer has its own."""
    numbers = [producer_id(wire) for _ in range(20)]
    assert len(set(numbers)) == 20


def test_a_repeat_gets_the_first_offset_and_appends_nothing(wire: Wire, topic: str) -> None:
    """K4: each of the last five batches is known again."""
    create_topic(wire, topic)
    number = producer_id(wire)
    batches = [from_producer(number, sequence, count=2) for sequence in range(0, 14, 2)]
    assert [produce(wire, topic, each).base_offset for each in batches] == list(range(0, 14, 2))
    for at in range(2, 7):
        again = produce(wire, topic, batches[at])
        assert (again.error_code, again.base_offset) == (0, 2 * at)
    assert end_offset(wire, topic) == 14


def test_a_repeat_too_old_to_be_known_is_not_called_a_duplicate(wire: Wire, topic: str) -> None:
    """K4, D6: clients take DUPLICATE_SEQUENCE_NUMBER for success, and nobody knows whether that batch is there."""
    create_topic(wire, topic)
    number = producer_id(wire)
    for sequence in range(7):
        produce(wire, topic, from_producer(number, sequence))
    assert produce(wire, topic, from_producer(number, 0)).error_code == OUT_OF_ORDER
    assert end_offset(wire, topic) == 7


def test_a_gap_is_refused(wire: Wire, topic: str) -> None:
    """K4: OUT_OF_ORDER_SEQUENCE_NUMBER, and what follows the last batch is taken."""
    create_topic(wire, topic)
    number = producer_id(wire)
    produce(wire, topic, from_producer(number, 0))
    assert produce(wire, topic, from_producer(number, 2)).error_code == OUT_OF_ORDER
    assert produce(wire, topic, from_producer(number, 1)).error_code == 0
    assert end_offset(wire, topic) == 2


def test_an_old_epoch_is_fenced(wire: Wire, topic: str) -> None:
    """K4: INVALID_PRODUCER_EPOCH; a new epoch begins at sequence 0."""
    create_topic(wire, topic)
    number = producer_id(wire)
    produce(wire, topic, from_producer(number, 0))
    assert produce(wire, topic, from_producer(number, 5, epoch=1)).error_code == OUT_OF_ORDER
    assert produce(wire, topic, from_producer(number, 0, epoch=1)).error_code == 0
    assert produce(wire, topic, from_producer(number, 1, epoch=0)).error_code == INVALID_EPOCH


def test_a_producer_that_lost_its_place_gets_the_next_epoch(wire: Wire) -> None:
    """K4: InitProducerId with an id goes on under it."""
    number = producer_id(wire)
    fields: dict[str, Any] = {"transactional_id": None, "transaction_timeout_ms": 1}
    again = wire.ask(Key.INIT_PRODUCER_ID, 4, producer_id=number, producer_epoch=3, **fields)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (0, number, 4)


def test_producers_are_described(wire: Wire, topic: str) -> None:
    """K4: id, epoch and last sequence of those a partition remembers."""
    create_topic(wire, topic)
    number = producer_id(wire)
    produce(wire, topic, from_producer(number, 0, count=3))
    topics = [{"name": topic, "partition_indexes": [0]}]
    [[found]] = [each.partitions for each in wire.ask(Key.DESCRIBE_PRODUCERS, 0, topics=topics).topics]
    [state] = found.active_producers
    assert (state.producer_id, state.producer_epoch, state.last_sequence) == (number, 0, 2)
    assert state.current_txn_start_offset == -1
