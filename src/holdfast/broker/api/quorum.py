"""Who keeps the cluster's metadata: DescribeQuorum, and the requests that would change who does. It is one: us."""

from __future__ import annotations

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from holdfast.protocol.generated.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from holdfast.protocol.generated.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from holdfast.protocol.generated.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

_TOPIC = "__cluster_metadata"  # As Kafka calls its log of metadata, and its tools ask for it.
_LISTENER = "PLAINTEXT"
_ONE_VOTER = "there is one voter, and it stays one: metadata is in the store"


async def describe(parts: BrokerContext, message: DescribeQuorumRequest, request: Request) -> DescribeQuorumResponse:
    pace, topics, found = request.pace, [], False
    async for topic in pace.through(message.topics):
        answers = []
        async for each in pace.through(topic.partitions):
            is_it = topic.topic_name == _TOPIC and each.partition_index == 0
            answers.append(_quorum(parts) if is_it else _unknown(each.partition_index))
            found = found or is_it
        topics.append(ResponseTopicData(topic_name=topic.topic_name, partitions=answers))
    return DescribeQuorumResponse(
        error_code=Code.NONE, error_message="", topics=topics, nodes=[_node(parts)] if found else []
    )


def _quorum(parts: BrokerContext) -> ResponsePartitionData:
    """Versions of the metadata are its offsets, and generations of this broker its epochs."""
    end, now_ms = parts.topics.metadata.version + 1, parts.clock.now_ms()
    voter = ReplicaState(
        replica_id=parts.settings.node_id,
        replica_directory_id=None,
        log_end_offset=end,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    return ResponsePartitionData(
        partition_index=0,
        error_code=Code.NONE,
        error_message="",
        leader_id=parts.settings.node_id,
        leader_epoch=parts.logs.identity.generation,
        high_watermark=end,
        current_voters=[voter],
        observers=[],
    )


def _unknown(number: int) -> ResponsePartitionData:
    return ResponsePartitionData(
        partition_index=number,
        error_code=Code.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=f"only {_TOPIC}-0 has a quorum",
        leader_id=0,
        leader_epoch=0,
        high_watermark=0,
        current_voters=[],
        observers=[],
    )


def _node(parts: BrokerContext) -> Node:
    listener = Listener(name=_LISTENER, host=parts.host, port=parts.port)
    return Node(node_id=parts.settings.node_id, listeners=[listener])


async def add_voter(parts: BrokerContext, message: AddRaftVoterRequest, request: Request) -> AddRaftVoterResponse:
    del parts, message, request
    return AddRaftVoterResponse(error_code=Code.UNSUPPORTED_VERSION, error_message=_ONE_VOTER)


async def remove_voter(
    parts: BrokerContext, message: RemoveRaftVoterRequest, request: Request
) -> RemoveRaftVoterResponse:
    del parts, message, request
    return RemoveRaftVoterResponse(error_code=Code.UNSUPPORTED_VERSION, error_message=_ONE_VOTER)


async def unregister(
    parts: BrokerContext, message: UnregisterBrokerRequest, request: Request
) -> UnregisterBrokerResponse:
    """No broker but this one is known, and this one is there."""
    del request
    if message.broker_id != parts.settings.node_id:
        reason = f"broker {message.broker_id} is not registered; this is broker {parts.settings.node_id}"
        return UnregisterBrokerResponse(error_code=Code.BROKER_ID_NOT_REGISTERED, error_message=reason)
    return UnregisterBrokerResponse(
        error_code=Code.INVALID_REQUEST, error_message="the broker that runs cannot be unregistered"
    )
