"""A corrupt internal partition: its groups and transactional ids are refused by name, all others are served."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, create_topic
from tests.operate.directory import flip, repair

from holdfast.broker.settings import BrokerSettings
from holdfast.coordinator.runtime.internal_topic import partition_of
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.operate.place import topic_names
from holdfast.protocol.api import Key

COUNT = 2  # Internal partitions of each kind.
SETTINGS = BrokerSettings(offsets_topic_num_partitions=COUNT, transaction_state_log_num_partitions=COUNT)
NAMES = [f"name-{number}" for number in range(6)]
GONE, KEPT = (
    [name for name in NAMES if partition_of(name, COUNT) == 0],
    [name for name in NAMES if partition_of(name, COUNT) == 1],
)
NOT_AVAILABLE = 15


def broker(data: Path) -> InsideBroker:
    return InsideBroker(data, LocalObjects(data / "objects"), broker=SETTINGS)


def commit(wire: Wire, group: str, offset: int) -> int:
    row = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": ""}
    topics = [{"name": "orders", "partitions": [row]}]
    answer = wire.ask(Key.OFFSET_COMMIT, 8, group_id=group, topics=topics)
    code: int = answer.topics[0].partitions[0].error_code
    return code


def committed(wire: Wire, group: str) -> tuple[int, int]:
    """The offset, and the code for the group."""
    asked = [{"group_id": group, "topics": [{"name": "orders", "partition_indexes": [0]}]}]
    [found] = wire.ask(Key.OFFSET_FETCH, 8, groups=asked).groups
    return (found.topics[0].partitions[0].committed_offset if found.topics else -1), found.error_code


def initialize(wire: Wire, name: str) -> Any:
    return wire.ask(
        Key.INIT_PRODUCER_ID, 4, transactional_id=name, transaction_timeout_ms=1000, producer_id=-1, producer_epoch=-1
    )


def coordinator_code(wire: Wire, name: str, kind: int) -> int:
    [found] = wire.ask(Key.FIND_COORDINATOR, 4, key_type=kind, coordinator_keys=[name]).coordinators
    code: int = found.error_code
    return code


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose broker was stopped cleanly: all of the internal topics is in segments."""
    data = tmp_path_factory.mktemp("internal")
    with broker(data) as inside, Wire(inside.port) as wire:
        create_topic(wire, "orders")
        for number, name in enumerate(NAMES):
            assert commit(wire, name, number) == 0
            assert initialize(wire, name).error_code == 0
    return data


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "data"))


def damage(data: Path, topic: str, kind: str, ending: str, at: int) -> None:
    """Change a byte of the newest object of a topic's partition 0."""
    names = topic_names(LocalObjects(data / "objects"))
    [topic_id] = [topic_id for topic_id, name in names.items() if name == topic]
    flip(max((data / "objects" / kind / topic_id.hex / "0").glob(ending)), at)


DAMAGES = [("manifests", "0*.json", 300), ("segments", "*.seg", 100)]


@pytest.mark.parametrize(("kind", "ending", "at"), DAMAGES, ids=["cannot be opened", "cannot be read"])
def test_a_corrupt_partition_of_offsets_stops_its_own_groups_only(
    data: Path, caplog: pytest.LogCaptureFixture, kind: str, ending: str, at: int
) -> None:
    """O2: COORDINATOR_NOT_AVAILABLE for its groups, never an offset that says nothing was committed; a repair brings
    them back."""
    damage(data, "__consumer_offsets", kind, ending, at)
    with caplog.at_level(logging.ERROR), broker(data) as inside, Wire(inside.port) as wire:
        for name in GONE:
            assert committed(wire, name) == (-1, NOT_AVAILABLE)
            assert commit(wire, name, 9) == NOT_AVAILABLE
            assert coordinator_code(wire, name, 0) == NOT_AVAILABLE
        for name in KEPT:
            assert committed(wire, name) == (NAMES.index(name), 0)
            assert commit(wire, name, 10) == 0
            assert coordinator_code(wire, name, 0) == 0
        listed = wire.ask(Key.LIST_GROUPS, 4, states_filter=[])
        assert {each.group_id for each in listed.groups} == set(KEPT)
        assert listed.error_code == NOT_AVAILABLE, "The list is not whole."
        assert all(initialize(wire, name).error_code == 0 for name in NAMES)
        producer = initialize(wire, KEPT[0])
        who = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
        added = wire.ask(Key.ADD_OFFSETS_TO_TXN, 3, transactional_id=KEPT[0], group_id=GONE[0], **who)
        assert added.error_code == NOT_AVAILABLE
    lines = [each.getMessage() for each in caplog.records if each.name == "holdfast.coordinator.runtime.internal_topic"]
    assert len(lines) == 1
    assert "internal partition 0 of groups is in quarantine" in lines[0]
    check_repaired(data)
    with broker(data) as inside, Wire(inside.port) as wire:
        for name in GONE:
            assert committed(wire, name)[1] == 0
            assert commit(wire, name, 11) == 0
        assert all(committed(wire, name) == (10, 0) for name in KEPT)
        assert wire.ask(Key.LIST_GROUPS, 4, states_filter=[]).error_code == 0


@pytest.mark.parametrize(("kind", "ending", "at"), DAMAGES, ids=["cannot be opened", "cannot be read"])
def test_a_corrupt_partition_of_transactions_stops_its_own_ids_only(
    data: Path, caplog: pytest.LogCaptureFixture, kind: str, ending: str, at: int
) -> None:
    """O2: COORDINATOR_NOT_AVAILABLE for its transactional ids: nobody gets an id anew whose state is not known."""
    damage(data, "__transaction_state", kind, ending, at)
    with caplog.at_level(logging.ERROR), broker(data) as inside, Wire(inside.port) as wire:
        for name in GONE:
            assert initialize(wire, name).error_code == NOT_AVAILABLE
            assert coordinator_code(wire, name, 1) == NOT_AVAILABLE
        for name in KEPT:
            assert initialize(wire, name).error_code == 0
            assert coordinator_code(wire, name, 1) == 0
        listed = wire.ask(Key.LIST_TRANSACTIONS, 0, state_filters=[], producer_id_filters=[])
        assert {each.transactional_id for each in listed.transaction_states} == set(KEPT)
        assert listed.error_code == NOT_AVAILABLE, "The list is not whole."
        assert all(committed(wire, name) == (number, 0) for number, name in enumerate(NAMES))
    lines = [each.getMessage() for each in caplog.records if each.name == "holdfast.coordinator.runtime.internal_topic"]
    assert len(lines) == 1
    assert "internal partition 0 of transactions is in quarantine" in lines[0]
    check_repaired(data)
    with broker(data) as inside, Wire(inside.port) as wire:
        assert all(initialize(wire, name).error_code == 0 for name in NAMES)


def check_repaired(data: Path) -> None:
    code, items, summary = repair(data)
    assert code == 1
    assert items
    assert repair(data, "--accept-loss", summary["token"])[0] == 0
