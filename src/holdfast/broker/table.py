"""The dispatch table: which API is answered by which function. What has no row here is not advertised."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeAlias

from holdfast.broker.api import (
    acls,
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_configs,
    api_versions,
    client_quotas,
    config_resources,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    delete_groups,
    delete_records,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
    end_txn,
    features,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leader_epochs,
    leave_group,
    list_groups,
    list_offsets,
    list_transactions,
    log_dirs,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    placement,
    quorum,
    sasl,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    share_group_offsets,
    share_group_starts,
    share_group_state,
    sync_group,
    telemetry,
    topics,
    txn_offset_commit,
    users,
    write_txn_markers,
)
from holdfast.broker.api.fetch import Fetch
from holdfast.broker.api.produce import Produce
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Body, Request
from holdfast.protocol.api import APIS, Api, Key
from holdfast.protocol.message import Message

MessageHandler: TypeAlias = Callable[[BrokerContext, Any, Request], Coroutine[Any, Any, Message | Body]]
"""Makes the answer to a request, which is of the key's own class: a message, or its bytes as a list of buffers."""


class Raw(NamedTuple):
    """The row of an API that is hot: a part of the broker with state of its own decodes its requests by hand."""

    part: type[Produce | Fetch]


class Whole(NamedTuple):
    """The row of a change: once begun it is carried through, also when the client that asked for it goes away."""

    handler: MessageHandler


HANDLERS: dict[Key, MessageHandler | Raw | Whole] = {
    Key.PRODUCE: Raw(Produce),
    Key.FETCH: Raw(Fetch),
    Key.LIST_OFFSETS: list_offsets.handle,
    Key.METADATA: metadata.handle,
    Key.OFFSET_COMMIT: offset_commit.handle,
    Key.OFFSET_FETCH: offset_fetch.handle,
    Key.FIND_COORDINATOR: find_coordinator.handle,
    Key.JOIN_GROUP: join_group.handle,
    Key.HEARTBEAT: heartbeat.handle,
    Key.LEAVE_GROUP: leave_group.handle,
    Key.SYNC_GROUP: sync_group.handle,
    Key.DESCRIBE_GROUPS: describe_groups.handle,
    Key.LIST_GROUPS: list_groups.handle,
    Key.SASL_HANDSHAKE: sasl.handshake,
    Key.API_VERSIONS: api_versions.handle,
    Key.CREATE_TOPICS: Whole(topics.create),
    Key.DELETE_TOPICS: Whole(topics.delete),
    Key.DELETE_RECORDS: Whole(delete_records.handle),
    Key.INIT_PRODUCER_ID: init_producer_id.handle,
    Key.OFFSET_FOR_LEADER_EPOCH: leader_epochs.handle,
    Key.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn.handle,
    Key.ADD_OFFSETS_TO_TXN: add_offsets_to_txn.handle,
    Key.END_TXN: end_txn.handle,
    Key.WRITE_TXN_MARKERS: write_txn_markers.handle,
    Key.TXN_OFFSET_COMMIT: txn_offset_commit.handle,
    Key.DESCRIBE_ACLS: acls.describe,
    Key.CREATE_ACLS: acls.create,
    Key.DELETE_ACLS: acls.delete,
    Key.DESCRIBE_CONFIGS: describe_configs.handle,
    Key.ALTER_CONFIGS: Whole(alter_configs.replace),
    Key.ALTER_REPLICA_LOG_DIRS: log_dirs.move,
    Key.DESCRIBE_LOG_DIRS: log_dirs.describe,
    Key.SASL_AUTHENTICATE: sasl.authenticate,
    Key.CREATE_PARTITIONS: Whole(create_partitions.handle),
    Key.CREATE_DELEGATION_TOKEN: sasl.create_token,
    Key.RENEW_DELEGATION_TOKEN: sasl.renew_token,
    Key.EXPIRE_DELEGATION_TOKEN: sasl.expire_token,
    Key.DESCRIBE_DELEGATION_TOKEN: sasl.describe_tokens,
    Key.DELETE_GROUPS: Whole(delete_groups.handle),
    Key.ELECT_LEADERS: placement.elect,
    Key.INCREMENTAL_ALTER_CONFIGS: Whole(alter_configs.change),
    Key.ALTER_PARTITION_REASSIGNMENTS: placement.reassign,
    Key.LIST_PARTITION_REASSIGNMENTS: placement.list_reassignments,
    Key.OFFSET_DELETE: Whole(offset_delete.handle),
    Key.DESCRIBE_CLIENT_QUOTAS: client_quotas.describe,
    Key.ALTER_CLIENT_QUOTAS: Whole(client_quotas.alter),
    Key.DESCRIBE_USER_SCRAM_CREDENTIALS: users.describe,
    Key.ALTER_USER_SCRAM_CREDENTIALS: Whole(users.alter),
    Key.DESCRIBE_QUORUM: quorum.describe,
    Key.UPDATE_FEATURES: features.update,
    Key.DESCRIBE_CLUSTER: describe_cluster.handle,
    Key.DESCRIBE_PRODUCERS: describe_producers.handle,
    Key.UNREGISTER_BROKER: quorum.unregister,
    Key.DESCRIBE_TRANSACTIONS: describe_transactions.handle,
    Key.LIST_TRANSACTIONS: list_transactions.handle,
    Key.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat.handle,
    Key.CONSUMER_GROUP_DESCRIBE: consumer_group_describe.handle,
    Key.GET_TELEMETRY_SUBSCRIPTIONS: telemetry.subscriptions,
    Key.PUSH_TELEMETRY: telemetry.push,
    Key.LIST_CONFIG_RESOURCES: config_resources.list_resources,
    Key.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions.handle,
    Key.ADD_RAFT_VOTER: quorum.add_voter,
    Key.REMOVE_RAFT_VOTER: quorum.remove_voter,
    Key.SHARE_GROUP_HEARTBEAT: share_group_heartbeat.handle,
    Key.SHARE_GROUP_DESCRIBE: share_group_describe.handle,
    Key.SHARE_FETCH: share_fetch.handle,
    Key.SHARE_ACKNOWLEDGE: share_acknowledge.handle,
    Key.READ_SHARE_GROUP_STATE: share_group_state.read,
    Key.WRITE_SHARE_GROUP_STATE: share_group_state.write,
    Key.DESCRIBE_SHARE_GROUP_OFFSETS: share_group_offsets.describe,
    Key.ALTER_SHARE_GROUP_OFFSETS: Whole(share_group_starts.alter),
    Key.DELETE_SHARE_GROUP_OFFSETS: Whole(share_group_starts.delete),
}


def advertised() -> list[Api]:
    """The APIs that we answer, by their numbers."""
    return [APIS[key] for key in sorted(HANDLERS)]
