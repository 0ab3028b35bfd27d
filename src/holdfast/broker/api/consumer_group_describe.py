"""ConsumerGroupDescribe: consumer groups and their members, as operators see them."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, NotAllowed
from holdfast.broker.net.request import Request
from holdfast.coordinator.group.consumer.member import Partitions
from holdfast.coordinator.group.consumer.requests import ConsumerGroupDescription, ConsumerMemberDescription
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from holdfast.security.rules import ResourceType

_CLASSIC, _CONSUMER = 0, 1


async def handle(
    context: BrokerContext, message: ConsumerGroupDescribeRequest, request: Request
) -> ConsumerGroupDescribeResponse:
    groups = []
    async for group_id in request.pace.through(message.group_ids):
        try:
            request.rights.need(DESCRIBE_GROUP, group_id)
            found = await context.groups.describe_consumer(group_id)
            _check_topics(found, request.rights)
            group = _described(context, found)
        except HoldfastError as failure:
            group = DescribedGroup(
                error_code=group_code_of(failure),
                error_message=str(failure),
                group_id=group_id,
                group_state="",
                group_epoch=0,
                assignment_epoch=0,
                assignor_name="",
                members=[],
            )
            if isinstance(failure, NotAllowed):
                groups.append(group)
                continue
        asked = bool(message.include_authorized_operations)
        operations = request.rights.operations(ResourceType.GROUP, group_id, asked=asked)
        groups.append(group.replace(authorized_operations=operations))
    return ConsumerGroupDescribeResponse(groups=groups)


def _check_topics(found: ConsumerGroupDescription, rights: SenderRights) -> None:
    """A group is shown with what its members read: to those who may see all of it. Raises NotAllowed."""
    for name in {name for each in found.members for name in each.member.topics}:
        rights.need(DESCRIBE_TOPIC, name)


def _described(context: BrokerContext, found: ConsumerGroupDescription) -> DescribedGroup:
    return DescribedGroup(
        error_code=Code.NONE,
        group_id=found.group_id,
        group_state=found.state.value,
        group_epoch=found.epoch,
        assignment_epoch=found.assignment_epoch,
        assignor_name=found.assignor,
        members=[_member(context, each) for each in found.members],
    )


def _member(context: BrokerContext, found: ConsumerMemberDescription) -> Member:
    member = found.member
    return Member(
        member_id=member.id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex or None,
        assignment=_assignment(context, member.assigned),
        target_assignment=_assignment(context, found.target),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(context: BrokerContext, partitions: Partitions) -> Assignment:
    """By topic; one that was deleted meanwhile has no name, and is left out."""
    numbers: dict[str, list[int]] = {}
    for topic_id, number in sorted(partitions):
        opened = context.topics.find_id(topic_id)
        if opened is not None:
            numbers.setdefault(opened.topic.name, []).append(number)
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=context.topics.get(name).topic.topic_id, topic_name=name, partitions=found)
            for name, found in numbers.items()
        ]
    )
