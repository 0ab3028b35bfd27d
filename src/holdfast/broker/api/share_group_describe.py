"""ShareGroupDescribe: share groups and their members, as operators see them."""

from __future__ import annotations

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, NotAllowed
from holdfast.broker.net.request import Request
from holdfast.coordinator.share.group import ASSIGNOR, ShareGroup, ShareMember, by_topic
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from holdfast.security.rules import ResourceType


async def handle(
    context: BrokerContext, message: ShareGroupDescribeRequest, request: Request
) -> ShareGroupDescribeResponse:
    groups = []
    async for group_id in request.pace.through(message.group_ids):
        try:
            request.rights.need(DESCRIBE_GROUP, group_id)
            found = context.shares.find(group_id).rules
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
    return ShareGroupDescribeResponse(groups=groups)


def _check_topics(found: ShareGroup, rights: SenderRights) -> None:
    """A group is shown with what its members read: to those who may see all of it. Raises NotAllowed."""
    for name in {name for each in found.members.values() for name in each.topics}:
        rights.need(DESCRIBE_TOPIC, name)


def _described(context: BrokerContext, found: ShareGroup) -> DescribedGroup:
    return DescribedGroup(
        error_code=Code.NONE,
        group_id=found.id,
        group_state=found.state.value,
        group_epoch=found.epoch,
        assignment_epoch=found.epoch,
        assignor_name=ASSIGNOR,
        members=[_member(context, each) for each in found.members.values()],
    )


def _member(context: BrokerContext, member: ShareMember) -> Member:
    """What it reads is by topic; one that was deleted meanwhile has no name, and is left out."""
    found = ((context.topics.find_id(topic_id), numbers) for topic_id, numbers in by_topic(member.assigned).items())
    rows = [
        TopicPartitions(topic_id=opened.topic.topic_id, topic_name=opened.topic.name, partitions=numbers)
        for opened, numbers in found
        if opened is not None
    ]
    return Member(
        member_id=member.id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        assignment=Assignment(topic_partitions=rows),
    )
