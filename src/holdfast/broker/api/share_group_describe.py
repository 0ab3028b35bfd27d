"""ShareGroupDescribe: share groups and their members, as operators see them."""

from __future__ import annotations

from holdfast.broker.api.operations import ON_GROUP, if_asked
from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
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


async def handle(
    context: BrokerContext, message: ShareGroupDescribeRequest, request: Request
) -> ShareGroupDescribeResponse:
    groups = []
    async for group_id in request.pace.through(message.group_ids):
        try:
            group = _described(context, context.shares.find(group_id).rules)
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
        operations = if_asked(ON_GROUP, asked=bool(message.include_authorized_operations))
        groups.append(group.replace(authorized_operations=operations))
    return ShareGroupDescribeResponse(groups=groups)


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
