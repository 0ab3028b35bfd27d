"""Kafka's Java admin client: topics, configs, groups, offsets, and the cluster itself."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.java.jvm import JavaFailure, Jvm
from tests.java.serving import Serving

T0 = 1_700_000_000_000


def produce(java: Jvm, topic: str, count: int) -> None:
    records = [{"topic": topic, "partition": 0, "value": b"v", "timestamp": T0 + number} for number in range(count)]
    java.do("produce", config={"linger.ms": "20"}, records=records)


def test_a_topic_from_its_making_to_its_end(java: Jvm, name: str) -> None:
    """K2: it is made as asked, shown, and gone when it is deleted."""
    made = java.do("topics.create", topic=name, partitions=3, configs={"retention.ms": "123456"})
    assert (made["partitions"], made["replication_factor"]) == (3, 1)
    assert made["configs"]["retention.ms"]["value"] == "123456"
    found = java.do("topics.describe", topic=name)
    assert found["id"] == made["id"]
    assert found["partitions"] == [{"partition": number, "leader": 0, "replicas": 1, "isr": 1} for number in range(3)]
    assert name in java.do("topics.list")
    java.do("topics.delete", topic=name)
    assert name not in java.do("topics.list")
    with pytest.raises(JavaFailure, match="UnknownTopicOrPartition"):
        java.do("topics.describe", topic=name)


def test_a_topic_made_again_is_a_new_one(java: Jvm, name: str) -> None:
    """K6: it has another id, and nothing of the old one is to be seen."""
    first = java.do("topics.create", topic=name, partitions=1)["id"]
    produce(java, name, 3)
    java.do("topics.delete", topic=name)
    assert java.do("topics.create", topic=name, partitions=1)["id"] != first
    assert java.do("offsets", partitions=[[name, 0]])["end"] == {f"{name}-0": 0}


def test_a_topic_as_the_broker_sees_fit(java: Jvm, name: str) -> None:
    """K2: who does not say how many partitions gets the broker's default."""
    assert java.do("topics.create", topic=name)["partitions"] == 1


def test_only_tried(java: Jvm, name: str) -> None:
    """K2: what is only to be checked is not made."""
    java.do("topics.create", topic=name, partitions=1, validate_only=True)
    assert name not in java.do("topics.list")


def test_internal_topics_are_shown_when_asked_for(java: Jvm) -> None:
    """K2: the offsets are a topic too."""
    assert "__consumer_offsets" not in java.do("topics.list")
    assert "__consumer_offsets" in java.do("topics.list", internal=True)
    assert java.do("topics.describe", topic="__consumer_offsets")["internal"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"topic": "no/such/name", "partitions": 1}, "InvalidTopicException"),
        ({"partitions": 0}, "InvalidPartitionsException"),
        ({"partitions": 1, "replication_factor": 3}, "InvalidReplicationFactorException"),
        ({"partitions": 1, "configs": {"no.such.config": "1"}}, "InvalidConfigurationException"),
        ({"partitions": 1, "configs": {"retention.ms": "soon"}}, "InvalidConfigurationException"),
    ],
)
def test_wrong_topics(java: Jvm, name: str, arguments: dict[str, Any], error: str) -> None:
    """K2: what cannot be made is refused by the right name."""
    with pytest.raises(JavaFailure) as failure:
        java.do("topics.create", **{"topic": name[:20], **arguments})
    assert failure.value.kind == error


def test_a_topic_cannot_be_made_twice(java: Jvm, name: str) -> None:
    """K2: the second one is told."""
    java.do("topics.create", topic=name, partitions=1)
    with pytest.raises(JavaFailure, match="TopicExistsException"):
        java.do("topics.create", topic=name, partitions=1)


def test_more_partitions(java: Jvm, name: str) -> None:
    """K2: a topic grows, and never shrinks; records go to the new partitions too."""
    java.do("topics.create", topic=name, partitions=1)
    java.do("topics.grow", topic=name, partitions=3)
    assert len(java.do("topics.describe", topic=name)["partitions"]) == 3
    [placed] = java.do("produce", records=[{"topic": name, "partition": 2, "value": b"v"}])
    assert placed["offset"] == 0
    with pytest.raises(JavaFailure, match="InvalidPartitionsException"):
        java.do("topics.grow", topic=name, partitions=2)


