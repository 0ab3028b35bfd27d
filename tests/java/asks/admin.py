"""Requests of operators: topics, configs, the cluster, and what a single broker has to say about the rest."""

from __future__ import annotations

from tests.java.asks.wire_world import NO_ID, Ask, Json, WireWorld, refused

from holdfast.protocol.api import Key

_TOPIC, _BROKER = 2, 4
_ANY = {"resourceTypeFilter": 1, "resourceNameFilter": None, "patternTypeFilter": 1}
_ANYBODY = {"principalFilter": None, "hostFilter": None, "operation": 1, "permissionType": 1}


def create_topics(world: WireWorld, version: int) -> Ask:
    topic = {
        "name": world.new_name(),
        "numPartitions": 2,
        "replicationFactor": 1,
        "assignments": [],
        "configs": [{"name": "retention.ms", "value": "1000000"}],
    }
    return Ask({"topics": [topic], "timeoutMs": 10_000, "validateOnly": False})


def delete_topics(world: WireWorld, version: int) -> Ask:
    name = world.new_topic()
    topics = [{"name": name, "topicId": NO_ID}]
    return Ask({"topics": topics, "topicNames": [name], "timeoutMs": 10_000})


def create_partitions(world: WireWorld, version: int) -> Ask:
    topic = {"name": world.new_topic(), "count": 3, "assignments": None}
    return Ask({"topics": [topic], "timeoutMs": 10_000, "validateOnly": False})


def describe_topic_partitions(world: WireWorld, version: int) -> Ask:
    request = {"topics": [{"name": world.topic}], "responsePartitionLimit": 1, "cursor": None}
    return Ask(
        request,
        check=lambda answer: answer["nextCursor"] == {"topicName": world.topic, "partitionIndex": 1},
    )


def describe_configs(world: WireWorld, version: int) -> Ask:
    resources = [
        {"resourceType": _TOPIC, "resourceName": world.topic, "configurationKeys": None},
        {"resourceType": _BROKER, "resourceName": "0", "configurationKeys": ["num.partitions"]},
    ]

    def check(answer: Json) -> bool:
        of_topic, of_broker = answer["results"]
        values = {each["name"]: each["value"] for each in (*of_topic["configs"], *of_broker["configs"])}
        return values["cleanup.policy"] == "delete" and values["num.partitions"] == "1"

    return Ask({"resources": resources, "includeSynonyms": True, "includeDocumentation": True}, check=check)


def alter_configs(world: WireWorld, version: int) -> Ask:
    configs = [{"name": "retention.ms", "value": "2000000", "configOperation": 0}]
    resource = {"resourceType": _TOPIC, "resourceName": world.new_topic(), "configs": configs}
    return Ask({"resources": [resource], "validateOnly": False})


def list_config_resources(world: WireWorld, version: int) -> Ask:
    return Ask({"resourceTypes": [_TOPIC, _BROKER]})


def describe_cluster(world: WireWorld, version: int) -> Ask:
    request = {"includeClusterAuthorizedOperations": False, "endpointType": 1, "includeFencedBrokers": True}
    return Ask(
        request,
        check=lambda answer: len(answer["brokers"]) == 1 and answer["clusterAuthorizedOperations"] == -(2**31),
    )


def describe_log_dirs(world: WireWorld, version: int) -> Ask:
    return Ask(
        {"topics": [{"topic": world.topic, "partitions": [0, 1]}]},
        check=lambda answer: [each["name"] for each in answer["results"][0]["topics"]] == [world.topic],
    )


def alter_replica_log_dirs(world: WireWorld, version: int) -> Ask:
    request = {"dirs": [{"path": "/elsewhere", "topics": [{"name": world.topic, "partitions": [0]}]}]}
    return refused(request, "LOG_DIR_NOT_FOUND")


def elect_leaders(world: WireWorld, version: int) -> Ask:
    topics = [{"topic": world.topic, "partitions": [0]}]
    request = {"electionType": 0, "topicPartitions": topics, "timeoutMs": 10_000}
    return refused(request, "NONE", "ELECTION_NOT_NEEDED")


def alter_partition_reassignments(world: WireWorld, version: int) -> Ask:
    topics = [{"name": world.topic, "partitions": [{"partitionIndex": 0, "replicas": [0]}]}]
    return Ask({"timeoutMs": 10_000, "allowReplicationFactorChange": True, "topics": topics})


def list_partition_reassignments(world: WireWorld, version: int) -> Ask:
    return Ask({"timeoutMs": 10_000, "topics": None}, check=lambda answer: answer["topics"] == [])


def describe_acls(world: WireWorld, version: int) -> Ask:
    return refused({**_ANY, **_ANYBODY}, "SECURITY_DISABLED")


def create_acls(world: WireWorld, version: int) -> Ask:
    acl = {
        "resourceType": 2,
        "resourceName": world.topic,
        "resourcePatternType": 3,
        "principal": "User:a",
        "host": "*",
        "operation": 3,
        "permissionType": 3,
    }
    return refused({"creations": [acl]}, "SECURITY_DISABLED")


def delete_acls(world: WireWorld, version: int) -> Ask:
    return refused({"filters": [{**_ANY, **_ANYBODY}]}, "SECURITY_DISABLED")


def alter_client_quotas(world: WireWorld, version: int) -> Ask:
    entity = [{"entityType": "client-id", "entityName": world.new_name()}]
    ops = [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}]
    return Ask({"entries": [{"entity": entity, "ops": ops}], "validateOnly": False})


def describe_client_quotas(world: WireWorld, version: int) -> Ask:
    name = world.new_name()
    entity = [{"entityType": "client-id", "entityName": name}]
    ops = [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}]
    world.exchange(Key.ALTER_CLIENT_QUOTAS, 1, {"entries": [{"entity": entity, "ops": ops}], "validateOnly": False})
    exactly = {"entityType": "client-id", "matchType": 0, "match": name}

    def check(answer: Json) -> bool:
        [entry] = answer["entries"]
        return entry["entity"] == entity and entry["values"] == [{"key": "producer_byte_rate", "value": 1000.0}]

    return Ask({"components": [exactly], "strict": False}, check=check)


def update_features(world: WireWorld, version: int) -> Ask:
    update = {"feature": "no.such.feature", "maxVersionLevel": 1, "allowDowngrade": False, "upgradeType": 1}
    request = {"timeoutMs": 10_000, "featureUpdates": [update], "validateOnly": False}
    errors = ("INVALID_UPDATE_VERSION",) if version >= 2 else ("NONE", "INVALID_UPDATE_VERSION")
    return refused(request, *errors)


ASKS = {
    Key.CREATE_TOPICS: create_topics,
    Key.DELETE_TOPICS: delete_topics,
    Key.CREATE_PARTITIONS: create_partitions,
    Key.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions,
    Key.DESCRIBE_CONFIGS: describe_configs,
    Key.ALTER_CONFIGS: alter_configs,
    Key.INCREMENTAL_ALTER_CONFIGS: alter_configs,
    Key.LIST_CONFIG_RESOURCES: list_config_resources,
    Key.DESCRIBE_CLUSTER: describe_cluster,
    Key.DESCRIBE_LOG_DIRS: describe_log_dirs,
    Key.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs,
    Key.ELECT_LEADERS: elect_leaders,
    Key.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments,
    Key.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments,
    Key.DESCRIBE_ACLS: describe_acls,
    Key.CREATE_ACLS: create_acls,
    Key.DELETE_ACLS: delete_acls,
    Key.ALTER_CLIENT_QUOTAS: alter_client_quotas,
    Key.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas,
    Key.UPDATE_FEATURES: update_features,
}
