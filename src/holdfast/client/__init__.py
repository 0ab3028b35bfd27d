"""A small synchronous Kafka client: raw batches in and out, for Spark's executors, for commits, audits and syncs.

    with Client("127.0.0.1:9092") as client:
        end = client.list_offsets({("orders", 0): LATEST})

It works with any Kafka broker: versions are negotiated. Batches go as they are, and are not copied on the way.
Commands that talk to one named broker in an event loop have a client of their own, `holdfast.cli.client.connection`.

    client        the face: one method for each thing to ask
    nodes         who leads what, and the connections
    connection    one socket: frames out, frames in
    patience      trying again while the answer is "not now"
    topics, offsets, fetching, producing, transactions, groups
                  what the methods do, by noun
    codes, errors Kafka's error codes, by what to do about them
"""

from holdfast.client.client import Client
from holdfast.client.fetching import Fetched
from holdfast.client.groups import Committed
from holdfast.client.offsets import EARLIEST, LATEST, FoundOffset
from holdfast.client.topics import ClusterInfo, PartitionInfo, TopicInfo
from holdfast.client.transactions import Producer
from holdfast.types import TopicPartition

__all__ = [
    "EARLIEST",
    "LATEST",
    "Client",
    "ClusterInfo",
    "Committed",
    "Fetched",
    "FoundOffset",
    "PartitionInfo",
    "Producer",
    "TopicInfo",
    "TopicPartition",
]
