"""K2, L4: a fetch without a session that names many partitions is answered as one that names few."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.broker.wire import Wire, batch, create_topic, delete_topic, end_offset, fetch_fields, produce, values
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key

COUNT = 120  # Partitions: more than fit into a request that is read one by one.
LONG_MS = 90_000  # Longer than a wire waits for an answer: who is not woken fails.


def asked(topic: Any, offsets: list[int], **more: Any) -> dict[str, Any]:
    """A fetch of all partitions, from an offset each."""
    fields = fetch_fields(topic, partitions=range(len(offsets)), **more)
    for each, offset in zip(fields["topics"][0]["partitions"], offsets, strict=True):
        each["fetch_offset"] = offset
    return fields


def by_partition(answer: Any) -> dict[int, Any]:
    [topic] = answer.responses
    found = {(each.partition_index): each for each in topic.partitions}
    assert len(found) == len(topic.partitions)
    return found


@pytest.mark.parametrize("version", range(7, 19))
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_all_partitions_are_answered_in_every_version(
    wire: Wire, topic: str, version: int, isolation_level: int
) -> None:
    """K2: those at their end with their marks, those that have records with them; aborted ones as they were asked."""
    topic_id = create_topic(wire, topic, partitions=COUNT)
    for partition in (0, 7, COUNT - 1):
        produce(wire, topic, batch(b"%d" % partition), partition=partition)
    offsets = [1 if partition == 7 else 0 for partition in range(COUNT)]
    fields = asked(topic_id if version >= 13 else topic, offsets, isolation_level=isolation_level)
    for _ in range(2):  # The second time all of them are known.
        found = by_partition(wire.ask(Key.FETCH, version, **fields))
        assert sorted(found) == list(range(COUNT))
        assert {number: values(each.records) for number, each in found.items() if each.records} == {
            0: [b"0"],
            COUNT - 1: [b"%d" % (COUNT - 1)],
        }
        assert [each.high_watermark for _, each in sorted(found.items())] == [1, *[0] * 6, 1, *[0] * (COUNT - 9), 1]
        assert {each.error_code for each in found.values()} == {0}
        assert all(each.aborted_transactions == ([] if isolation_level else None) for each in found.values())
        assert all(each.records is not None for each in found.values())


def test_it_wakes_for_what_it_named_and_for_nothing_else(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """L4: a record in one of the partitions, also one that came while others were looked at."""
    create_topic(wire, topic, partitions=COUNT + 1)
    with Wire(broker.port) as waiting:
        for partition in (3, COUNT - 1, 3):
            offsets = [end_offset(wire, topic, each) for each in range(COUNT)]
            number = waiting.send(Key.FETCH, 12, **asked(topic, offsets, max_wait_ms=LONG_MS))
            produce(wire, topic, batch(b"not asked for"), partition=COUNT)
            produce(wire, topic, batch(b"here"), partition=partition)
            found = by_partition(waiting.answer(Key.FETCH, 12, number))
            assert {number: values(each.records) for number, each in found.items() if each.records} == {
                partition: [b"here"]
            }
            assert len(found) == COUNT


def test_what_came_between_two_fetches_is_in_the_second(wire: Wire, topic: str) -> None:
    """L4: also when nobody waited for it."""
    create_topic(wire, topic, partitions=COUNT)
    for count in range(3):
        found = by_partition(wire.ask(Key.FETCH, 12, **asked(topic, [0] * COUNT)))
        assert values(found[3].records) == [b"here"] * count
        produce(wire, topic, batch(b"here"), partition=3)


def test_it_ends_after_its_time_and_when_its_topic_is_deleted(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """L4: with nothing, and with an error at once."""
    create_topic(wire, topic, partitions=COUNT)
    started = time.monotonic()
    found = by_partition(wire.ask(Key.FETCH, 12, **asked(topic, [0] * COUNT, max_wait_ms=300)))
    assert time.monotonic() - started > 0.25
    assert {each.error_code for each in found.values()} == {0}
    with Wire(broker.port) as waiting:
        number = waiting.send(Key.FETCH, 12, **asked(topic, [0] * COUNT, max_wait_ms=LONG_MS))
        assert end_offset(wire, topic) == 0
        delete_topic(wire, topic)
        found = by_partition(waiting.answer(Key.FETCH, 12, number))
    assert any(each.error_code for each in found.values())


def test_what_is_unusual_is_answered_as_ever(wire: Wire, topic: str) -> None:
    """L3, K2: partitions that are not there, named twice, out of range, or of another epoch."""
    create_topic(wire, topic, partitions=COUNT)
    produce(wire, topic, batch(b"a"), partition=1)
    offsets = [0] * (COUNT + 2)
    offsets[5] = 9
    found = by_partition(wire.ask(Key.FETCH, 12, **asked(topic, offsets)))
    assert [found[number].error_code for number in (4, 5, COUNT, COUNT + 1)] == [0, 1, 3, 3]
    assert values(found[1].records) == [b"a"]

    fields = asked(topic, [0] * COUNT)
    fields["topics"][0]["partitions"] += [{**fields["topics"][0]["partitions"][1], "fetch_offset": 1}]
    found = by_partition(wire.ask(Key.FETCH, 12, **fields))
    assert (len(found), found[1].records, found[1].high_watermark) == (COUNT, b"", 1)  # The last one counts.

    fields = asked(topic, [0] * COUNT)
    fields["topics"] += [{**fields["topics"][0], "partitions": fields["topics"][0]["partitions"][:60]}]
    fields["topics"][0]["partitions"] = fields["topics"][0]["partitions"][60:]  # As librdkafka goes round.
    assert sorted(by_partition(wire.ask(Key.FETCH, 12, **fields))) == list(range(COUNT))

    fields = asked(topic, [0] * COUNT, current_leader_epoch=99)
    assert {each.error_code for each in by_partition(wire.ask(Key.FETCH, 12, **fields)).values()} == {75}
    found = by_partition(wire.ask(Key.FETCH, 12, **asked(f"{topic}-not", [0] * COUNT)))
    assert {each.error_code for each in found.values()} == {3}


def test_what_has_too_little_waits_for_more(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """L4: until there is as much as was asked for, from whichever partitions."""
    create_topic(wire, topic, partitions=COUNT)
    size = len(batch(b"x" * 100))
    produce(wire, topic, batch(b"x" * 100), partition=2)
    with Wire(broker.port) as waiting:
        fields = asked(topic, [0] * COUNT, max_wait_ms=LONG_MS, min_bytes=3 * size)
        number = waiting.send(Key.FETCH, 12, **fields)
        for partition in (2, 9):
            assert end_offset(wire, topic, 50) == 0
            produce(wire, topic, batch(b"x" * 100), partition=partition)
        found = by_partition(waiting.answer(Key.FETCH, 12, number))
    assert {number: len(values(each.records)) for number, each in found.items() if each.records} == {2: 2, 9: 1}
