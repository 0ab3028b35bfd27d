"""Configs of topics and of the broker: shown, replaced, changed."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, batch, create_topic, produce
from tests.support.broker_process import BrokerProcess

from holdfast.broker.configs.broker import MEANINGS
from holdfast.broker.configs.dynamic import BROKER_CONFIGS
from holdfast.broker.configs.kafka import FOREIGN
from holdfast.broker.configs.topic import TOPIC_CONFIGS
from holdfast.broker.settings import BrokerSettings, kafka_name
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key

NAMES = {kafka_name(each.name) for each in fields_of(BrokerSettings)} - {"listener.overrides"}

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def describe(wire: Wire, kind: int, name: str, *, version: int = 4, keys: list[str] | None = None) -> Any:
    wanted = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    answer = wire.ask(
        Key.DESCRIBE_CONFIGS, version, resources=[wanted], include_synonyms=True, include_documentation=True
    )
    [found] = answer.results
    return found


def config(wire: Wire, topic: str, name: str) -> tuple[str, int]:
    """A topic's config: its value and where it comes from."""
    [found] = describe(wire, TOPIC, topic, keys=[name]).configs
    return found.value, found.config_source


def replace(wire: Wire, topic: str, configs: Mapping[str, str | None], *, validate_only: bool = False) -> Any:
    rows = [{"name": name, "value": value} for name, value in configs.items()]
    resources = [{"resource_type": TOPIC, "resource_name": topic, "configs": rows}]
    [found] = wire.ask(Key.ALTER_CONFIGS, 2, resources=resources, validate_only=validate_only).responses
    return found


def change(wire: Wire, topic: str, *changes: tuple[str, int, str | None], kind: int = TOPIC, **more: Any) -> Any:
    rows = [{"name": name, "config_operation": operation, "value": value} for name, operation, value in changes]
    resources = [{"resource_type": kind, "resource_name": topic, "configs": rows}]
    [found] = wire.ask(Key.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources, **more).responses
    return found


def test_all_configs_of_a_topic_are_shown(wire: Wire, topic: str) -> None:
    """K2: with type, source, synonyms and a sentence."""
    create_topic(wire, topic, retention_ms="1234")
    found = {each.name: each for each in describe(wire, TOPIC, topic).configs}
    assert set(found) == set(TOPIC_CONFIGS)
    retention = found["retention.ms"]
    assert (retention.value, retention.config_source, retention.config_type) == ("1234", 1, 5)
    assert (retention.read_only, retention.is_sensitive) == (False, False)
    assert [(each.name, each.value, each.source) for each in retention.synonyms] == [
        ("retention.ms", "1234", 1),
        ("log.retention.ms", "604800000", 5),
    ]
    assert "how long" in retention.documentation
    assert (found["cleanup.policy"].value, found["cleanup.policy"].config_source) == ("delete", 5)


def test_only_the_configs_asked_for_are_shown(wire: Wire, topic: str) -> None:
    """K2: none of them is an empty list; unknown ones are left out."""
    create_topic(wire, topic)
    assert [each.name for each in describe(wire, TOPIC, topic, keys=["retention.ms", "x"]).configs] == ["retention.ms"]
    assert describe(wire, TOPIC, topic, keys=[]).configs == []


def test_synonyms_and_documentation_only_when_asked_for(wire: Wire, topic: str) -> None:
    """K2: both cost room."""
    create_topic(wire, topic)
    wanted = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": None}
    [found] = wire.ask(Key.DESCRIBE_CONFIGS, 4, resources=[wanted]).results
    assert all(each.synonyms == [] and each.documentation is None for each in found.configs)


def test_the_brokers_settings_are_shown_under_kafkas_names(tmp_path: Path, topic: str) -> None:
    """K2: and those that are set are the defaults of topics."""
    settings = BrokerSettings(log_retention_ms=777, num_partitions=3)
    with InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside, Wire(inside.port) as wire:
        found = {each.name: each for each in describe(wire, BROKER, "0").configs}
        assert set(found) >= NAMES
        assert (found["num.partitions"].value, found["num.partitions"].config_source) == ("3", 4)
        assert (found["node.id"].value, found["node.id"].config_source) == ("0", 5)
        assert found["delete.topic.enable"].config_type == 1
        assert {name for name, each in found.items() if not each.read_only} == set(BROKER_CONFIGS)
        create_topic(wire, topic)
        assert config(wire, topic, "retention.ms") == ("777", 4)