def test_configs_of_a_topic(java: Jvm, name: str) -> None:
    """K2: one config is changed and taken back, and the others stay as they are."""
    java.do("topics.create", topic=name, partitions=1, configs={"segment.ms": "1000"})
    before = java.do("configs.describe", name=name)
    assert before["retention.ms"]["source"] == "DEFAULT_CONFIG"
    assert before["retention.ms"]["type"] == "LONG"
    changes = {"retention.ms": ["SET", "5000"], "cleanup.policy": ["APPEND", "compact"], "segment.ms": ["DELETE", ""]}
    java.do("configs.alter", name=name, changes=changes)
    after = java.do("configs.describe", name=name)
    assert (after["retention.ms"]["value"], after["retention.ms"]["source"]) == ("5000", "DYNAMIC_TOPIC_CONFIG")
    assert set(after["cleanup.policy"]["value"].split(",")) == {"compact", "delete"}
    assert after["segment.ms"]["source"] == "DEFAULT_CONFIG"
    java.do("configs.alter", name=name, changes={"cleanup.policy": ["SUBTRACT", "delete"]})
    assert java.do("configs.describe", name=name)["cleanup.policy"]["value"] == "compact"


def test_a_wrong_config_changes_nothing(java: Jvm, name: str) -> None:
    """K2: not even the right ones beside it."""
    java.do("topics.create", topic=name, partitions=1)
    with pytest.raises(JavaFailure, match="InvalidConfigurationException"):
        java.do("configs.alter", name=name, changes={"segment.ms": ["SET", "1"], "retention.ms": ["SET", "soon"]})
    assert java.do("configs.describe", name=name)["segment.ms"]["source"] == "DEFAULT_CONFIG"


def test_configs_of_the_broker(java: Jvm) -> None:
    """K2: they are shown with what was set at the start."""
    configs = java.do("configs.describe", type="BROKER", name="0")
    assert configs["group.min.session.timeout.ms"]["value"] == "1000"
    assert configs["message.max.bytes"]["value"] == "1048588"


def test_every_config_that_kafka_has_is_listed(java: Jvm) -> None:
    """K3, K11: of brokers and of groups, by the pages that Kafka makes of its own tables; each says what it means."""
    configs = java.do("configs.describe", type="BROKER", name="0")
    page = java.do("tool", main="kafka.server.KafkaConfig", arguments=[], given="")["out"]
    names = set(re.findall(r'id="brokerconfigs_([a-z0-9.]+)"', page))
    assert len(names) > 300
    assert names - set(configs) == set()
    assert [name for name in names if not configs[name]["documentation"]] == []
    page = java.do("tool", main="org.apache.kafka.coordinator.group.GroupConfig", arguments=[], given="")["out"]
    names = set(re.findall(r'id="[a-z]+_([a-z0-9.]+)"', page))
    assert len(names) > 10
    shown = set(java.do("configs.describe", type="GROUP", name="any"))
    assert {name for name in names - shown if not name.startswith("streams.")} == set()


def test_what_has_configs(java: Jvm, name: str) -> None:
    """K2: every topic and the broker."""
    java.do("topics.create", topic=name, partitions=1)
    resources = java.do("configs.resources")
    assert ["TOPIC", name] in resources
    assert ["BROKER", "0"] in resources


def test_deleted_records(java: Jvm, name: str) -> None:
    """K2: the log begins later, and what is before that cannot be read."""
    java.do("topics.create", topic=name, partitions=1)
    produce(java, name, 10)
    assert java.do("records.delete", partition=[name, 0], before=4) == 4
    assert java.do("offsets", partitions=[[name, 0]])["beginning"] == {f"{name}-0": 4}
    assert java.do("consume", partitions=[[name, 0]], count=1)[0]["offset"] == 4
    assert java.do("records.delete", partition=[name, 0], before=-1) == 10
    with pytest.raises(JavaFailure, match="OffsetOutOfRangeException"):
        java.do("records.delete", partition=[name, 0], before=11)


def test_offsets_of_all_kinds(java: Jvm, name: str) -> None:
    """K2: the earliest, the latest, and the one with the largest timestamp."""
    java.do("topics.create", topic=name, partitions=1)
    for timestamp in (T0, T0 + 9, T0 + 5):
        java.do("produce", records=[{"topic": name, "partition": 0, "value": b"v", "timestamp": timestamp}])
    found = java.do("records.offsets", partition=[name, 0])
    assert found["earliest"][:2] == [0, -1]
    assert found["latest"][:2] == [3, -1]
    assert found["max_timestamp"][:2] == [1, T0 + 9]
    assert found["earliest_local"][:2] == [0, -1]
    assert found["latest_tiered"][:2] == [-1, -1]


