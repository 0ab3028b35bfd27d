"""What was answered is there after a kill: one broker, filled, killed and started again, then looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

import pytest
from tests.broker.conftest import FAST
from tests.broker.test_offsets import NOTHING, commit, committed
from tests.broker.test_operators import alter, entity, quotas
from tests.broker.wire import Wire, batch, create_topic, delete_topic, end_offset, fetch, produce, values
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key


class Before(NamedTuple):
    """What was answered before the kill."""

    topic_id: UUID
    producer_ids: set[int]


def new_producer_id(wire: Wire) -> int:
    made = wire.ask(Key.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=1, producer_id=-1)
    assert made.error_code == 0
    return int(made.producer_id)


def fill(wire: Wire) -> Before:
    """Everything that the tests below look for."""
    topic_id = create_topic(wire, "kept", partitions=2, retention_ms="123456789")
    for number in range(10):
        produce(wire, "kept", batch(b"%d" % number))
    produce(wire, "kept", batch(b"from a producer", producer_id=900, producer_epoch=0, base_sequence=0), partition=1)
    create_topic(wire, "deleted")
    produce(wire, "deleted", batch(b"old"))
    delete_topic(wire, "deleted")
    create_topic(wire, "again")
    produce(wire, "again", batch(b"old"))
    commit(wire, "group", "again", 1)
    delete_topic(wire, "again")
    create_topic(wire, "again")
    for group in ("group", "gone"):
        assert commit(wire, group, "kept", 7) == 0
    assert wire.ask(Key.DELETE_GROUPS, 2, groups_names=["gone"]).results[0].error_code == 0
    assert alter(wire, entity(user="ann"), producer_byte_rate=1000.0).error_code == 0
    return Before(topic_id, {new_producer_id(wire) for _ in range(5)})


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Before, Wire]]:
    """What a broker answered, and a connection to it after its kill."""
    with BrokerProcess(tmp_path_factory.mktemp("survivor"), settings=FAST) as process:
        with Wire(process.port) as wire:
            before = fill(wire)
        process.kill()
        process.start()
        with Wire(process.port) as wire:
            yield before, wire


@pytest.fixture(scope="module")
def survivor(lived: tuple[Before, Wire]) -> Wire:
    return lived[1]


@pytest.fixture(scope="module")
def before(lived: tuple[Before, Wire]) -> Before:
    return lived[0]


def test_records(survivor: Wire) -> None:
    """A1: in order, once."""
    assert values(fetch(survivor, "kept").records) == [b"%d" % number for number in range(10)]
    assert end_offset(survivor, "kept") == 10


def test_topics_and_their_configs(survivor: Wire, before: Before) -> None:
    """K2: partitions, ids and configs."""
    [topic] = survivor.ask(Key.METADATA, 12, topics=[{"name": "kept", "topic_id": None}]).topics
    assert (topic.error_code, topic.topic_id, len(topic.partitions)) == (0, before.topic_id, 2)
    wanted = {"resource_type": 2, "resource_name": "kept", "configuration_keys": ["retention.ms"]}
    [found] = survivor.ask(Key.DESCRIBE_CONFIGS, 4, resources=[wanted]).results
    assert found.configs[0].value == "123456789"


def test_deleted_topics_stay_deleted(survivor: Wire) -> None:
    """K6: and the one made again under its name is empty, for readers and for groups."""
    assert "deleted" not in {each.name for each in survivor.ask(Key.METADATA, 9, topics=None).topics}
    assert end_offset(survivor, "again") == 0
    assert committed(survivor, "group", "again") == NOTHING


def test_repeats_are_known_again(survivor: Wire) -> None:
    """K4: a producer that did not hear the answer gets it now."""
    again = batch(b"from a producer", producer_id=900, producer_epoch=0, base_sequence=0)
    assert produce(survivor, "kept", again, partition=1).base_offset == 0
    assert end_offset(survivor, "kept", 1) == 1


def test_committed_offsets(survivor: Wire) -> None:
    """K3: what was committed, and what was deleted."""
    assert committed(survivor, "group", "kept") == (7, 3, "text", 0)
    assert committed(survivor, "gone", "kept") == NOTHING


def test_quotas(survivor: Wire) -> None:
    """K1: as they were set."""
    assert quotas(survivor, ("user", 0, "ann")) == [({"user": "ann"}, {"producer_byte_rate": 1000.0})]


def test_producer_ids_are_new(survivor: Wire, before: Before) -> None:
    """K4: none is handed out twice, whatever was left of a block."""
    assert len(before.producer_ids) == 5
    assert not before.producer_ids & {new_producer_id(survivor) for _ in range(5)}
