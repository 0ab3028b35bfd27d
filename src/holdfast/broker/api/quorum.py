"""Who keeps the cluster's metadata: DescribeQuorum, and the requests that would change who does. It is one: us."""

from __future__ import annotations

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

_Described = response_class(Key.DESCRIBE_QUORUM)
_Topic = _Described.TopicData
_Added = response_class(Key.ADD_RAFT_VOTER)
_Removed = response_class(Key.REMOVE_RAFT_VOTER)
_Unregistered = response_class(Key.UNREGISTER_BROKER)

_TOPIC = "__cluster_metadata"  # As Kafka calls its log of metadata, and its tools ask for it.
_LISTENER = "PLAINTEXT"
_ONE_VOTER = "there is one voter, and it stays one: metadata is in the store"


async def describe(parts: BrokerContext, message: Message, request: Request) -> Message:
    pace, topics, found = request.pace, [], False
    async for topic in pace.through(message.topics):
        answers = []
        async for each in pace.through(topic.partitions):
            is_it = topic.topic_name == _TOPIC and each.partition_index == 0
            answers.append(_quorum(parts) if is_it else _unknown(each.partition_index))
            found = found or is_it
        topics.append(_Topic(topic_name=topic.topic_name, partitions=answers))
    return _Described(error_code=Code.NONE, error_message="", topics=topics, nodes=[_node(parts)] if found else [])


def _quorum(parts: BrokerContext) -> Message:
    """Versions of the metadata are its offsets, and generations of this broker its epochs."""
    end, now_ms = parts.topics.metadata.version + 1, parts.clock.now_ms()
    voter = _Topic.PartitionData.ReplicaState(
        replica_id=parts.settings.node_id,
        replica_directory_id=None,
        log_end_offset=end,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    return _Topic.PartitionData(
        partition_index=0,
        error_code=Code.NONE,
        error_message="",
        leader_id=parts.settings.node_id,
        leader_epoch=parts.logs.identity.generation,
        high_watermark=end,
        current_voters=[voter],
        observers=[],
    )


def _unknown(number: int) -> Message:
    return _Topic.PartitionData(
        partition_index=number,
        error_code=Code.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=f"only {_TOPIC}-0 has a quorum",
        leader_id=0,
        leader_epoch=0,
        high_watermark=0,
        current_voters=[],
        observers=[],
    )


def _node(parts: BrokerContext) -> Message:
    listener = _Described.Node.Listener(name=_LISTENER, host=parts.host, port=parts.port)
    return _Described.Node(node_id=parts.settings.node_id, listeners=[listener])


async def add_voter(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _Added(error_code=Code.UNSUPPORTED_VERSION, error_message=_ONE_VOTER)


async def remove_voter(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _Removed(error_code=Code.UNSUPPORTED_VERSION, error_message=_ONE_VOTER)


async def unregister(parts: BrokerContext, message: Message, request: Request) -> Message:
    """No broker but this one is known, and this one is there."""
    del request
    if message.broker_id != parts.settings.node_id:
        reason = f"broker {message.broker_id} is not registered; this is broker {parts.settings.node_id}"
        return _Unregistered(error_code=Code.BROKER_ID_NOT_REGISTERED, error_message=reason)
    return _Unregistered(error_code=Code.INVALID_REQUEST, error_message="the broker that runs cannot be unregistered")