def test_a_group_from_its_first_member_to_its_end(java: Jvm, name: str) -> None:
    """K3: it is listed and described with who is in it, cannot be deleted meanwhile, and is gone afterwards."""
    java.do("topics.create", topic=name, partitions=2)
    config = {"group.id": name, "client.id": "reader", "fetch.max.wait.ms": "100"}
    java.do("member.join", member=name, topics=[name], config=config)
    java.do("member.settle", members={name: 2})
    assert java.do("groups.list")[name] == ["Classic", "consumer", "Stable"]
    found = java.do("groups.describe", group=name)
    [member] = found["members"]
    assert (found["state"], found["assignor"], found["coordinator"]) == ("Stable", "range", 0)
    assert (member["client"], member["host"]) == ("reader", "/127.0.0.1")
    assert member["assigned"] == [f"{name}-0", f"{name}-1"]
    with pytest.raises(JavaFailure, match="GroupNotEmptyException"):
        java.do("groups.delete", group=name)
    java.do("member.leave", member=name)
    assert java.do("groups.list")[name] == ["Classic", "consumer", "Empty"]
    java.do("groups.delete", group=name)
    assert name not in java.do("groups.list")
    with pytest.raises(JavaFailure, match="GroupIdNotFoundException"):
        java.do("groups.delete", group=name)


def test_offsets_of_a_group(java: Jvm, name: str) -> None:
    """K3: an operator sets, sees and removes them."""
    java.do("topics.create", topic=name, partitions=2)
    java.do("groups.alter_offsets", group=name, offsets=[[name, 0, 3, "note"], [name, 1, 4]])
    assert java.do("groups.offsets", group=name) == {f"{name}-0": [3, "note"], f"{name}-1": [4, ""]}
    java.do("groups.delete_offsets", group=name, partitions=[[name, 0]])
    assert java.do("groups.offsets", group=name) == {f"{name}-1": [4, ""]}


def test_the_offsets_go_with_the_topic(java: Jvm, name: str) -> None:
    """K6: a topic made again is read from its beginning."""
    java.do("topics.create", topic=name, partitions=1)
    java.do("groups.alter_offsets", group=name, offsets=[[name, 0, 3]])
    java.do("topics.delete", topic=name)
    java.do("topics.create", topic=name, partitions=1)
    assert java.do("groups.offsets", group=name) == {}


def test_the_cluster(java: Jvm, broker: Serving) -> None:
    """K1: one broker, which is also the controller, at the address that it serves on."""
    host, port = broker.address.split(":")
    found = java.do("cluster.describe")
    assert found["nodes"] == [{"id": 0, "host": host, "port": int(port)}]
    assert found["controller"] == 0
    assert found["id"]


def test_the_features(java: Jvm) -> None:
    """K1: those that tell clients how to use groups and transactions, and no others."""
    features = ["group.version", "share.version", "transaction.version"]
    assert sorted(java.do("cluster.features")["finalized"]) == features


def test_log_dirs(java: Jvm, name: str) -> None:
    """K2: the size of a partition is what it holds."""
    java.do("topics.create", topic=name, partitions=2)
    java.do("produce", records=[{"topic": name, "partition": 0, "value": b"x" * 10_000}])
    sizes = java.do("cluster.log_dirs", node=0)
    assert 10_000 < sizes[f"{name}-0"] < 11_000
    assert sizes[f"{name}-1"] == 0


def test_producers(java: Jvm, name: str) -> None:
    """K4: an idempotent producer is remembered with its last sequence number, others are not."""
    java.do("topics.create", topic=name, partitions=1)
    java.do("produce", config={"enable.idempotence": "false"}, records=[{"topic": name, "value": b"v"}])
    assert java.do("cluster.producers", partition=[name, 0]) == []
    produce(java, name, 3)
    [found] = java.do("cluster.producers", partition=[name, 0])
    assert (found["epoch"], found["last_sequence"], found["last_timestamp"]) == (0, 2, T0 + 2)
