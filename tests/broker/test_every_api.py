"""Every API in every version: asked with real content, answered in bytes that another implementation reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.broker.wire import Wire, batch, create_topic, fetch_fields, message, produce, produce_fields
from tests.protocol import oracle
from tests.support.broker_process import BrokerProcess

from holdfast.broker.table import advertised
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.header import decode_response_header, frame_request
from holdfast.protocol.messages import encode_request

TOPIC = "every-api"
VERSIONS = [(row.key, version) for row in advertised() for version in range(row.min_version, row.max_version + 1)]
NAMES = [f"{APIS[key].name}-{version}" for key, version in VERSIONS]


@pytest.fixture(scope="module")
def topic_id(broker: BrokerProcess) -> Any:
    with Wire(broker.port) as wire:
        made = create_topic(wire, TOPIC)
        produce(wire, TOPIC, batch(b"one", b"two", producer_id=7, producer_epoch=0, base_sequence=0))
    return made


def content(key: Key, version: int, topic_id: Any) -> dict[str, Any]:
    """A request that has something to say, whatever its version."""
    topic = topic_id if (key, version) >= (Key.FETCH, 13) else TOPIC
    named = {"name": TOPIC, "topic_id": topic_id}
    resource = {"resource_type": 2, "resource_name": TOPIC}
    offset = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": 1, "committed_metadata": "m"}
    acl = {"resource_type": 2, "resource_name": "t", "principal": "User:a", "host": "*", "operation": 3}
    quota = {
        "entity": [{"entity_type": "user", "entity_name": "u"}],
        "ops": [{"key": "consumer_byte_rate", "value": 1.0}],
    }
    requests: dict[Key, dict[str, Any]] = {
        Key.PRODUCE: produce_fields(topic_id if version >= 13 else TOPIC, batch(b"x")),
        Key.FETCH: fetch_fields(topic),
        Key.LIST_OFFSETS: {
            "replica_id": -1,
            "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "timestamp": -1}]}],
        },
        Key.METADATA: {"topics": [{"name": TOPIC}], "include_topic_authorized_operations": True},
        Key.OFFSET_COMMIT: {"group_id": "every", "topics": [{**named, "partitions": [offset]}]},
        Key.OFFSET_FETCH: {
            "group_id": "every",
            "topics": [{"name": TOPIC, "partition_indexes": [0, 1]}],
            "groups": [{"group_id": "every", "topics": [{**named, "partition_indexes": [0, 1]}]}],
        },
        Key.FIND_COORDINATOR: {"key": "every", "coordinator_keys": ["every"]},
        Key.JOIN_GROUP: {
            "group_id": "every-joined",
            "session_timeout_ms": 1000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"m"}],
        },
        Key.HEARTBEAT: {"group_id": "every", "member_id": "nobody"},
        Key.LEAVE_GROUP: {"group_id": "every", "member_id": "nobody", "members": [{"member_id": "nobody"}]},
        Key.SYNC_GROUP: {
            "group_id": "every",
            "member_id": "nobody",
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [],
        },
        Key.DESCRIBE_GROUPS: {"groups": ["every", "absent"], "include_authorized_operations": True},
        Key.LIST_GROUPS: {},
        Key.API_VERSIONS: {"client_software_name": "t", "client_software_version": "1"},
        Key.CREATE_TOPICS: {"topics": [{"name": f"every-{version}", "num_partitions": 1, "replication_factor": 1}]},
        Key.DELETE_TOPICS: {
            "topic_names": ["absent"],
            "topics": [{"name": "absent", "topic_id": None}],
            "timeout_ms": 5000,
        },
        Key.DELETE_RECORDS: {
            "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "offset": 0}]}],
            "timeout_ms": 5000,
        },
        Key.INIT_PRODUCER_ID: {"transactional_id": None, "transaction_timeout_ms": 1000},
        Key.ADD_PARTITIONS_TO_TXN: {
            "v3_and_below_transactional_id": "absent",
            "v3_and_below_topics": [{"name": TOPIC, "partitions": [0]}],
            "transactions": [
                {"transactional_id": "absent", "verify_only": False, "topics": [{"name": TOPIC, "partitions": [0]}]},
                {"transactional_id": "absent", "verify_only": True, "topics": [{"name": TOPIC, "partitions": [0]}]},
            ],
        },
        Key.ADD_OFFSETS_TO_TXN: {"transactional_id": "absent", "group_id": "every"},
        Key.END_TXN: {"transactional_id": "absent", "committed": True},
        Key.WRITE_TXN_MARKERS: {
            "markers": [
                {
                    "producer_id": 7,
                    "transaction_result": False,
                    "topics": [{"name": TOPIC, "partition_indexes": [0, 1]}],
                }
            ]
        },
        Key.TXN_OFFSET_COMMIT: {
            "transactional_id": "absent",
            "group_id": "every",
            "topics": [{"name": TOPIC, "partitions": [offset]}],
        },
        Key.DESCRIBE_TRANSACTIONS: {"transactional_ids": ["absent"]},
        Key.LIST_TRANSACTIONS: {"state_filters": ["Ongoing", "Odd"], "producer_id_filters": [7], "duration_filter": 1},
        Key.CONSUMER_GROUP_HEARTBEAT: {
            "group_id": "every-beaten",
            "member_id": "m",
            "rebalance_timeout_ms": 1000,
            "subscribed_topic_names": [TOPIC],
            "topic_partitions": [],
        },
        Key.CONSUMER_GROUP_DESCRIBE: {
            "group_ids": ["every-beaten", "absent"],
            "include_authorized_operations": True,
        },
        Key.SHARE_GROUP_HEARTBEAT: {"group_id": "every-shared", "member_id": "m", "subscribed_topic_names": [TOPIC]},
        Key.SHARE_GROUP_DESCRIBE: {"group_ids": ["every-shared", "absent"], "include_authorized_operations": True},
        Key.READ_SHARE_GROUP_STATE: {
            "group_id": "every-shared",
            "topics": [{"topic_id": topic_id, "partitions": [{"partition": 0, "leader_epoch": 0}]}],
        },
        Key.WRITE_SHARE_GROUP_STATE: {
            "group_id": "every-shared",
            "topics": [
                {"topic_id": topic_id, "partitions": [{"partition": 0, "start_offset": 1, "state_batches": []}]}
            ],
        },
        Key.SHARE_FETCH: {
            "group_id": "every-shared",
            "member_id": "m",
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_records": 10,
            "batch_size": 10,
            "topics": [{"topic_id": topic_id, "partitions": [{"partition_index": 0, "acknowledgement_batches": []}]}],
            "forgotten_topics_data": [],
        },
        Key.SHARE_ACKNOWLEDGE: {"group_id": "every-shared", "member_id": "m", "share_session_epoch": -1, "topics": []},
        Key.DESCRIBE_SHARE_GROUP_OFFSETS: {
            "groups": [{"group_id": "every-shared", "topics": [{"topic_name": TOPIC, "partitions": [0, 1]}]}]
        },
        Key.ALTER_SHARE_GROUP_OFFSETS: {
            "group_id": "every-moved",
            "topics": [{"topic_name": TOPIC, "partitions": [{"partition_index": 0, "start_offset": 0}]}],
        },
        Key.DELETE_SHARE_GROUP_OFFSETS: {
            "group_id": "every-moved",
            "topics": [{"topic_name": TOPIC}, {"topic_name": "absent"}],
        },
        Key.OFFSET_FOR_LEADER_EPOCH: {
            "topics": [{"topic": TOPIC, "partitions": [{"partition": 0, "leader_epoch": 1}]}]
        },
        Key.DESCRIBE_ACLS: {"resource_type_filter": 1, "operation": 1, "permission_type": 1},
        Key.CREATE_ACLS: {"creations": [{**acl, "permission_type": 3}]},
        Key.DELETE_ACLS: {"filters": [{"resource_type_filter": 1, "operation": 1, "permission_type": 1}]},
        Key.DESCRIBE_CONFIGS: {
            "resources": [resource, {"resource_type": 4, "resource_name": "0"}],
            "include_synonyms": True,
            "include_documentation": True,
        },
        Key.ALTER_CONFIGS: {"resources": [{**resource, "configs": [{"name": "retention.ms", "value": "-1"}]}]},
        Key.ALTER_REPLICA_LOG_DIRS: {"dirs": [{"path": "/", "topics": [{"name": TOPIC, "partitions": [0]}]}]},
        Key.DESCRIBE_LOG_DIRS: {"topics": None},
        Key.CREATE_PARTITIONS: {"topics": [{"name": TOPIC, "count": 1, "assignments": None}]},
        Key.DELETE_GROUPS: {"groups_names": ["absent"]},
        Key.ELECT_LEADERS: {"topic_partitions": [{"topic": TOPIC, "partitions": [0]}]},
        Key.INCREMENTAL_ALTER_CONFIGS: {
            "resources": [{**resource, "configs": [{"name": "retention.ms", "config_operation": 1, "value": None}]}]
        },
        Key.ALTER_PARTITION_REASSIGNMENTS: {
            "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "replicas": None}]}]
        },
        Key.LIST_PARTITION_REASSIGNMENTS: {"topics": None},
        Key.OFFSET_DELETE: {"group_id": "every", "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]},
        Key.DESCRIBE_CLIENT_QUOTAS: {"components": [{"entity_type": "user", "match_type": 2, "match": None}]},
        Key.ALTER_CLIENT_QUOTAS: {"entries": [quota]},
        Key.UPDATE_FEATURES: {"feature_updates": [{"feature": "absent", "max_version_level": 1}]},
        Key.DESCRIBE_CLUSTER: {"include_cluster_authorized_operations": True},
        Key.DESCRIBE_PRODUCERS: {"topics": [{"name": TOPIC, "partition_indexes": [0, 1]}]},
        Key.LIST_CONFIG_RESOURCES: {},
        Key.SASL_HANDSHAKE: {"mechanism": "PLAIN"},
        Key.SASL_AUTHENTICATE: {"auth_bytes": b"x"},
        Key.CREATE_DELEGATION_TOKEN: {
            "renewers": [{"principal_type": "User", "principal_name": "a"}],
            "max_lifetime_ms": -1,
            "owner_principal_type": None,
            "owner_principal_name": None,
        },
        Key.RENEW_DELEGATION_TOKEN: {"hmac": b"x", "renew_period_ms": 1},
        Key.EXPIRE_DELEGATION_TOKEN: {"hmac": b"x", "expiry_time_period_ms": 1},
        Key.DESCRIBE_DELEGATION_TOKEN: {"owners": None},
        Key.DESCRIBE_USER_SCRAM_CREDENTIALS: {"users": [{"name": "u"}, {"name": "v"}, {"name": "v"}]},
        Key.ALTER_USER_SCRAM_CREDENTIALS: {
            "deletions": [{"name": "u", "mechanism": 1}],
            "upsertions": [
                {"name": "v", "mechanism": 1, "iterations": 4096, "salt": b"s", "salted_password": b"p"},
            ],
        },
        Key.DESCRIBE_QUORUM: {
            "topics": [
                {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}, {"partition_index": 1}]}
            ]
        },
        Key.UNREGISTER_BROKER: {"broker_id": 9},
        Key.GET_TELEMETRY_SUBSCRIPTIONS: {"client_instance_id": None},
        Key.PUSH_TELEMETRY: {"client_instance_id": topic_id, "metrics": b"m"},
        Key.ADD_RAFT_VOTER: {
            "cluster_id": None,
            "timeout_ms": 1,
            "voter_id": 9,
            "voter_directory_id": topic_id,
            "listeners": [{"name": "L", "host": "h", "port": 1}],
        },
        Key.REMOVE_RAFT_VOTER: {"cluster_id": None, "voter_id": 9, "voter_directory_id": topic_id},
        Key.DESCRIBE_TOPIC_PARTITIONS: {
            "topics": [{"name": TOPIC}, {"name": "absent"}],
            "response_partition_limit": 10,
        },
    }
    return requests[key]


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=NAMES)
def test_an_answer_can_be_read_by_another_implementation(wire: Wire, topic_id: Any, key: Key, version: int) -> None:
    """K1, K2, K3: and nothing is left over. The test of K2."""
    body = encode_request(key, version, message(request_class(key), content(key, version, topic_id)))
    wire.send_bytes(b"".join(frame_request(key, version, 1, "every", body)))
    frame = wire.receive()
    _, start = decode_response_header(key, version, memoryview(frame))
    answer = oracle.decode(oracle.response_entity(key, version), frame[start:])
    expected = EXPECTED.get(key, {ErrorCode.none})
    assert set(codes(answer)) <= expected, answer


def codes(answer: Any) -> Iterator[ErrorCode]:
    """All error codes in an answer."""
    for field in fields(answer):
        value = getattr(answer, field.name)
        if isinstance(value, ErrorCode):
            yield value
        for each in value if isinstance(value, tuple) else [value]:
            if is_dataclass(each):
                yield from codes(each)


EXPECTED: dict[Key, set[ErrorCode]] = {
    Key.JOIN_GROUP: {ErrorCode.none, ErrorCode.member_id_required},
    Key.HEARTBEAT: {ErrorCode.unknown_member_id},
    Key.LEAVE_GROUP: {ErrorCode.none, ErrorCode.unknown_member_id},
    Key.SYNC_GROUP: {ErrorCode.unknown_member_id},
    Key.DESCRIBE_GROUPS: {ErrorCode.none, ErrorCode.group_id_not_found},
    Key.CONSUMER_GROUP_DESCRIBE: {ErrorCode.none, ErrorCode.group_id_not_found},
    Key.SHARE_GROUP_DESCRIBE: {ErrorCode.none, ErrorCode.group_id_not_found},
    Key.SHARE_ACKNOWLEDGE: {ErrorCode.none, ErrorCode.share_session_not_found},
    Key.DESCRIBE_SHARE_GROUP_OFFSETS: {ErrorCode.none, ErrorCode.unknown_topic_or_partition},
    Key.DELETE_SHARE_GROUP_OFFSETS: {ErrorCode.none, ErrorCode.unknown_topic_or_partition},
    Key.READ_SHARE_GROUP_STATE: {ErrorCode.invalid_request},  # For brokers, by their proof.
    Key.WRITE_SHARE_GROUP_STATE: {ErrorCode.invalid_request},
    Key.DELETE_TOPICS: {ErrorCode.unknown_topic_or_partition},
    Key.ADD_PARTITIONS_TO_TXN: {ErrorCode.none, ErrorCode.invalid_producer_id_mapping},
    Key.ADD_OFFSETS_TO_TXN: {ErrorCode.invalid_producer_id_mapping},
    Key.END_TXN: {ErrorCode.invalid_producer_id_mapping},
    Key.WRITE_TXN_MARKERS: {ErrorCode.none, ErrorCode.unknown_topic_or_partition},
    Key.TXN_OFFSET_COMMIT: {ErrorCode.invalid_producer_id_mapping},
    Key.DESCRIBE_TRANSACTIONS: {ErrorCode.transactional_id_not_found},
    Key.SASL_HANDSHAKE: {ErrorCode.illegal_sasl_state},
    Key.SASL_AUTHENTICATE: {ErrorCode.illegal_sasl_state},
    Key.CREATE_DELEGATION_TOKEN: {ErrorCode.delegation_token_request_not_allowed},
    Key.RENEW_DELEGATION_TOKEN: {ErrorCode.delegation_token_request_not_allowed},
    Key.EXPIRE_DELEGATION_TOKEN: {ErrorCode.delegation_token_request_not_allowed},
    Key.DESCRIBE_DELEGATION_TOKEN: {ErrorCode.delegation_token_request_not_allowed},
    Key.DESCRIBE_USER_SCRAM_CREDENTIALS: {
        ErrorCode.none,
        ErrorCode.resource_not_found,
        ErrorCode.duplicate_resource,
    },
    Key.ALTER_USER_SCRAM_CREDENTIALS: {ErrorCode.resource_not_found, ErrorCode.none},
    Key.DESCRIBE_QUORUM: {ErrorCode.none, ErrorCode.unknown_topic_or_partition},
    Key.UNREGISTER_BROKER: {ErrorCode.broker_id_not_registered},
    Key.PUSH_TELEMETRY: {ErrorCode.unknown_subscription_id},
    Key.ADD_RAFT_VOTER: {ErrorCode.unsupported_version},
    Key.REMOVE_RAFT_VOTER: {ErrorCode.unsupported_version},
    Key.DESCRIBE_ACLS: {ErrorCode.security_disabled},
    Key.CREATE_ACLS: {ErrorCode.security_disabled},
    Key.DELETE_ACLS: {ErrorCode.security_disabled},
    Key.ALTER_REPLICA_LOG_DIRS: {ErrorCode.log_dir_not_found},
    Key.CREATE_PARTITIONS: {ErrorCode.invalid_partitions},
    Key.DELETE_GROUPS: {ErrorCode.group_id_not_found},
    Key.ELECT_LEADERS: {ErrorCode.none, ErrorCode.election_not_needed},
    Key.ALTER_PARTITION_REASSIGNMENTS: {ErrorCode.none, ErrorCode.no_reassignment_in_progress},
    Key.UPDATE_FEATURES: {ErrorCode.none, ErrorCode.invalid_update_version},
    Key.DESCRIBE_PRODUCERS: {ErrorCode.none, ErrorCode.unknown_topic_or_partition},
    Key.DESCRIBE_TOPIC_PARTITIONS: {ErrorCode.none, ErrorCode.unknown_topic_or_partition},
}
