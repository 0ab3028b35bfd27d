"""What operators ask and a single broker without an authorizer has to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, batch, create_topic, produce

from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key

# Access control


def test_without_an_authorizer_there_are_no_acls(wire: Wire) -> None:
    """K1: SECURITY_DISABLED, for each thing that was asked."""
    wanted = {"resource_type_filter": 1, "operation": 1, "permission_type": 1}
    assert wire.ask(Key.DESCRIBE_ACLS, 3, **wanted).error_code == 54
    acl = {"resource_type": 2, "resource_name": "t", "principal": "User:a", "host": "*"}
    made = wire.ask(Key.CREATE_ACLS, 3, creations=[{**acl, "operation": 3, "permission_type": 3}] * 2)
    assert [each.error_code for each in made.results] == [54, 54]
    gone = wire.ask(Key.DELETE_ACLS, 3, filters=[wanted])
    assert [each.error_code for each in gone.filter_results] == [54]


# Quotas


def entity(**parts: str | None) -> list[dict[str, Any]]:
    return [{"entity_type": kind.replace("_", "-"), "entity_name": name} for kind, name in parts.items()]


def alter(wire: Wire, who: list[dict[str, Any]], *, validate_only: bool = False, **values: float | None) -> Any:
    ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in values.items()]
    entries = [{"entity": who, "ops": ops}]
    [found] = wire.ask(Key.ALTER_CLIENT_QUOTAS, 1, entries=entries, validate_only=validate_only).entries
    return found


def quotas(wire: Wire, *parts: tuple[str, int, str | None], strict: bool = False) -> list[tuple[Any, Any]]:
    rows = [{"entity_type": kind, "match_type": match, "match": name} for kind, match, name in parts]
    answer = wire.ask(Key.DESCRIBE_CLIENT_QUOTAS, 1, components=rows, strict=strict)
    assert answer.error_code == 0
    found = [
        (
            {each.entity_type: each.entity_name for each in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in answer.entries
    ]
    return sorted(found, key=lambda each: len(each[0]))


def test_quotas_are_kept_and_found(tmp_path: Path) -> None:
    """K1: for users, clients, both, addresses and defaults."""
    ann = ({"user": "ann"}, {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0})
    app = ({"client-id": "app", "user": "ann"}, {"request_percentage": 50.0})
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port) as wire:
        assert alter(wire, entity(user="ann"), producer_byte_rate=1000.0).error_code == 0
        assert alter(wire, entity(user="ann", client_id="app"), request_percentage=50.0).error_code == 0
        assert alter(wire, entity(user=None), consumer_byte_rate=9.0).error_code == 0
        assert alter(wire, entity(ip="10.0.0.1"), connection_creation_rate=5.0).error_code == 0
        assert alter(wire, entity(user="ann"), consumer_byte_rate=2000.0, validate_only=True).error_code == 0
        assert alter(wire, entity(user="ann"), consumer_byte_rate=2000.0).error_code == 0
        assert alter(wire, entity(user=None), consumer_byte_rate=None).error_code == 0
        assert quotas(wire, ("user", 0, "ann"), strict=True) == [ann]
        assert quotas(wire, ("user", 0, "ann")) == [ann, app]
        assert quotas(wire, ("user", 2, None)) == [ann, app]
        assert quotas(wire, ("user", 1, None)) == []
        assert len(quotas(wire)) == 3


@pytest.mark.parametrize(
    ("who", "values"),
    [
        (entity(planet="earth"), {"producer_byte_rate": 1.0}),
        (entity(user="a", ip="10.0.0.1"), {"producer_byte_rate": 1.0}),
        (entity(user=""), {"producer_byte_rate": 1.0}),
        (entity(user="a") * 2, {"producer_byte_rate": 1.0}),
        (entity(user="a"), {"connection_creation_rate": 1.0}),
        (entity(user="a"), {"wishes": 3.0}),
        (entity(user="a"), {"producer_byte_rate": -1.0}),
        (entity(user="a"), {"producer_byte_rate": float("nan")}),
        ([], {"producer_byte_rate": 1.0}),
    ],
)
def test_a_quota_that_cannot_be_is_refused(wire: Wire, who: list[dict[str, Any]], values: dict[str, float]) -> None:
    """K1: with a reason."""
    refused = alter(wire, who, **values)
    assert refused.error_code == 42
    assert refused.error_message


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([("planet", 0, "earth")], 35),
        ([("user", 0, None)], 42),
        ([("user", 7, None)], 42),
        ([("user", 2, None), ("user", 2, None)], 42),
        ([("user", 2, None), ("ip", 2, None)], 42),
    ],
)
def test_a_filter_that_cannot_be_is_refused(wire: Wire, parts: list[tuple[str, int, str | None]], code: int) -> None:
    """K1: before anything is looked up."""
    rows = [{"entity_type": kind, "match_type": match, "match": name} for kind, match, name in parts]
    answer = wire.ask(Key.DESCRIBE_CLIENT_QUOTAS, 1, components=rows, strict=False)
    assert (answer.error_code, answer.entries) == (code, None)


# Places


def test_log_dirs_tell_how_much_there_is(wire: Wire, topic: str) -> None:
    """K1: of all partitions, or of some; data cannot be moved."""
    create_topic(wire, topic, partitions=2)
    produce(wire, topic, batch(b"x" * 1000), partition=1)
    [place] = wire.ask(Key.DESCRIBE_LOG_DIRS, 4, topics=[{"topic": topic, "partitions": [1, 5]}]).results
    [[found]] = [each.partitions for each in place.topics]
    assert place.log_dir.startswith("file://")
    assert (found.partition_index, found.offset_lag, found.is_future_key) == (1, 0, False)
    assert found.partition_size >= 1000
    [everything] = wire.ask(Key.DESCRIBE_LOG_DIRS, 4, topics=None).results
    assert {topic, "__consumer_offsets"} <= {each.name for each in everything.topics}
    dirs = [{"path": "/elsewhere", "topics": [{"name": topic, "partitions": [0]}]}]
    [moved] = wire.ask(Key.ALTER_REPLICA_LOG_DIRS, 2, dirs=dirs).results
    assert [each.error_code for each in moved.partitions] == [57]


def test_no_election_is_ever_needed(wire: Wire, topic: str) -> None:
    """K1: ELECTION_NOT_NEEDED for what is there; asked for everything, nothing is listed."""
    create_topic(wire, topic)
    [found] = wire.ask(
        Key.ELECT_LEADERS, 2, election_type=0, topic_partitions=[{"topic": topic, "partitions": [0, 1]}]
    ).replica_election_results
    assert [each.error_code for each in found.partition_result] == [84, 3]
    assert wire.ask(Key.ELECT_LEADERS, 2, election_type=0, topic_partitions=None).replica_election_results == []


def test_nothing_is_ever_reassigned(wire: Wire, topic: str) -> None:
    """K1: to where it is: done; elsewhere: refused; and nothing is under way."""
    create_topic(wire, topic)
    wanted = [(0, [0]), (0, [1]), (0, []), (0, None), (9, [0])]
    rows = [{"partition_index": number, "replicas": replicas} for number, replicas in wanted]
    answer = wire.ask(Key.ALTER_PARTITION_REASSIGNMENTS, 0, topics=[{"name": topic, "partitions": rows}])
    assert [each.error_code for each in answer.responses[0].partitions] == [0, 39, 39, 85, 3]
    assert wire.ask(Key.LIST_PARTITION_REASSIGNMENTS, 0, topics=None).topics == []


# Features


def test_levels_of_features_come_with_the_release(wire: Wire) -> None:
    """K1: the level there is can be asked for, every other is refused; per feature before version 2."""
    rows = [
        {"feature": "transaction.version", "max_version_level": 2},
        {"feature": "transaction.version.2", "max_version_level": 1},
        {"feature": "group.version", "max_version_level": 0},
    ]
    each = wire.ask(Key.UPDATE_FEATURES, 1, feature_updates=rows)
    assert [found.error_code for found in each.results] == [0, 95, 95]
    assert wire.ask(Key.UPDATE_FEATURES, 2, feature_updates=rows).error_code == 95
    assert wire.ask(Key.UPDATE_FEATURES, 2, feature_updates=rows[:1]).error_code == 0
