"""The one table of APIs and versions. ApiVersions, dispatch and the docs are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from holdfast.protocol.errors import UnknownApi, UnsupportedVersion


class Key(IntEnum):
    """The number that a request begins with."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    DESCRIBE_QUORUM = 55
    UPDATE_FEATURES = 57
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


NEVER = 1 << 15  # Larger than any version: this API has no flexible one.


@dataclass(frozen=True, slots=True)
class Api:
    """One API. Versions are inclusive on both sides, as on the wire."""

    key: Key
    name: str
    min_version: int
    max_version: int
    flexible_from: int  # Compact sizes and tagged fields from this version on.
    advertised_from: int  # Lower than `min_version` where clients look for an old version that nobody may use.

    def check(self, version: int) -> None:
        if not self.min_version <= version <= self.max_version:
            raise UnsupportedVersion(self.name, version, self.min_version, self.max_version)


def _table(*rows: tuple[Key, int, int, int]) -> dict[int, Api]:
    # librdkafka takes a broker that does not list Produce 0 for one that is too old for it.
    advertised_from = {Key.PRODUCE: 0}
    return {
        key: Api(key, _camel(key), oldest, newest, flexible_from, advertised_from.get(key, oldest))
        for key, oldest, newest, flexible_from in rows
    }


def _camel(key: Key) -> str:
    return "".join(word.capitalize() for word in key.name.split("_"))


APIS: Mapping[int, Api] = _table(
    # API, oldest version, newest version, flexible from
    (Key.PRODUCE, 3, 13, 9),
    (Key.FETCH, 4, 18, 12),
    (Key.LIST_OFFSETS, 1, 11, 6),
    (Key.METADATA, 0, 13, 9),
    (Key.OFFSET_COMMIT, 2, 10, 8),
    (Key.OFFSET_FETCH, 1, 10, 6),
    (Key.FIND_COORDINATOR, 0, 6, 3),
    (Key.JOIN_GROUP, 0, 9, 6),
    (Key.HEARTBEAT, 0, 4, 4),
    (Key.LEAVE_GROUP, 0, 5, 4),
    (Key.SYNC_GROUP, 0, 5, 4),
    (Key.DESCRIBE_GROUPS, 0, 6, 5),
    (Key.LIST_GROUPS, 0, 5, 3),
    (Key.SASL_HANDSHAKE, 0, 1, NEVER),
    (Key.API_VERSIONS, 0, 4, 3),
    (Key.CREATE_TOPICS, 2, 7, 5),
    (Key.DELETE_TOPICS, 1, 6, 4),
    (Key.DELETE_RECORDS, 0, 2, 2),
    (Key.INIT_PRODUCER_ID, 0, 5, 2),
    (Key.OFFSET_FOR_LEADER_EPOCH, 2, 4, 4),
    (Key.ADD_PARTITIONS_TO_TXN, 0, 5, 3),
    (Key.ADD_OFFSETS_TO_TXN, 0, 4, 3),
    (Key.END_TXN, 0, 5, 3),
    (Key.WRITE_TXN_MARKERS, 1, 2, 1),
    (Key.TXN_OFFSET_COMMIT, 0, 5, 3),
    (Key.DESCRIBE_ACLS, 1, 3, 2),
    (Key.CREATE_ACLS, 1, 3, 2),
    (Key.DELETE_ACLS, 1, 3, 2),
    (Key.DESCRIBE_CONFIGS, 1, 4, 4),
    (Key.ALTER_CONFIGS, 0, 2, 2),
    (Key.ALTER_REPLICA_LOG_DIRS, 1, 2, 2),
    (Key.DESCRIBE_LOG_DIRS, 1, 5, 2),
    (Key.SASL_AUTHENTICATE, 0, 2, 2),
    (Key.CREATE_PARTITIONS, 0, 3, 2),
    (Key.CREATE_DELEGATION_TOKEN, 1, 3, 2),
    (Key.RENEW_DELEGATION_TOKEN, 1, 2, 2),
    (Key.EXPIRE_DELEGATION_TOKEN, 1, 2, 2),
    (Key.DESCRIBE_DELEGATION_TOKEN, 1, 3, 2),
    (Key.DELETE_GROUPS, 0, 2, 2),
    (Key.ELECT_LEADERS, 0, 2, 2),
    (Key.INCREMENTAL_ALTER_CONFIGS, 0, 1, 1),
    (Key.ALTER_PARTITION_REASSIGNMENTS, 0, 1, 0),
    (Key.LIST_PARTITION_REASSIGNMENTS, 0, 0, 0),
    (Key.OFFSET_DELETE, 0, 0, NEVER),
    (Key.DESCRIBE_CLIENT_QUOTAS, 0, 1, 1),
    (Key.ALTER_CLIENT_QUOTAS, 0, 1, 1),
    (Key.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, 0),
    (Key.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, 0),
    (Key.DESCRIBE_QUORUM, 0, 2, 0),
    (Key.UPDATE_FEATURES, 0, 2, 0),
    (Key.DESCRIBE_CLUSTER, 0, 2, 0),
    (Key.DESCRIBE_PRODUCERS, 0, 0, 0),
    (Key.UNREGISTER_BROKER, 0, 0, 0),
    (Key.DESCRIBE_TRANSACTIONS, 0, 0, 0),
    (Key.LIST_TRANSACTIONS, 0, 2, 0),
    (Key.CONSUMER_GROUP_HEARTBEAT, 0, 1, 0),
    (Key.CONSUMER_GROUP_DESCRIBE, 0, 1, 0),
    (Key.GET_TELEMETRY_SUBSCRIPTIONS, 0, 0, 0),
    (Key.PUSH_TELEMETRY, 0, 0, 0),
    (Key.LIST_CONFIG_RESOURCES, 0, 1, 0),
    (Key.DESCRIBE_TOPIC_PARTITIONS, 0, 0, 0),
    (Key.SHARE_GROUP_HEARTBEAT, 1, 1, 0),
    (Key.SHARE_GROUP_DESCRIBE, 1, 1, 0),
    (Key.SHARE_FETCH, 1, 2, 0),
    (Key.SHARE_ACKNOWLEDGE, 1, 2, 0),
    (Key.ADD_RAFT_VOTER, 0, 1, 0),
    (Key.REMOVE_RAFT_VOTER, 0, 0, 0),
    (Key.READ_SHARE_GROUP_STATE, 0, 0, 0),
    (Key.WRITE_SHARE_GROUP_STATE, 0, 1, 0),
    (Key.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1, 0),
    (Key.ALTER_SHARE_GROUP_OFFSETS, 0, 0, 0),
    (Key.DELETE_SHARE_GROUP_OFFSETS, 0, 0, 0),
)

_FLEXIBLE_FROM = {int(key): row.flexible_from for key, row in APIS.items()}


def find(api_key: int, version: int) -> Api:
    """The API that a request names, or why there is none."""
    found = APIS.get(api_key)
    if found is None:
        raise UnknownApi(api_key)
    found.check(version)
    return found


def is_flexible(api_key: int, version: int) -> bool:
    """Whether sizes are compact and fields may be tagged. False for what is unknown."""
    return version >= _FLEXIBLE_FROM.get(api_key, NEVER)
