"""Fetch on the wire: sessions, limits, long polls, epochs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from tests.broker.wire import (
    NOW_MS,
    Wire,
    batch,
    create_topic,
    delete_topic,
    end_offset,
    fetch,
    fetch_fields,
    produce,
    values,
)
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key


@pytest.mark.parametrize("version", range(4, 19))
def test_records_come_back_in_every_version(wire: Wire, topic: str, version: int) -> None:
    """K2: by name up to version 12, by id from 13 on."""
    topic_id = create_topic(wire, topic)
    produce(wire, topic, batch(b"a", b"b"))
    found = fetch(wire, topic_id if version >= 13 else topic, version=version)
    assert (found.error_code, found.high_watermark, found.last_stable_offset) == (0, 2, 2)
    assert values(found.records) == [b"a", b"b"]


def test_an_id_that_nobody_has_is_refused(wire: Wire) -> None:
    """K2: UNKNOWN_TOPIC_ID, for the partition."""
    assert fetch(wire, UUID(int=1)).error_code == 100


def test_an_empty_answer_has_empty_records(wire: Wire, topic: str) -> None:
    """K2: not null; aborted transactions are null unless only committed records were asked for."""
    create_topic(wire, topic)
    found = fetch(wire, topic)
    assert (found.records, found.aborted_transactions) == (b"", None)
    assert fetch(wire, topic, isolation_level=1).aborted_transactions == []


def test_offsets_out_of_range_are_refused(wire: Wire, topic: str) -> None:
    """L3: behind the end and before the start; the end itself is no error."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"a"))
    assert fetch(wire, topic, 1).error_code == 0
    assert fetch(wire, topic, 2).error_code == 1
    assert fetch(wire, topic, -1).error_code == 1


# Limits


def test_the_first_batch_is_whole_whatever_the_limits(wire: Wire, topic: str) -> None:
    """A5: a limit of one byte, of none, or of less than none. The test of A5."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"x" * 1000))
    produce(wire, topic, batch(b"y" * 1000))
    for limit in (1, 0, -1):
        assert values(fetch(wire, topic, max_bytes=limit).records) == [b"x" * 1000]
        assert values(fetch(wire, topic, partition_max_bytes=limit).records) == [b"x" * 1000]


def test_a_limit_ends_at_whole_batches(wire: Wire, topic: str) -> None:
    """A5: as many as fit."""
    create_topic(wire, topic)
    size = len(batch(b"x" * 100))
    for _ in range(5):
        produce(wire, topic, batch(b"x" * 100))
    assert len(values(fetch(wire, topic, partition_max_bytes=3 * size).records)) == 3
    assert len(values(fetch(wire, topic, partition_max_bytes=4 * size - 1).records)) == 3
    assert len(values(fetch(wire, topic, 3, partition_max_bytes=3 * size).records)) == 2


def test_the_limit_of_an_answer_is_shared_by_its_partitions(wire: Wire, topic: str) -> None:
    """A5: what does not fit is left for the next request, but for the first batch."""
    create_topic(wire, topic, partitions=3)
    size = len(batch(b"x" * 100))
    for partition in range(3):
        produce(wire, topic, batch(b"x" * 100), partition=partition)
    answer = wire.ask(Key.FETCH, 12, **fetch_fields(topic, partitions=range(3), max_bytes=2 * size))
    assert [len(each.records) for each in answer.responses[0].partitions] == [size, size, 0]


def test_a_read_in_the_middle_of_a_batch_returns_the_batch(wire: Wire, topic: str) -> None:
    """L1: the client drops what it did not ask for."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"a", b"b", b"c"))
    assert values(fetch(wire, topic, 1).records) == [b"a", b"b", b"c"]


# Long polls


