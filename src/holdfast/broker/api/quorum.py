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
_ONE_VOTER = "there is one voter, and it stays one: metadata is in the store"


async def describe(context: BrokerContext, message: DescribeQuorumRequest, request: Request) -> DescribeQuorumResponse:
    pace, topics, found = request.pace, [], False
    async for topic in pace.through(message.topics):
        answers = []
        async for each in pace.through(topic.partitions):
            is_it = topic.topic_name == _TOPIC and each.partition_index == 0
            answers.append(_quorum(context) if is_it else _unknown(each.partition_index))
            found = found or is_it
        topics.append(ResponseTopicData(topic_name=topic.topic_name, partitions=answers))
    return DescribeQuorumResponse(
        error_code=Code.NONE, error_message="", topics=topics, nodes=[_node(context, request)] if found else []
    )


def _quorum(context: BrokerContext) -> ResponsePartitionData:
    """Versions of the metadata are its offsets, and generations of this broker its epochs."""
    end, now_ms = context.topics.metadata.version + 1, context.clock.now_ms()
    voter = ReplicaState(
        replica_id=context.settings.node_id,
        replica_directory_id=None,
        log_end_offset=end,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    return ResponsePartitionData(
        partition_index=0,
        error_code=Code.NONE,
        error_message="",
        leader_id=context.settings.node_id,
        leader_epoch=context.logs.identity.generation,
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


def _node(context: BrokerContext, request: Request) -> Node:
    listener = Listener(name=request.session.listener, host=request.told.host, port=request.told.port)
    return Node(node_id=context.settings.node_id, listeners=[listener])


async def add_voter(context: BrokerContext, message: AddRaftVoterRequest, request: Request) -> AddRaftVoterResponse:
    del context, message, request
    return AddRaftVoterResponse(error_code=Code.UNSUPPORTED_VERSION, error_message=_ONE_VOTER)


async def remove_voter(
    context: BrokerContext, message: RemoveRaftVoterRequest, request: Request
) -> RemoveRaftVoterResponse:
    del context, message, request
    return RemoveRaftVoterResponse(error_code=Code.UNSUPPORTED_VERSION, error_message=_ONE_VOTER)


async def unregister(
    context: BrokerContext, message: UnregisterBrokerRequest, request: Request
) -> UnregisterBrokerResponse:
    """No broker but this one is known, and this one is there."""
    del request
    if message.broker_id != context.settings.node_id:
        reason = f"broker {message.broker_id} is not registered; this is broker {context.settings.node_id}"
        return UnregisterBrokerResponse(error_code=Code.BROKER_ID_NOT_REGISTERED, error_message=reason)
    return UnregisterBrokerResponse(
        error_code=Code.INVALID_REQUEST, error_message="the broker that runs cannot be unregistered"
    )
