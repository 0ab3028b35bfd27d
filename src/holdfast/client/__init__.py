"""A small synchronous Kafka client: raw batches in and out, for commands, syncs, and Spark's driver and executors.

    with Client("127.0.0.1:9092") as client:
        end = client.list_offsets({("orders", 0): LATEST})

It works with any Kafka broker: versions are negotiated. Batches go as they are, and are not copied on the way. It is
the only client here: commands, syncs, Spark and audits all go through it, and `Connector` opens every connection.

    settings      how a cluster is reached, in Kafka's words
    protection    how a connection is protected: TLS, logins, tokens
    client        the face: one method for each thing to ask
    nodes         who leads what, and the connections
    connection    one socket: opened by the connector, frames out, frames in
    retry         trying again while the answer is "not now"
    offsets, fetching, producing, transactions
                  what the methods do, by noun
    admin         the same for operators: topics, groups, group_offsets, users, acls
    codes, errors Kafka's error codes, by what to do about them
"""

from holdfast.client.admin.group_offsets import Committed
from holdfast.client.admin.groups import GroupInfo, GroupMember
from holdfast.client.admin.topics import ClusterInfo, PartitionInfo, TopicInfo
from holdfast.client.client import Client
from holdfast.client.fetching import FetchedBatches
from holdfast.client.offsets import EARLIEST, LATEST, FoundOffset
from holdfast.client.protection.secure import SecurityOptions
from holdfast.client.settings import ClientSettings
from holdfast.client.transactions import ProducerIdentity
from holdfast.types import TopicPartition

__all__ = [
    "EARLIEST",
    "LATEST",
    "Client",
    "ClientSettings",
    "ClusterInfo",
    "Committed",
    "FetchedBatches",
    "FoundOffset",
    "GroupInfo",
    "GroupMember",
    "PartitionInfo",
    "ProducerIdentity",
    "SecurityOptions",
    "TopicInfo",
    "TopicPartition",
]