def test_a_long_poll_wakes_when_a_record_comes(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """L4: long before its time is over, in one partition of two. The test of L4."""
    create_topic(wire, topic, partitions=2)
    with Wire(broker.port) as waiting:
        fields = fetch_fields(topic, partitions=[0, 1], max_wait_ms=15_000)
        number = waiting.send(Key.FETCH, 12, **fields)
        assert end_offset(wire, topic) == 0  # A round trip: the fetch was most likely read before it.
        produce(wire, topic, batch(b"here"), partition=1)
        started = time.monotonic()
        [answer] = waiting.answer(Key.FETCH, 12, number).responses
    assert time.monotonic() - started < 5
    assert [values(each.records) for each in answer.partitions] == [[], [b"here"]]


def test_a_long_poll_ends_after_its_time(wire: Wire, topic: str) -> None:
    """L4: with nothing."""
    create_topic(wire, topic)
    started = time.monotonic()
    assert fetch(wire, topic, max_wait_ms=120).records == b""
    assert 0.1 <= time.monotonic() - started < 5


def test_a_long_poll_waits_for_enough_bytes(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """L4: a single small batch is not enough."""
    create_topic(wire, topic)
    size = len(batch(b"x" * 100))
    produce(wire, topic, batch(b"x" * 100))
    with Wire(broker.port) as waiting:
        number = waiting.send(Key.FETCH, 12, **fetch_fields(topic, max_wait_ms=15_000, min_bytes=2 * size))
        assert end_offset(wire, topic) == 1
        produce(wire, topic, batch(b"x" * 100))
        [answer] = waiting.answer(Key.FETCH, 12, number).responses
    assert len(values(answer.partitions[0].records)) == 2


def test_a_long_poll_on_a_deleted_topic_ends(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """K6: at once, with an error."""
    create_topic(wire, topic)
    with Wire(broker.port) as waiting:
        number = waiting.send(Key.FETCH, 12, **fetch_fields(topic, max_wait_ms=15_000))
        assert end_offset(wire, topic) == 0
        started = time.monotonic()
        delete_topic(wire, topic)
        [answer] = waiting.answer(Key.FETCH, 12, number).responses
    assert time.monotonic() - started < 5
    assert answer.partitions[0].error_code == 3


# Sessions


class Session:
    """An incremental session over all partitions of a topic."""

    def __init__(self, wire: Wire, topic: str, partitions: range) -> None:
        self._wire = wire
        self.topic = topic
        first = self._ask(fetch_fields(topic, partitions=partitions, session_epoch=0))
        self.id, self.epoch = first.session_id, 1
        self.first = self.partitions(first)

    def _ask(self, fields: dict[str, Any]) -> Any:
        return self._wire.ask(Key.FETCH, 12, **fields)

    def next(self, **changed: Any) -> Any:
        fields = fetch_fields(self.topic, session_id=self.id, session_epoch=self.epoch, **{"partitions": (), **changed})
        self.epoch += 1
        return self._ask(fields)

    @staticmethod
    def partitions(answer: Any) -> dict[int, Any]:
        assert answer.error_code == 0
        return {each.partition_index: each for topic in answer.responses for each in topic.partitions}


def test_an_incremental_answer_leaves_out_what_has_not_changed(wire: Wire, topic: str) -> None:
    """K2: only the partition that has something new is in it."""
    create_topic(wire, topic, partitions=3)
    session = Session(wire, topic, range(3))
    assert session.id != 0
    assert set(session.first) == {0, 1, 2}
    assert session.partitions(session.next()) == {}
    produce(wire, topic, batch(b"new"), partition=1)
    changed = session.partitions(session.next())
    assert {number: values(each.records) for number, each in changed.items()} == {1: [b"new"]}
    moved = session.next(partitions=[1], offset=1)
    assert session.partitions(moved) == {}


def test_a_session_forgets_partitions(wire: Wire, topic: str) -> None:
    """K2: what was forgotten is not sent, whatever happens to it."""
    create_topic(wire, topic, partitions=2)
    session = Session(wire, topic, range(2))
    fields = fetch_fields(topic, partitions=(), session_id=session.id, session_epoch=1)
    fields["forgotten_topics_data"] = [{"topic": topic, "partitions": [0]}]
    assert session.partitions(wire.ask(Key.FETCH, 12, **fields)) == {}
    produce(wire, topic, batch(b"x"), partition=0)
    produce(wire, topic, batch(b"x"), partition=1)
    session.epoch = 2
    assert set(session.partitions(session.next())) == {1}


def test_a_session_is_known_by_its_id_and_its_epoch(wire: Wire, topic: str) -> None:
    """K2: FETCH_SESSION_ID_NOT_FOUND and INVALID_FETCH_SESSION_EPOCH."""
    create_topic(wire, topic)
    session = Session(wire, topic, range(1))
    fields = fetch_fields(topic, partitions=(), session_id=session.id, session_epoch=9)
    assert wire.ask(Key.FETCH, 12, **fields).error_code == 71
    closing = fetch_fields(topic, partitions=(), session_id=session.id, session_epoch=-1)
    assert wire.ask(Key.FETCH, 12, **closing).error_code == 0
    assert session.next().error_code == 70


# Epochs and times


def test_a_reader_with_another_epoch_is_told(own_broker: Callable[..., BrokerProcess]) -> None:
    """A2: FENCED_LEADER_EPOCH below ours, UNKNOWN_LEADER_EPOCH above."""
    process = own_broker()
    with Wire(process.port) as wire:
        create_topic(wire, "t")
        assert [fetch(wire, "t", current_leader_epoch=each).error_code for each in (0, 1)] == [0, 75]
    process.kill()
    process.start()
    with Wire(process.port) as wire:
        [found] = wire.ask(Key.METADATA, 9, topics=[{"name": "t"}]).topics
        assert found.partitions[0].leader_epoch == 1
        assert [fetch(wire, "t", current_leader_epoch=each).error_code for each in (0, 1, 2)] == [74, 0, 75]


def epoch_end(wire: Wire, topic: str, epoch: int, current: int = -1) -> tuple[int, int, int]:
    wanted = [{"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}]
    topics = [{"topic": topic, "partitions": wanted}]
    [[found]] = [each.partitions for each in wire.ask(Key.OFFSET_FOR_LEADER_EPOCH, 4, topics=topics).topics]
    return found.error_code, found.leader_epoch, found.end_offset


def test_the_end_of_an_epoch_is_told(wire: Wire, topic: str) -> None:
    """K2: the current one ends at the log's end; one that never was has no end."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"a", b"b"))
    [found] = wire.ask(Key.METADATA, 9, topics=[{"name": topic}]).topics
    epoch = found.partitions[0].leader_epoch
    assert epoch_end(wire, topic, epoch) == (0, epoch, 2)
    assert epoch_end(wire, topic, epoch + 5) == (0, -1, -1)
    assert epoch_end(wire, topic, -1) == (0, -1, -1)
    assert epoch_end(wire, topic, epoch, current=epoch + 1) == (75, -1, -1)
    assert epoch_end(wire, topic + "-absent", epoch) == (3, -1, -1)


def test_offsets_are_found_by_time(wire: Wire, topic: str) -> None:
    """K2: the first record at or after a time, the earliest, the latest, the one with the highest time."""
    create_topic(wire, topic)
    for age in (3000, 2000, 2500):
        produce(wire, topic, batch(b"x", timestamp=NOW_MS - age))
    assert end_offset(wire, topic, timestamp=-1) == 3
    assert end_offset(wire, topic, timestamp=-2) == 0
    assert end_offset(wire, topic, timestamp=-3) == 1
    assert end_offset(wire, topic, timestamp=NOW_MS - 2999) == 1
    assert end_offset(wire, topic, timestamp=NOW_MS - 3000) == 0
    assert end_offset(wire, topic, timestamp=NOW_MS) == -1
