"""ShareGroupDescribe: share groups and their members, as operators see them."""

from __future__ import annotations

from holdfast.broker.api.operations import ON_GROUP, if_asked
from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.coordinator.share.group import ASSIGNOR, ShareGroup, ShareMember, by_topic
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

_Answer = response_class(Key.SHARE_GROUP_DESCRIBE)
_Group = _Answer.DescribedGroup
_Member = _Group.Member


async def handle(parts: BrokerContext, message: Message, request: Request) -> Message:
    groups = []
    async for group_id in request.pace.through(message.group_ids):
        try:
            group = _described(parts, parts.shares.find(group_id).rules)
        except HoldfastError as failure:
            group = _Group(
                error_code=group_code_of(failure),
                error_message=str(failure),
                group_id=group_id,
                group_state="",
                group_epoch=0,
                assignment_epoch=0,
                assignor_name="",
                members=[],
            )
        group.authorized_operations = if_asked(ON_GROUP, asked=bool(message.include_authorized_operations))
        groups.append(group)
    return _Answer(groups=groups)


def _described(parts: BrokerContext, found: ShareGroup) -> Message:
    return _Group(
        error_code=Code.NONE,
        group_id=found.id,
        group_state=found.state.value,
        group_epoch=found.epoch,
        assignment_epoch=found.epoch,
        assignor_name=ASSIGNOR,
        members=[_member(parts, each) for each in found.members.values()],
    )


def _member(parts: BrokerContext, member: ShareMember) -> Message:
    """What it reads is by topic; one that was deleted meanwhile has no name, and is left out."""
    row = _Member.Assignment.TopicPartitions
    found = ((parts.topics.find_id(topic_id), numbers) for topic_id, numbers in by_topic(member.assigned).items())
    rows = [
        row(topic_id=opened.topic.topic_id, topic_name=opened.topic.name, partitions=numbers)
        for opened, numbers in found
        if opened is not None
    ]
    return _Member(
        member_id=member.id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        assignment=_Member.Assignment(topic_partitions=rows),
    )
