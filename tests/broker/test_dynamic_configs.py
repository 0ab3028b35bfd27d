"""Configs that are set while the broker runs: the defaults of topics, and the times of groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.test_configs import BROKER, DELETE, GROUP, SET, TOPIC, change, config, describe
from tests.broker.wire import Closed, Wire, batch, create_topic, produce
from tests.support.broker_process import BrokerProcess

from holdfast.broker.settings import BrokerSettings
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key

LARGE = batch(b"x" * 5000)
TOO_LARGE, INVALID_REQUEST, INVALID_CONFIG, UNSUPPORTED_ASSIGNOR = 10, 42, 40, 112
INVALID_TIMESTAMP = 32
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def synonyms(wire: Wire, topic: str, name: str) -> list[tuple[str, str, int]]:
    [found] = describe(wire, TOPIC, topic, keys=[name]).configs
    return [(each.name, each.value, each.source) for each in found.synonyms]


def test_defaults_of_topics_change_while_it_runs_and_stay(own_broker: Callable[..., BrokerProcess]) -> None:
    """K11: topics without a value of their own follow at once, those with one do not; a kill changes nothing of it."""
    process = own_broker()
    with Wire(process.port) as wire:
        create_topic(wire, "follows")
        create_topic(wire, "own", max_message_bytes="9000")
        assert produce(wire, "follows", LARGE).error_code == 0
        assert change(wire, "", ("message.max.bytes", SET, "3000"), kind=BROKER).error_code == 0
        assert [produce(wire, each, LARGE).error_code for each in ("follows", "own")] == [TOO_LARGE, 0]
        assert config(wire, "follows", "max.message.bytes") == ("3000", 3)
        assert change(wire, "0", ("message.max.bytes", SET, "4000"), kind=BROKER).error_code == 0
        assert config(wire, "follows", "max.message.bytes") == ("4000", 2)
        assert config(wire, "own", "max.message.bytes") == ("9000", 1)
    process.kill()
    process.start()
    with Wire(process.port) as wire:
        assert [produce(wire, each, LARGE).error_code for each in ("follows", "own")] == [TOO_LARGE, 0]
        assert synonyms(wire, "own", "max.message.bytes") == [
            ("max.message.bytes", "9000", 1),
            ("message.max.bytes", "4000", 2),
            ("message.max.bytes", "3000", 3),
            ("message.max.bytes", "1048588", 5),
        ]
        assert [(each.name, each.value) for each in describe(wire, BROKER, "").configs] == [
            ("message.max.bytes", "3000")
        ]
        [shown] = describe(wire, BROKER, "0", keys=["message.max.bytes"]).configs
        assert (shown.value, shown.config_source, shown.read_only) == ("4000", 2, False)
        for each in ("0", ""):
            assert change(wire, each, ("message.max.bytes", DELETE, None), kind=BROKER).error_code == 0
        assert produce(wire, "follows", LARGE).error_code == 0


def test_a_default_of_topics_that_is_no_setting_is_followed(tmp_path: Path) -> None:
    """K11: what is more than a second ahead is refused as long as log.message.timestamp.after.max.ms says so."""
    name, ahead = "log.message.timestamp.after.max.ms", batch(b"x", timestamp=int(time.time() * 1000) + 600_000)
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port) as wire:
        create_topic(wire, "t")
        assert change(wire, "0", (name, SET, "1000"), kind=BROKER).error_code == 0
        assert produce(wire, "t", ahead).error_code == INVALID_TIMESTAMP
        assert change(wire, "0", (name, DELETE, None), kind=BROKER).error_code == 0
        assert produce(wire, "t", ahead).error_code == 0


def test_limits_of_connections_change_while_it_runs_and_stay(own_broker: Callable[..., BrokerProcess]) -> None:
    """K10, K11: for whoever comes next, for one broker or for all; a kill changes nothing of it."""
    process = own_broker("max.connections.per.ip=50")
    with Wire(process.port) as wire:
        for value in ("0", "many", "-1"):
            assert change(wire, "0", ("max.connections", SET, value), kind=BROKER).error_code == INVALID_CONFIG
        overrides = "max.connections.per.ip.overrides"
        assert change(wire, "0", (overrides, SET, "127.0.0.1"), kind=BROKER).error_code == INVALID_CONFIG
        assert change(wire, "", ("max.connections.per.ip", SET, "2"), kind=BROKER).error_code == 0
        assert _taken(process, 3) == 1
        assert change(wire, "0", (overrides, SET, "127.0.0.1:3"), kind=BROKER).error_code == 0
        assert _taken(process, 3) == 2
        assert change(wire, "0", ("max.connections", SET, "2"), kind=BROKER).error_code == 0
        assert _taken(process, 3) == 1
    process.kill()
    process.start()
    with Wire(process.port) as wire:
        assert _taken(process, 3) == 1
        [shown] = describe(wire, BROKER, "0", keys=["max.connections.per.ip"]).configs
        assert (shown.value, shown.config_source, shown.read_only) == ("2", 3, False)
        assert [(each.value, each.source) for each in shown.synonyms][:2] == [("2", 3), ("50", 4)]
        for where, name in (("0", overrides), ("0", "max.connections"), ("", "max.connections.per.ip")):
            assert change(wire, where, (name, DELETE, None), kind=BROKER).error_code == 0
        assert _taken(process, 3) == 3


def test_the_rate_of_connections_changes_while_it_runs(tmp_path: Path) -> None:
    """K10, K11: max.connection.creation.rate; who comes faster waits to be accepted."""
    name = "max.connection.creation.rate"
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port) as wire:
        assert change(wire, "0", (name, SET, "1"), kind=BROKER).error_code == 0
        began = time.monotonic()
        for _ in range(3):
            with Wire(inside.port) as other:
                other.ask(Key.API_VERSIONS, 0)
        assert time.monotonic() - began >= 1.5
        assert change(wire, "0", (name, DELETE, None), kind=BROKER).error_code == 0
        for _ in range(20):
            with Wire(inside.port) as other:
                other.ask(Key.API_VERSIONS, 0)


def _taken(process: BrokerProcess, count: int) -> int:
    """How many of so many connections are answered; they are gone then."""
    taken = 0
    with ExitStack() as held:
        for _ in range(count):
            wire = held.enter_context(Wire(process.port))
            with suppress(Closed, ConnectionError):
                wire.ask(Key.API_VERSIONS, 0)
                taken += 1
    return taken


def test_what_a_broker_cannot_be_told_is_refused(wire: Wire) -> None:
    """K11: values that a config cannot have; brokers that are not there. A look changes nothing."""
    assert change(wire, "0", ("log.retention.ms", SET, "soon"), kind=BROKER).error_code == INVALID_CONFIG
    assert change(wire, "7", ("log.retention.ms", SET, "5"), kind=BROKER).error_code == INVALID_REQUEST
    assert change(wire, "", ("log.retention.ms", SET, "5"), kind=BROKER, validate_only=True).error_code == 0
    assert describe(wire, BROKER, "").configs == []
    throttle = "leader.replication.throttled.rate"
    assert change(wire, "0", (throttle, DELETE, None), kind=BROKER).error_code == 0
    assert change(wire, "0", (throttle, SET, "5"), kind=BROKER).error_code == INVALID_REQUEST
    refused = change(wire, "metrics", ("interval.ms", SET, "1000"), kind=16)
    assert refused.error_code == INVALID_REQUEST
    assert "no metrics are collected" in refused.error_message


def heartbeat(wire: Wire, group: str, topic: str, **more: Any) -> Any:
    return wire.ask(
        Key.CONSUMER_GROUP_HEARTBEAT,
        1,
        group_id=group,
        member_id=str(uuid4()),
        rebalance_timeout_ms=5000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
        **more,
    )


def test_a_group_has_times_of_its_own(tmp_path: Path) -> None:
    """K11: its members are told its interval; others keep the broker's. They are kept, shown and listed."""
    objects = MemoryObjects()
    with InsideBroker(tmp_path, objects) as inside, Wire(inside.port) as wire:
        create_topic(wire, "t")
        assert heartbeat(wire, "a/b", "t").heartbeat_interval_ms == 5000
        done = change(wire, "a/b", (SESSION, SET, "50000"), (HEARTBEAT, SET, "7000"), kind=GROUP)
        assert done.error_code == 0, done.error_message
        assert heartbeat(wire, "a/b", "t").heartbeat_interval_ms == 7000
        assert heartbeat(wire, "b", "t").heartbeat_interval_ms == 5000
        for name, value in ((HEARTBEAT, "4999"), (HEARTBEAT, "15001"), (SESSION, "44999"), (SESSION, "60001")):
            refused = change(wire, "a/b", (name, SET, value), kind=GROUP)
            assert (refused.error_code, value in refused.error_message) == (INVALID_CONFIG, True)
        assert change(wire, "a/b", ("no.such", SET, "5"), kind=GROUP).error_code == INVALID_CONFIG
    with InsideBroker(tmp_path, objects) as inside, Wire(inside.port) as wire:
        assert heartbeat(wire, "a/b", "t").heartbeat_interval_ms == 7000
        [shown] = describe(wire, GROUP, "a/b", keys=[SESSION]).configs
        assert (shown.value, shown.config_source, shown.read_only) == ("50000", 8, False)
        assert [(each.name, each.value, each.source) for each in shown.synonyms] == [
            (SESSION, "50000", 8),
            (f"group.{SESSION}", "45000", 5),
        ]
        listed = wire.ask(Key.LIST_CONFIG_RESOURCES, 1, resource_types=[GROUP]).config_resources
        assert [each.resource_name for each in listed] == ["a/b"]
        assert change(wire, "a/b", (SESSION, DELETE, None), (HEARTBEAT, DELETE, None), kind=GROUP).error_code == 0
        assert heartbeat(wire, "a/b", "t").heartbeat_interval_ms == 5000