def test_configs_of_kafka_that_mean_nothing_here_say_why(wire: Wire) -> None:
    """K11: they are listed without a value, unless one is true, and cannot be set; the reason is in the answer."""
    found = {each.name: each for each in describe(wire, BROKER, "0").configs}
    assert set(FOREIGN) <= set(found)
    assert not set(FOREIGN) & (set(MEANINGS) | set(BROKER_CONFIGS))
    for name, each in FOREIGN.items():
        shown = found[name]
        assert (shown.value, shown.documentation, shown.read_only) == (each.value, each.reason, True)
    assert found["ssl.key.password"].is_sensitive
    assert found["offsets.topic.replication.factor"].value == "1"
    refused = change(wire, "0", ("num.io.threads", SET, "4"), kind=BROKER)
    assert (refused.error_code, FOREIGN["num.io.threads"].reason in refused.error_message) == (42, True)


def test_a_resource_is_described_once(wire: Wire) -> None:
    """K10: whoever names it again is told so, and the answer does not grow with it."""
    resources = [{"resource_type": BROKER, "resource_name": "0", "configuration_keys": None}] * 3
    found = wire.ask(Key.DESCRIBE_CONFIGS, 4, resources=resources).results
    assert [each.error_code for each in found] == [0, 42, 42]
    assert not found[1].configs


