"""What is refused about transactions, and with which code."""

from __future__ import annotations

import pytest
from tests.broker.transactor import Transactor, committed
from tests.broker.wire import Wire, create_topic, delete_topic, end_offset

from holdfast.protocol.api import Key

BOTH_WAYS = pytest.mark.parametrize("implicit", [False, True], ids=["explicit", "implicit"])
WRONG_ID, INVALID_STATE, NOT_ATTEMPTED = 49, 48, 55


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_out_of_range(wire: Wire, topic: str, timeout_ms: int) -> None:
    """K4: INVALID_TRANSACTION_TIMEOUT."""
    assert Transactor(wire, topic, implicit=True, timeout_ms=timeout_ms).init() == 50


def test_no_transactional_id(wire: Wire, topic: str) -> None:
    """K4: an empty one is refused; one that nobody has begun with has no producer."""
    create_topic(wire, topic)
    assert Transactor(wire, "", implicit=True).init() == 42
    stranger = Transactor(wire, f"{topic}-stranger", implicit=True)
    stranger.producer_id, stranger.epoch = 1, 0
    assert stranger.add(topic) == WRONG_ID
    assert stranger.add_offsets("g") == WRONG_ID
    assert stranger.end(commit=True) == WRONG_ID
    assert stranger.commit_offset("g", topic, 1) == WRONG_ID
    assert stranger.send(topic, b"x").error_code == WRONG_ID
    assert end_offset(wire, topic) == 0


def test_a_producer_id_of_somebody_else(wire: Wire, topic: str) -> None:
    """K4: INVALID_PRODUCER_ID_MAPPING."""
    create_topic(wire, topic)
    producer = Transactor(wire, topic, implicit=True)
    assert producer.init() == 0
    producer.producer_id += 1
    assert producer.add(topic) == WRONG_ID
    assert producer.end(commit=True) == WRONG_ID
    assert producer.send(topic, b"x").error_code == WRONG_ID


def test_an_end_without_a_transaction(wire: Wire, topic: str) -> None:
    """K4: INVALID_TXN_STATE, in the explicit way for both ends."""
    producer = Transactor(wire, topic, implicit=False)
    assert producer.init() == 0
    assert (producer.end(commit=True), producer.end(commit=False)) == (INVALID_STATE, INVALID_STATE)


def test_partitions_are_added_together_or_not_at_all(wire: Wire, topic: str) -> None:
    """K4: where one is not there, the others are not attempted."""
    create_topic(wire, topic)
    producer = Transactor(wire, topic, implicit=False)
    assert producer.init() == 0
    topics = [{"name": topic, "partitions": [0, 1]}, {"name": "__transaction_state", "partitions": [0]}]
    answer = wire.ask(
        Key.ADD_PARTITIONS_TO_TXN,
        3,
        v3_and_below_transactional_id=topic,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=topics,
    )
    codes = [
        found.partition_error_code
        for each in answer.results_by_topic_v3_and_below
        for found in each.results_by_partition
    ]
    assert codes == [NOT_ATTEMPTED, 3, 17]
    assert producer.end(commit=False) == INVALID_STATE, "nothing has begun"


@pytest.mark.parametrize(("version", "refusal"), [(4, 48), (5, 120)])
def test_many_transactions_in_one_request(wire: Wire, topic: str, version: int, refusal: int) -> None:
    """K4: as brokers ask it of each other: to add, or only to verify."""
    create_topic(wire, topic, 2)
    producers = [Transactor(wire, f"{topic}-{number}", implicit=False) for number in range(2)]
    for each in producers:
        assert each.init() == 0

    def ask(*wanted: tuple[Transactor, int, bool]) -> list[int]:
        rows = [
            {
                "transactional_id": each.id,
                "producer_id": each.producer_id,
                "producer_epoch": each.epoch,
                "verify_only": verify_only,
                "topics": [{"name": topic, "partitions": [partition]}],
            }
            for each, partition, verify_only in wanted
        ]
        answer = wire.ask(Key.ADD_PARTITIONS_TO_TXN, version, transactions=rows)
        return [
            each.topic_results[0].results_by_partition[0].partition_error_code for each in answer.results_by_transaction
        ]

    first, second = producers
    assert ask((first, 0, True), (second, 1, False)) == [refusal, 0]
    assert ask((second, 1, True), (second, 0, True)) == [0, refusal]
    second.epoch += 1
    assert ask((second, 1, True)) == [90]


@BOTH_WAYS
def test_a_topic_that_is_deleted_under_a_transaction(wire: Wire, topic: str, implicit: bool) -> None:
    """K4: the end does not wait for it, and leaves nothing in a new topic of its name."""
    create_topic(wire, topic)
    create_topic(wire, f"{topic}-kept")
    producer = Transactor(wire, topic, implicit=implicit)
    assert producer.init() == 0
    producer.write(topic, b"lost")
    producer.write(f"{topic}-kept", b"kept")
    delete_topic(wire, topic)
    create_topic(wire, topic)
    assert producer.end(commit=True) == 0
    assert committed(wire, f"{topic}-kept") == [b"kept"]
    assert end_offset(wire, topic) == 0
    producer.sequences = {}
    producer.write(topic, b"new")
    assert producer.end(commit=True) == 0
    assert committed(wire, topic) == [b"new"]


def test_readers_wait_for_the_end(wire: Wire, topic: str) -> None:
    """K4: the last stable offset stands still before an open transaction, and moves with its end."""
    create_topic(wire, topic)
    first, second = (Transactor(wire, f"{topic}-{number}", implicit=True) for number in range(2))
    assert (first.init(), second.init()) == (0, 0)
    first.write(topic, b"1")
    second.write(topic, b"2")
    assert second.end(commit=True) == 0
    assert committed(wire, topic) == []
    first.write(topic, b"3")
    assert first.end(commit=False) == 0
    assert committed(wire, topic) == [b"2"]