def test_what_a_group_may_have_follows_the_broker_s_settings(tmp_path: Path) -> None:
    """K11: outside of group.….min.… and group.….max.… it is refused; what was set before counts as the nearest that is
    allowed, and can be taken back."""
    objects = MemoryObjects()
    with InsideBroker(tmp_path, objects) as inside, Wire(inside.port) as wire:
        create_topic(wire, "t")
        assert change(wire, "g", (HEARTBEAT, SET, "5500"), kind=GROUP).error_code == 0
        for name, value in [
            ("share.session.timeout.ms", "44999"),
            ("share.heartbeat.interval.ms", "15001"),
            ("share.record.lock.duration.ms", "14999"),
            ("share.delivery.count.limit", "11"),
            ("share.partition.max.record.locks", "99"),
            ("consumer.assignment.interval.ms", "1"),
            ("share.assignment.interval.ms", "1"),
            ("share.renew.acknowledge.enable", "maybe"),
            ("streams.session.timeout.ms", "50000"),
        ]:
            assert change(wire, "g", (name, SET, value), kind=GROUP).error_code == INVALID_CONFIG, name
        refused = change(wire, "g", ("streams.num.standby.replicas", SET, "1"), kind=GROUP)
        assert "no streams groups" in refused.error_message
    settings = BrokerSettings(
        group_consumer_min_heartbeat_interval_ms=6000,
        group_consumer_heartbeat_interval_ms=6500,
        group_consumer_max_session_timeout_ms=90_000,
    )
    with InsideBroker(tmp_path, objects, broker=settings) as inside, Wire(inside.port) as wire:
        assert heartbeat(wire, "g", "t").heartbeat_interval_ms == 6000
        assert heartbeat(wire, "other", "t").heartbeat_interval_ms == 6500
        assert change(wire, "g", (SESSION, SET, "90000"), kind=GROUP).error_code == 0
        assert change(wire, "g", (HEARTBEAT, SET, "5600"), kind=GROUP).error_code == INVALID_CONFIG
        assert change(wire, "g", (HEARTBEAT, DELETE, None), kind=GROUP).error_code == 0
        assert heartbeat(wire, "g", "t").heartbeat_interval_ms == 6500


