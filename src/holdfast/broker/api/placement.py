"""ElectLeaders and partition reassignments, as one broker answers them: it leads everything, and nothing ever moves."""

from __future__ import annotations

from holdfast.broker.api.named_topics import check_partition
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Pace
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

_Elected = response_class(Key.ELECT_LEADERS)
_ElectedTopic = _Elected.ReplicaElectionResult
_Reassigned = response_class(Key.ALTER_PARTITION_REASSIGNMENTS)
_ReassignedTopic = _Reassigned.ReassignableTopicResponse
_Listed = response_class(Key.LIST_PARTITION_REASSIGNMENTS)


async def elect(parts: BrokerContext, message: Message, request: Request) -> Message:
    pace = request.pace
    # Asked for all partitions, only those are listed that had need of an election: none.
    wanted = message.topic_partitions or []
    results = [await _elect_topic(parts, each, pace) async for each in pace.through(wanted)]
    return _Elected(error_code=Code.NONE, replica_election_results=results)


async def _elect_topic(parts: BrokerContext, wanted: Message, pace: Pace) -> Message:
    results = []
    async for number in pace.through(wanted.partitions):
        code = check_partition(parts, wanted.topic, number) or Code.ELECTION_NOT_NEEDED
        known = code is Code.ELECTION_NOT_NEEDED
        reason = "the preferred leader leads it" if known else "there is no such partition"
        results.append(_ElectedTopic.PartitionResult(partition_id=number, error_code=code, error_message=reason))
    return _ElectedTopic(topic=wanted.topic, partition_result=results)


async def reassign(parts: BrokerContext, message: Message, request: Request) -> Message:
    pace, topics = request.pace, []
    async for topic in pace.through(message.topics):
        answers = [_reassign(parts, topic.name, each) async for each in pace.through(topic.partitions)]
        topics.append(_ReassignedTopic(name=topic.name, partitions=answers))
    return _Reassigned(
        allow_replication_factor_change=message.allow_replication_factor_change,
        error_code=Code.NONE,
        error_message=None,
        responses=topics,
    )


def _reassign(parts: BrokerContext, name: str, wanted: Message) -> Message:
    node = parts.settings.node_id
    code, reason = check_partition(parts, name, wanted.partition_index), None
    if code:
        reason = "there is no such partition"
    elif wanted.replicas is None:
        code, reason = Code.NO_REASSIGNMENT_IN_PROGRESS, "nothing moves, so nothing can be stopped"
    elif wanted.replicas != [node]:
        code, reason = Code.INVALID_REPLICA_ASSIGNMENT, f"there is one broker, {node}"
    return _ReassignedTopic.ReassignablePartitionResponse(
        partition_index=wanted.partition_index, error_code=code, error_message=reason
    )


async def list_reassignments(parts: BrokerContext, message: Message, request: Request) -> Message:
    del parts, message, request
    return _Listed(error_code=Code.NONE, error_message=None, topics=[])
