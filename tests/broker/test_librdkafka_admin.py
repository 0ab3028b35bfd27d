"""librdkafka, through confluent-kafka: what operators do."""

from __future__ import annotations

import pytest
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourcePatternType,
    ResourceType,
)
from tests.broker.librdkafka import PATIENCE_S, consuming, create, describe, produce_all, read_all, take
from tests.support.broker_process import BrokerProcess


def test_topics_and_partitions(admin: AdminClient, topic: str) -> None:
    """K1, K2: made, described, grown, deleted; the second one of a name is refused."""
    create(admin, topic, partitions=2, retention_ms="1000000")
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        create(admin, topic)
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result()
    described = admin.describe_topics(TopicCollection([topic]))[topic].result()
    assert len(described.partitions) == 5
    assert described.topic_id is not None
    admin.delete_topics([topic])[topic].result()
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics


def test_configs(admin: AdminClient, topic: str) -> None:
    """K1, K2: described and changed; the broker's too are shown."""
    create(admin, topic)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entry = ConfigEntry("retention.ms", "4321", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([changed])[changed].result()
    assert admin.describe_configs([resource])[resource].result()["retention.ms"].value == "4321"
    broker = ConfigResource(ConfigResource.Type.BROKER, "0")
    assert admin.describe_configs([broker])[broker].result()["group.initial.rebalance.delay.ms"].value == "0"


def test_records_are_deleted(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """K1, K2: up to an offset."""
    produce_all(broker, topic, [{"value": b"x"}] * 5, **{"linger.ms": 0})
    place = TopicPartition(topic, 0, 3)
    assert admin.delete_records([place])[place].result().low_watermark == 3
    assert [each.offset() for each in read_all(broker, topic, 2)] == [3, 4]


def test_group_administration(broker: BrokerProcess, admin: AdminClient, topic: str, group: str) -> None:
    """K1, K3: listed, described, offsets shown, altered and deleted with the group."""
    create(admin, topic)
    place = TopicPartition(topic, 0, 7)
    altered = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [place])])[group].result()
    assert altered.topic_partitions[0].error is None
    shown = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result()
    assert [(each.topic, each.offset) for each in shown.topic_partitions] == [(topic, 7)]
    assert group in {each.group_id for each in admin.list_consumer_groups().result().valid}
    assert describe(admin, group).state.name == "EMPTY"
    with consuming(broker, group_id=group) as consumer:
        consumer.subscribe([topic])
        produce_all(broker, topic, [{"value": b"x"}] * 8)
        take(consumer, 1)
        found = describe(admin, group)
        assert (found.state.name, len(found.members)) == ("STABLE", 1)
        assert [each.topic for each in found.members[0].assignment.topic_partitions] == [topic]
        with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups([group])[group].result()
    admin.delete_consumer_groups([group])[group].result()
    assert group not in {each.group_id for each in admin.list_consumer_groups().result().valid}


def test_the_cluster_and_its_acls(broker: BrokerProcess, admin: AdminClient) -> None:
    """K1: one node; no authorizer."""
    found = admin.describe_cluster(include_authorized_operations=True).result()
    assert [(node.id, node.port) for node in found.nodes] == [(0, broker.port)]
    assert found.authorized_operations
    pattern = ResourcePatternType.LITERAL
    binding = AclBinding(ResourceType.TOPIC, "t", pattern, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    with pytest.raises(KafkaException, match="SECURITY_DISABLED"):
        admin.create_acls([binding])[binding].result()