@pytest.mark.parametrize(
    ("of_broker", "of_topic", "value"),
    [
        ("log.segment.bytes", "segment.bytes", "2000000"),
        ("log.roll.ms", "segment.ms", "5000"),
        ("log.cleaner.min.compaction.lag.ms", "min.compaction.lag.ms", "17"),
        ("log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms", "99"),
    ],
)
def test_every_default_of_topics_can_be_set(tmp_path: Path, of_broker: str, of_topic: str, value: str) -> None:
    """K11: by Kafka's name of it, while the broker runs; topics follow, and show whose it is."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, Wire(inside.port) as wire:
        create_topic(wire, "t")
        before = config(wire, "t", of_topic)
        assert before[1] == 5
        assert change(wire, "0", (of_broker, SET, value), kind=BROKER).error_code == 0
        assert config(wire, "t", of_topic) == (value, 2)
        assert change(wire, "0", (of_broker, DELETE, None), kind=BROKER).error_code == 0
        assert config(wire, "t", of_topic) == before
        refused = change(wire, "", ("compression.gzip.level", SET, "6"), kind=BROKER)
        assert "a codec has one level here" in refused.error_message


def test_every_setting_of_the_broker_has_a_meaning() -> None:
    """K2: a new one needs a sentence, too."""
    assert set(MEANINGS) == NAMES


@pytest.mark.parametrize(
    ("kind", "name", "code"), [(TOPIC, "absent", 3), (BROKER, "7", 42), (8, "0", 42), (GROUP, "", 42), (99, "x", 42)]
)
def test_what_has_no_configs_is_refused(wire: Wire, kind: int, name: str, code: int) -> None:
    """K2: with a reason, whether they are to be shown or changed."""
    shown = describe(wire, kind, name)
    assert (shown.error_code, shown.configs) == (code, [])
    assert shown.error_message
    changed = change(wire, name, ("retention.ms", SET, "1"), kind=kind)
    assert changed.error_code == code


def test_the_brokers_settings_cannot_be_changed(wire: Wire) -> None:
    """K2, K11: all but the defaults of topics are fixed while it runs, and it says so."""
    for name in ("num.partitions", "no.such.config"):
        refused = change(wire, "0", (name, SET, "1"), kind=BROKER)
        assert refused.error_code == 42
        assert "when the broker starts" in refused.error_message


def test_replacing_configs_leaves_no_others(wire: Wire, topic: str) -> None:
    """K2: what is not named goes back to its default; validate-only changes nothing."""
    create_topic(wire, topic, retention_ms="1000", max_message_bytes="5000")
    assert replace(wire, topic, {"retention.ms": "2000"}, validate_only=True).error_code == 0
    assert config(wire, topic, "retention.ms") == ("1000", 1)
    assert replace(wire, topic, {"retention.ms": "2000"}).error_code == 0
    assert config(wire, topic, "retention.ms") == ("2000", 1)
    assert config(wire, topic, "max.message.bytes") == ("1048588", 5)


def test_changing_configs_leaves_the_others(wire: Wire, topic: str) -> None:
    """K2: set, delete, append and subtract."""
    create_topic(wire, topic, retention_ms="1000", max_message_bytes="5000")
    done = change(
        wire,
        topic,
        ("retention.ms", DELETE, None),
        ("retention.bytes", SET, "9999"),
        ("cleanup.policy", APPEND, "compact"),
    )
    assert done.error_code == 0, done.error_message
    assert config(wire, topic, "retention.ms") == ("604800000", 5)
    assert config(wire, topic, "retention.bytes") == ("9999", 1)
    assert config(wire, topic, "max.message.bytes") == ("5000", 1)
    assert config(wire, topic, "cleanup.policy") == ("delete,compact", 1)
    assert change(wire, topic, ("cleanup.policy", SUBTRACT, "delete")).error_code == 0
    assert config(wire, topic, "cleanup.policy") == ("compact", 1)


def test_a_changed_config_holds_at_once(wire: Wire, topic: str) -> None:
    """K2: for the next batch."""
    create_topic(wire, topic)
    assert produce(wire, topic, batch(b"x" * 2000)).error_code == 0
    change(wire, topic, ("max.message.bytes", SET, "1000"))
    assert produce(wire, topic, batch(b"x" * 2000)).error_code == 10


@pytest.mark.parametrize(
    ("name", "operation", "value", "code"),
    [
        ("no.such.config", SET, "1", 40),
        ("no.such.config", DELETE, None, 40),
        ("retention.ms", SET, "soon", 40),
        ("retention.ms", SET, None, 42),
        ("retention.ms", APPEND, "1", 40),
        ("min.cleanable.dirty.ratio", SET, "much", 40),
        ("preallocate", SET, "maybe", 40),
        ("cleanup.policy", SET, "shred", 40),
        ("cleanup.policy", SUBTRACT, "delete", 40),
        ("retention.ms", 9, "1", 42),
    ],
)
def test_a_wrong_change_is_refused_whole(
    wire: Wire, topic: str, name: str, operation: int, value: str | None, code: int
) -> None:
    """K2: nothing of the request happens to the topic, also when it is only to be checked."""
    create_topic(wire, topic)
    for only in (True, False):
        refused = change(wire, topic, ("retention.bytes", SET, "5"), (name, operation, value), validate_only=only)
        assert refused.error_code == code
        assert name in refused.error_message
    assert config(wire, topic, "retention.bytes") == ("-1", 5)


def test_a_request_may_name_things_once(wire: Wire, topic: str) -> None:
    """K2: a topic twice, or a config twice, is refused."""
    create_topic(wire, topic)
    assert change(wire, topic, ("retention.ms", SET, "1"), ("retention.ms", SET, "2")).error_code == 42
    resource = {"resource_type": TOPIC, "resource_name": topic, "configs": []}
    answer = wire.ask(Key.ALTER_CONFIGS, 2, resources=[resource, resource])
    assert [each.error_code for each in answer.responses] == [42, 42]


def test_changes_at_the_same_time_are_all_kept(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """K2: none overwrites another."""
    create_topic(wire, topic)
    names = ["retention.ms", "retention.bytes", "segment.ms", "segment.bytes", "delete.retention.ms", "flush.ms"]

    def set_one(name: str) -> None:
        with Wire(broker.port) as own:
            assert change(own, topic, (name, SET, "4321")).error_code == 0

    threads = [threading.Thread(target=set_one, args=(name,)) for name in names]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [config(wire, topic, name) for name in names] == [("4321", 1)] * len(names)


def test_what_has_configs_is_listed(wire: Wire, topic: str) -> None:
    """K2: topics and this broker; version 0 knows only client metrics, and there are none."""
    create_topic(wire, topic)

    def listed(version: int, types: list[int]) -> set[tuple[int, str]]:
        answer = wire.ask(Key.LIST_CONFIG_RESOURCES, version, resource_types=types)
        assert answer.error_code == 0
        return {(each.resource_type, each.resource_name) for each in answer.config_resources}

    assert {(TOPIC, topic), (BROKER, "0")} <= listed(1, [])
    assert listed(1, [BROKER]) == {(BROKER, "0")}
    assert listed(0, []) == set()
    assert wire.ask(Key.LIST_CONFIG_RESOURCES, 1, resource_types=[99]).error_code == 35


def test_a_group_has_the_broker_s_values(wire: Wire, topic: str) -> None:
    """K3: they can be read of any group, there or not, as from Kafka."""
    found = describe(wire, GROUP, topic)
    assert found.error_code == 0
    shown = {each.name: each for each in found.configs}
    names = ["assignment.interval.ms", "heartbeat.interval.ms", "session.timeout.ms"]
    shares = ["auto.offset.reset", "delivery.count.limit", "isolation.level", "partition.max.record.locks"]
    shares += ["record.lock.duration.ms", "renew.acknowledge.enable"]
    assert set(shown) == {f"consumer.{each}" for each in names} | {f"share.{each}" for each in [*names, *shares]}
    session = shown["consumer.session.timeout.ms"]
    assert session.value == str(BrokerSettings().group_consumer_session_timeout_ms)
    assert [(each.name, each.source) for each in session.synonyms] == [("group.consumer.session.timeout.ms", 5)]