@pytest.mark.parametrize(
    "given",
    [
        {"group_consumer_session_timeout_ms": 44_999},
        {"group_consumer_heartbeat_interval_ms": 15_001},
        {"group_consumer_min_session_timeout_ms": 70_000},
        {"group_consumer_assignors": "uniform,sticky"},
        {"group_consumer_assignors": ""},
        {"group_consumer_migration_policy": "sideways"},
        {"group_consumer_max_size": 0},
        {"group_share_record_lock_duration_ms": 14_999},
        {"group_share_delivery_count_limit": 11},
        {"group_share_max_size": 1_001},
        {"group_share_min_delivery_count_limit": 1},
        {"group_share_max_groups": 0},
        {"group_share_min_session_timeout_ms": 4_000, "group_share_session_timeout_ms": 5_000},
    ],
    ids=lambda given: next(iter(given)),
)
def test_settings_of_groups_that_contradict_each_other(given: dict[str, Any]) -> None:
    """K11: the broker does not start, as Kafka does not."""
    with pytest.raises(ValueError, match=r"group\."):
        BrokerSettings(**given)


def test_assignors_are_those_of_the_setting(tmp_path: Path) -> None:
    """K8: the first is for everybody who asks for none; one that is not in the list is refused."""
    settings = BrokerSettings(group_consumer_assignors="range")
    with InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside, Wire(inside.port) as wire:
        create_topic(wire, "t")
        assert heartbeat(wire, "g", "t").error_code == 0
        [found] = wire.ask(Key.CONSUMER_GROUP_DESCRIBE, 1, group_ids=["g"]).groups
        assert found.assignor_name == "range"
        refused = heartbeat(wire, "g", "t", server_assignor="uniform")
        assert refused.error_code == UNSUPPORTED_ASSIGNOR
