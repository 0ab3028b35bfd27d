"""Which right each API asks for: the one table. What has no row here is not served.

`first` is asked before a handler sees the request, and refuses it as a whole. What is in `asked` a handler asks for
each thing that the request names, by these very constants; it cannot ask for others. Alternatives stand side by side:
who may create in the cluster needs no right to create the topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from holdfast.errors import Rejected
from holdfast.protocol.api import Key
from holdfast.security.rules import Operation, ResourceType


@dataclass(frozen=True, slots=True, eq=False)  # Each is one constant: as a key it is itself.
class Right:
    """Something that may be done to one kind of resource."""

    operation: Operation
    kind: ResourceType

    def __str__(self) -> str:
        return f"{self.operation.name} {self.kind.name}"


class NotAllowed(Rejected):
    """Whoever asks has not the right."""

    kind = ResourceType.CLUSTER  # Of what they wanted to do something to.

    def __init__(self, right: Right, name: str) -> None:
        super().__init__(f"no rule lets you {right.operation.name} the {right.kind.name} {name}")
        self.kind = right.kind


READ_TOPIC: Final = Right(Operation.READ, ResourceType.TOPIC)
WRITE_TOPIC: Final = Right(Operation.WRITE, ResourceType.TOPIC)
CREATE_TOPIC: Final = Right(Operation.CREATE, ResourceType.TOPIC)
DELETE_TOPIC: Final = Right(Operation.DELETE, ResourceType.TOPIC)
ALTER_TOPIC: Final = Right(Operation.ALTER, ResourceType.TOPIC)
DESCRIBE_TOPIC: Final = Right(Operation.DESCRIBE, ResourceType.TOPIC)
DESCRIBE_TOPIC_CONFIGS: Final = Right(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC)
ALTER_TOPIC_CONFIGS: Final = Right(Operation.ALTER_CONFIGS, ResourceType.TOPIC)
READ_GROUP: Final = Right(Operation.READ, ResourceType.GROUP)
DELETE_GROUP: Final = Right(Operation.DELETE, ResourceType.GROUP)
DESCRIBE_GROUP: Final = Right(Operation.DESCRIBE, ResourceType.GROUP)
DESCRIBE_GROUP_CONFIGS: Final = Right(Operation.DESCRIBE_CONFIGS, ResourceType.GROUP)
ALTER_GROUP_CONFIGS: Final = Right(Operation.ALTER_CONFIGS, ResourceType.GROUP)
CREATE_CLUSTER: Final = Right(Operation.CREATE, ResourceType.CLUSTER)
DELETE_CLUSTER: Final = Right(Operation.DELETE, ResourceType.CLUSTER)
ALTER_CLUSTER: Final = Right(Operation.ALTER, ResourceType.CLUSTER)
DESCRIBE_CLUSTER: Final = Right(Operation.DESCRIBE, ResourceType.CLUSTER)
CLUSTER_ACTION: Final = Right(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
DESCRIBE_CLUSTER_CONFIGS: Final = Right(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
ALTER_CLUSTER_CONFIGS: Final = Right(Operation.ALTER_CONFIGS, ResourceType.CLUSTER)
IDEMPOTENT_WRITE: Final = Right(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)
WRITE_TRANSACTION: Final = Right(Operation.WRITE, ResourceType.TRANSACTIONAL_ID)
DESCRIBE_TRANSACTION: Final = Right(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)


class ApiRights(NamedTuple):
    """The row of one API."""

    first: Right | None
    asked: frozenset[Right]


def _first(right: Right) -> ApiRights:
    return ApiRights(right, frozenset({right}))


def _each(*rights: Right) -> ApiRights:
    return ApiRights(None, frozenset(rights))


_EVERYBODY: Final = _each()  # Nothing is told or changed that is anybody's.
_REFUSED: Final = _each()  # Nobody gets anything else than a refusal.

RIGHTS: Final[Mapping[Key, ApiRights]] = {
    Key.PRODUCE: _each(WRITE_TOPIC, WRITE_TRANSACTION),
    Key.FETCH: _each(READ_TOPIC),
    Key.LIST_OFFSETS: _each(DESCRIBE_TOPIC),
    Key.METADATA: _each(DESCRIBE_TOPIC, CREATE_TOPIC, CREATE_CLUSTER, DESCRIBE_CLUSTER),
    Key.OFFSET_COMMIT: _each(READ_GROUP, READ_TOPIC),
    Key.OFFSET_FETCH: _each(DESCRIBE_GROUP, DESCRIBE_TOPIC),
    Key.FIND_COORDINATOR: _each(DESCRIBE_GROUP, DESCRIBE_TRANSACTION, CLUSTER_ACTION),
    Key.JOIN_GROUP: _each(READ_GROUP),
    Key.HEARTBEAT: _each(READ_GROUP),
    Key.LEAVE_GROUP: _each(READ_GROUP),
    Key.SYNC_GROUP: _each(READ_GROUP),
    Key.DESCRIBE_GROUPS: _each(DESCRIBE_GROUP),
    Key.LIST_GROUPS: _each(DESCRIBE_CLUSTER, DESCRIBE_GROUP),
    Key.SASL_HANDSHAKE: _EVERYBODY,
    Key.API_VERSIONS: _EVERYBODY,
    Key.CREATE_TOPICS: _each(CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS),
    Key.DELETE_TOPICS: _each(DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC),
    Key.DELETE_RECORDS: _each(DELETE_TOPIC),
    Key.INIT_PRODUCER_ID: _each(WRITE_TRANSACTION, IDEMPOTENT_WRITE, WRITE_TOPIC),
    Key.OFFSET_FOR_LEADER_EPOCH: _each(CLUSTER_ACTION, DESCRIBE_TOPIC),
    Key.ADD_PARTITIONS_TO_TXN: _each(WRITE_TRANSACTION, WRITE_TOPIC, CLUSTER_ACTION),
    Key.ADD_OFFSETS_TO_TXN: _each(WRITE_TRANSACTION, READ_GROUP),
    Key.END_TXN: _each(WRITE_TRANSACTION),
    Key.WRITE_TXN_MARKERS: _each(ALTER_CLUSTER, CLUSTER_ACTION),
    Key.TXN_OFFSET_COMMIT: _each(WRITE_TRANSACTION, READ_GROUP, READ_TOPIC),
    Key.DESCRIBE_ACLS: _first(DESCRIBE_CLUSTER),
    Key.CREATE_ACLS: _each(ALTER_CLUSTER),
    Key.DELETE_ACLS: _each(ALTER_CLUSTER),
    Key.DESCRIBE_CONFIGS: _each(DESCRIBE_TOPIC_CONFIGS, DESCRIBE_GROUP_CONFIGS, DESCRIBE_CLUSTER_CONFIGS),
    Key.ALTER_CONFIGS: _each(ALTER_TOPIC_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_CLUSTER_CONFIGS),
    Key.ALTER_REPLICA_LOG_DIRS: _each(ALTER_CLUSTER),
    Key.DESCRIBE_LOG_DIRS: _first(DESCRIBE_CLUSTER),
    Key.SASL_AUTHENTICATE: _EVERYBODY,
    Key.CREATE_PARTITIONS: _each(ALTER_TOPIC),
    Key.CREATE_DELEGATION_TOKEN: _REFUSED,
    Key.RENEW_DELEGATION_TOKEN: _REFUSED,
    Key.EXPIRE_DELEGATION_TOKEN: _REFUSED,
    Key.DESCRIBE_DELEGATION_TOKEN: _REFUSED,
    Key.DELETE_GROUPS: _each(DELETE_GROUP),
    Key.ELECT_LEADERS: _each(ALTER_CLUSTER),
    Key.INCREMENTAL_ALTER_CONFIGS: _each(ALTER_TOPIC_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_CLUSTER_CONFIGS),
    Key.ALTER_PARTITION_REASSIGNMENTS: _first(ALTER_CLUSTER),
    Key.LIST_PARTITION_REASSIGNMENTS: _first(DESCRIBE_CLUSTER),
    Key.OFFSET_DELETE: _each(DELETE_GROUP, READ_TOPIC),
    Key.DESCRIBE_CLIENT_QUOTAS: _first(DESCRIBE_CLUSTER_CONFIGS),
    Key.ALTER_CLIENT_QUOTAS: _each(ALTER_CLUSTER_CONFIGS),
    Key.DESCRIBE_USER_SCRAM_CREDENTIALS: _first(DESCRIBE_CLUSTER),
    Key.ALTER_USER_SCRAM_CREDENTIALS: _each(ALTER_CLUSTER),
    Key.DESCRIBE_QUORUM: _first(DESCRIBE_CLUSTER),
    Key.UPDATE_FEATURES: _first(ALTER_CLUSTER),
    Key.DESCRIBE_CLUSTER: _each(DESCRIBE_CLUSTER),
    Key.DESCRIBE_PRODUCERS: _each(READ_TOPIC),
    Key.UNREGISTER_BROKER: _first(ALTER_CLUSTER),
    Key.DESCRIBE_TRANSACTIONS: _each(DESCRIBE_TRANSACTION, DESCRIBE_TOPIC),
    Key.LIST_TRANSACTIONS: _each(DESCRIBE_TRANSACTION),
    Key.CONSUMER_GROUP_HEARTBEAT: _each(READ_GROUP, DESCRIBE_TOPIC),
    Key.CONSUMER_GROUP_DESCRIBE: _each(DESCRIBE_GROUP, DESCRIBE_TOPIC),
    Key.GET_TELEMETRY_SUBSCRIPTIONS: _EVERYBODY,
    Key.PUSH_TELEMETRY: _EVERYBODY,
    Key.LIST_CONFIG_RESOURCES: _first(DESCRIBE_CLUSTER_CONFIGS),
    Key.DESCRIBE_TOPIC_PARTITIONS: _each(DESCRIBE_TOPIC),
    Key.ADD_RAFT_VOTER: _first(ALTER_CLUSTER),
    Key.REMOVE_RAFT_VOTER: _first(ALTER_CLUSTER),
    Key.SHARE_GROUP_HEARTBEAT: _each(READ_GROUP, DESCRIBE_TOPIC),
    Key.SHARE_GROUP_DESCRIBE: _each(DESCRIBE_GROUP, DESCRIBE_TOPIC),
    Key.SHARE_FETCH: _each(READ_GROUP, READ_TOPIC),
    Key.SHARE_ACKNOWLEDGE: _each(READ_GROUP, READ_TOPIC),
    Key.READ_SHARE_GROUP_STATE: _each(CLUSTER_ACTION),  # And then for brokers only, by their proof.
    Key.WRITE_SHARE_GROUP_STATE: _each(CLUSTER_ACTION),
    Key.DESCRIBE_SHARE_GROUP_OFFSETS: _each(DESCRIBE_GROUP, DESCRIBE_TOPIC),
    Key.ALTER_SHARE_GROUP_OFFSETS: _each(READ_GROUP, READ_TOPIC),
    Key.DELETE_SHARE_GROUP_OFFSETS: _each(DELETE_GROUP, READ_TOPIC),
}

# The ports beside Kafka's.
SUBSCRIBE: Final = _each(READ_TOPIC, DESCRIBE_TOPIC)
METRICS: Final = _each(DESCRIBE_CLUSTER)
