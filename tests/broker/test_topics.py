"""Topics: made, grown, emptied, deleted and made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.test_offsets import NOTHING, commit, committed
from tests.broker.test_read_after_ack import Gate
from tests.broker.wire import (
    Wire,
    batch,
    create_topic,
    delete_records,
    delete_topic,
    end_offset,
    fetch,
    produce,
    values,
    wait_for,
)

from holdfast.io.objects.faulty import Call, FailBefore, Fault, FaultyObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key


def create(wire: Wire, name: str, *, version: int = 7, validate_only: bool = False, **fields: Any) -> Any:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, **fields}
    [made] = wire.ask(Key.CREATE_TOPICS, version, topics=[topic], timeout_ms=5000, validate_only=validate_only).topics
    return made


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_can_be_used_as_soon_as_it_is_made(wire: Wire, topic: str, version: int) -> None:
    """K2: in every version; the newest tell partitions, configs and id."""
    made = create(wire, topic, version=version, num_partitions=2)
    assert made.error_code == 0
    assert produce(wire, topic, batch(b"x"), partition=1).error_code == 0
    if version >= 5:
        assert (made.num_partitions, made.replication_factor) == (2, 1)
        assert {"retention.ms", "cleanup.policy"} <= {each.name for each in made.configs}
    if version >= 7:
        assert made.topic_id is not None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"name": "no name"}, 17),
        ({"name": ".."}, 17),
        ({"name": "n" * 250}, 17),
        ({"num_partitions": 0}, 37),
        ({"num_partitions": 1_000_000}, 37),
        ({"replication_factor": 3}, 38),
        ({"configs": [{"name": "no.such.config", "value": "1"}]}, 40),
        ({"configs": [{"name": "retention.ms", "value": "soon"}]}, 40),
        ({"configs": [{"name": "retention.ms", "value": None}]}, 40),
        ({"assignments": [{"partition_index": 0, "broker_ids": [0]}]}, 42),
        (
            {
                "num_partitions": -1,
                "replication_factor": -1,
                "assignments": [{"partition_index": 1, "broker_ids": [0]}],
            },
            39,
        ),
        (
            {
                "num_partitions": -1,
                "replication_factor": -1,
                "assignments": [{"partition_index": 0, "broker_ids": [5]}],
            },
            39,
        ),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_reason(
    wire: Wire, topic: str, fields: dict[str, Any], code: int
) -> None:
    """K2: and nothing is made."""
    name = fields.get("name", topic)
    refused = create(wire, **{"name": topic, **fields})
    assert refused.error_code == code
    assert refused.error_message
    assert name not in {each.name for each in wire.ask(Key.METADATA, 9, topics=None).topics}


def test_defaults_are_the_brokers(wire: Wire, topic: str) -> None:
    """K2: minus one partition and minus one copy stand for them."""
    made = create(wire, topic, num_partitions=-1, replication_factor=-1)
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 1, 1)


def test_partitions_can_be_assigned_to_the_one_broker(wire: Wire, topic: str) -> None:
    """K2: as tools do that place them by hand."""
    rows = [{"partition_index": each, "broker_ids": [0]} for each in range(3)]
    assert create(wire, topic, num_partitions=-1, replication_factor=-1, assignments=rows).num_partitions == 3


def test_a_topic_is_made_once(wire: Wire, topic: str) -> None:
    """K2: TOPIC_ALREADY_EXISTS, and a request that names it twice is refused."""
    row = {"name": topic, "num_partitions": 1, "replication_factor": 1}
    answer = wire.ask(Key.CREATE_TOPICS, 7, topics=[row, row], timeout_ms=5000)
    assert [each.error_code for each in answer.topics] == [42, 42]
    assert create(wire, topic).error_code == 0
    assert create(wire, topic).error_code == 36


def test_validate_only_makes_nothing(wire: Wire, topic: str) -> None:
    """K2: but says what would happen."""
    assert create(wire, topic, validate_only=True).error_code == 0
    assert create(wire, topic, validate_only=True, num_partitions=0).error_code == 37
    assert create(wire, topic).error_code == 0


def test_delete_and_create_at_once_shows_no_old_data(wire: Wire, topic: str) -> None:
    """K6: again and again, also when the old data was flushed."""
    for number in range(5):
        topic_id = create_topic(wire, topic)
        assert end_offset(wire, topic) == 0
        assert fetch(wire, topic_id).records == b""
        produce(wire, topic, batch(b"%d" % number))
        if number % 2:
            assert delete_records(wire, topic, 1).error_code == 0  # Only what is flushed can be deleted.
        delete_topic(wire, topic)


def test_a_topic_that_is_named_twice_is_not_deleted(wire: Wire, topic: str) -> None:
    """K3: the request is wrong for this topic, and right for others; a name that nobody knows is told as such."""
    create_topic(wire, topic)
    create_topic(wire, f"{topic}-once")
    names = [topic, f"{topic}-once", topic, f"{topic}-absent"]
    topics = [{"name": name, "topic_id": None} for name in names]
    answer = wire.ask(Key.DELETE_TOPICS, 6, topics=topics, timeout_ms=5000)
    assert [(each.name, each.error_code) for each in answer.responses] == list(zip(names, [42, 0, 42, 3], strict=True))
    assert produce(wire, topic, batch(b"x")).error_code == 0
    delete_topic(wire, topic)


def test_a_deleted_topic_is_gone(wire: Wire, topic: str) -> None:
    """K6: for producers, for readers, and in metadata; deleting it again is an error."""
    topic_id = create_topic(wire, topic)
    produce(wire, topic, batch(b"x"))
    delete_topic(wire, topic)
    assert produce(wire, topic, batch(b"x")).error_code == 3
    assert fetch(wire, topic).error_code == 3
    assert fetch(wire, topic_id).error_code == 100
    assert topic not in {each.name for each in wire.ask(Key.METADATA, 9, topics=None).topics}
    [again] = wire.ask(Key.DELETE_TOPICS, 1, topic_names=[topic], timeout_ms=5000).responses
    assert again.error_code == 3
    [by_id] = wire.ask(Key.DELETE_TOPICS, 6, topics=[{"name": None, "topic_id": topic_id}], timeout_ms=1).responses
    assert (by_id.error_code, by_id.topic_id) == (100, topic_id)


def test_internal_topics_are_kept(wire: Wire) -> None:
    """K3: groups live in it: it is neither written nor deleted nor grown nor emptied by a client."""
    internal = "__consumer_offsets"
    [gone] = wire.ask(Key.DELETE_TOPICS, 1, topic_names=[internal], timeout_ms=5000).responses
    assert gone.error_code == 42
    assert add_partitions(wire, internal, 50).error_code == 42
    assert produce(wire, internal, batch(b"mine")).error_code == 17
    assert delete_records(wire, internal, 0).error_code == 17


def test_a_client_that_goes_away_leaves_nothing_half_done(tmp_path: Path, topic: str) -> None:
    """K6: it hangs up while its topic is being made; the topic is there, and can be used."""
    gate = Gate("meta/")
    store = FaultyObjects(MemoryObjects(), gate.plan)
    with InsideBroker(tmp_path, store) as inside, Wire(inside.port) as other:
        gate.closed = True
        with Wire(inside.port) as hasty:
            row = {"name": topic, "num_partitions": 1, "replication_factor": 1}
            hasty.send(Key.CREATE_TOPICS, 7, topics=[row], timeout_ms=5000)
            assert gate.reached.wait(20)
        assert other.ask(Key.API_VERSIONS, 0).error_code == 0  # The broker has most likely heard of the end by now.
        gate.open.set()
        wait_for(lambda: create(other, topic).error_code == 36)
        assert produce(other, topic, batch(b"x")).base_offset == 0


class Away:
    """A store of which a part does not answer, while it is away."""

    def __init__(self) -> None:
        self.prefix = ""

    def plan(self, call: Call) -> Fault | None:
        return FailBefore() if self.prefix and call.name.startswith(self.prefix) else None


def test_a_store_that_fails_while_a_topic_is_made_leaves_one_that_can_be_used(tmp_path: Path, topic: str) -> None:
    """K6: its metadata is stored, and then its partition cannot be opened. It is there as soon as it is asked for
    again, not only after the next start."""
    away = Away()
    store = FaultyObjects(MemoryObjects(), away.plan)
    with InsideBroker(tmp_path, store) as inside, Wire(inside.port) as wire:
        away.prefix = "manifests/"
        assert create(wire, topic).error_code == 56
        away.prefix = ""
        assert create(wire, topic).error_code == 36
        assert produce(wire, topic, batch(b"x")).base_offset == 0


def test_a_store_that_fails_while_a_topic_is_deleted_leaves_nothing_of_it(tmp_path: Path, topic: str) -> None:
    """K6: it is deleted, but still listed: made again under its name, it has no records, and no group's old offsets,
    by which records would be skipped."""
    away = Away()
    store = FaultyObjects(MemoryObjects(), away.plan)
    with InsideBroker(tmp_path, store) as inside, Wire(inside.port) as wire:
        create_topic(wire, topic)
        produce(wire, topic, batch(b"old", b"older"))
        assert commit(wire, "readers", topic, 2) == 0
        away.prefix = "meta/"
        wanted = [{"name": topic, "topic_id": None}]
        [gone] = wire.ask(Key.DELETE_TOPICS, 6, topics=wanted, timeout_ms=5000).responses
        assert gone.error_code == 0
        away.prefix = ""
        create_topic(wire, topic)
        assert (end_offset(wire, topic), committed(wire, "readers", topic)) == (0, NOTHING)
    with InsideBroker(tmp_path, store) as inside, Wire(inside.port) as wire:
        assert produce(wire, topic, batch(b"new")).base_offset == 0


# Partitions


def add_partitions(wire: Wire, name: str, count: int, *, validate_only: bool = False, assignments: Any = None) -> Any:
    topics = [{"name": name, "count": count, "assignments": assignments}]
    answer = wire.ask(Key.CREATE_PARTITIONS, 3, topics=topics, timeout_ms=5000, validate_only=validate_only)
    [found] = answer.results
    return found


def test_a_topic_gets_more_partitions(wire: Wire, topic: str) -> None:
    """K2: at once, and what was there stays."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"old"))
    assert add_partitions(wire, topic, 3, validate_only=True).error_code == 0
    assert produce(wire, topic, batch(b"x"), partition=2).error_code == 3
    assert add_partitions(wire, topic, 3).error_code == 0
    assert produce(wire, topic, batch(b"x"), partition=2).error_code == 0
    assert values(fetch(wire, topic).records) == [b"old"]
    assert add_partitions(wire, topic, 4, assignments=[{"broker_ids": [0]}]).error_code == 0


def test_partitions_never_get_fewer(wire: Wire, topic: str) -> None:
    """K2: INVALID_PARTITIONS, and wrong assignments are refused."""
    create_topic(wire, topic, partitions=2)
    assert add_partitions(wire, topic, 2).error_code == 37
    assert add_partitions(wire, topic, 1).error_code == 37
    assert add_partitions(wire, topic, 3, assignments=[{"broker_ids": [9]}]).error_code == 39
    assert add_partitions(wire, topic, 4, assignments=[{"broker_ids": [0]}]).error_code == 39
    assert add_partitions(wire, f"{topic}-absent", 3).error_code == 3
