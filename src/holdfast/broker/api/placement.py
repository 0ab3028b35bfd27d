"""ElectLeaders and partition reassignments. One broker leads everything, and nothing moves; many hand over."""

from __future__ import annotations

from holdfast.broker.api.named_topics import check_partition
from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import ALTER_CLUSTER
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.cluster.leads import wish
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopic,
    ReassignableTopicResponse,
)
from holdfast.protocol.generated.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)
from holdfast.protocol.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from holdfast.types import PartitionId


async def elect(context: BrokerContext, message: ElectLeadersRequest, request: Request) -> ElectLeadersResponse:
    pace = request.pace
    # Asked for all partitions, only those are listed that had need of an election: none.
    wanted = message.topic_partitions or []
    closed = Code.NONE if request.rights.may(ALTER_CLUSTER) else Code.CLUSTER_AUTHORIZATION_FAILED
    results = [await _elect_topic(context, each, pace, closed) async for each in pace.through(wanted)]
    return ElectLeadersResponse(error_code=closed, replica_election_results=results)


async def _elect_topic(
    context: BrokerContext, wanted: TopicPartitions, pace: Slices, closed: Code
) -> ReplicaElectionResult:
    results = []
    async for number in pace.through(wanted.partitions):
        if closed:
            results.append(PartitionResult(partition_id=number, error_code=closed, error_message=None))
            continue
        code = check_partition(context, wanted.topic, number) or Code.ELECTION_NOT_NEEDED
        known = code is Code.ELECTION_NOT_NEEDED
        reason = "the preferred leader leads it" if known else "there is no such partition"
        results.append(PartitionResult(partition_id=number, error_code=code, error_message=reason))
    return ReplicaElectionResult(topic=wanted.topic, partition_result=results)


async def reassign(
    context: BrokerContext, message: AlterPartitionReassignmentsRequest, request: Request
) -> AlterPartitionReassignmentsResponse:
    pace, topics = request.pace, []
    async for topic in pace.through(message.topics):
        answers = [_reassign(context, topic.name, each) async for each in pace.through(topic.partitions)]
        if context.topics.is_shared:
            answers = await _wish(context, topic, answers)
        topics.append(ReassignableTopicResponse(name=topic.name, partitions=answers))
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=message.allow_replication_factor_change,
        error_code=Code.NONE,
        error_message=None,
        responses=topics,
    )


async def _wish(
    context: BrokerContext, wanted: ReassignableTopic, checked: list[ReassignablePartitionResponse]
) -> list[ReassignablePartitionResponse]:
    """Where each partition has a leader of its own: the first replica is to lead it. Others hand it over soon."""
    lives, leads = context.topics.metadata.lives.by_broker, context.topics.metadata.leads
    wishes: dict[PartitionId, int] = {}
    answers = []
    for each, answer in zip(wanted.partitions, checked, strict=True):
        known = answer.error_code in (Code.NONE, Code.INVALID_REPLICA_ASSIGNMENT)
        if not known or not each.replicas or not all(broker in lives for broker in each.replicas):
            there = ", ".join(map(str, sorted(lives)))
            answers.append(answer.replace(error_message=f"brokers are {there}") if known else answer)
            continue
        home = PartitionId(context.topics.get(wanted.name).topic.topic_id, each.partition_index)
        if leads.of(home).life != lives[each.replicas[0]].life:
            wishes[home] = each.replicas[0]
        answers.append(answer.replace(error_code=Code.NONE, error_message=None))
    try:
        if wishes:
            await context.topics.commit(lambda _: wish(wishes))
    except HoldfastError as failure:
        code, reason = code_of(failure), str(failure)
        return [each if each.error_code else each.replace(error_code=code, error_message=reason) for each in answers]
    return answers


def _reassign(context: BrokerContext, name: str, wanted: ReassignablePartition) -> ReassignablePartitionResponse:
    node = context.settings.node_id
    code, reason = check_partition(context, name, wanted.partition_index), None
    if code:
        reason = "there is no such partition"
    elif wanted.replicas is None:
        code, reason = Code.NO_REASSIGNMENT_IN_PROGRESS, "nothing moves, so nothing can be stopped"
    elif wanted.replicas != [node]:
        code, reason = Code.INVALID_REPLICA_ASSIGNMENT, f"there is one broker, {node}"
    return ReassignablePartitionResponse(partition_index=wanted.partition_index, error_code=code, error_message=reason)


async def list_reassignments(
    context: BrokerContext, message: ListPartitionReassignmentsRequest, request: Request
) -> ListPartitionReassignmentsResponse:
    del context, message, request
    return ListPartitionReassignmentsResponse(error_code=Code.NONE, error_message=None, topics=[])
