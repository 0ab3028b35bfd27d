"""ListGroups: all groups, or those in some states and of some types."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TypeVar

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_CLUSTER, DESCRIBE_GROUP
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.broker.shared_topics import SharedTopics
from holdfast.broker.topics import OFFSETS_TOPIC
from holdfast.coordinator.group.answers import GroupState, GroupType
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

Word = TypeVar("Word", bound=Enum)


async def handle(context: BrokerContext, message: ListGroupsRequest, request: Request) -> ListGroupsResponse:
    states = await _known(GroupState, message.states_filter, request.pace)
    types = await _known(GroupType, message.types_filter, request.pace)
    if (message.states_filter and not states) or (message.types_filter and not types):
        return ListGroupsResponse(error_code=Code.NONE, groups=[])  # Nothing is in a state that nobody knows.
    try:
        found = context.groups.list_groups(states, types)
        shares = (each.rules.listing() for each in context.shares)
        found += [line for line in shares if (not states or line.state in states) and (not types or line.type in types)]
    except HoldfastError as failure:
        return ListGroupsResponse(error_code=group_code_of(failure), groups=[])
    rights = request.rights
    sees_all = rights.sees(DESCRIBE_CLUSTER)
    groups = [
        ListedGroup(
            group_id=each.group_id,
            protocol_type=each.protocol_type,
            group_state=each.state.value,
            group_type=each.type.value,
        )
        async for each in request.pace.through(found)
        if sees_all or rights.sees(DESCRIBE_GROUP, each.group_id)
    ]
    return ListGroupsResponse(error_code=_lacks(context), groups=groups)


def _lacks(context: BrokerContext) -> Code:
    """Why those that are known are not all, if so."""
    quarantined = context.groups.quarantined() or context.shares.quarantined()
    if quarantined is not None:
        return group_code_of(quarantined)
    topics = context.topics
    if isinstance(topics, SharedTopics):
        numbers = range(len(topics.get(OFFSETS_TOPIC).logs))
        if any(_is_on_its_way(context, topics, number) for number in numbers):
            return Code.COORDINATOR_LOAD_IN_PROGRESS
    return Code.NONE


def _is_on_its_way(context: BrokerContext, topics: SharedTopics, number: int) -> bool:
    """Whether nobody has the groups of an internal partition: its broker was lost, or we have not read them yet."""
    leader = topics.leader_of(OFFSETS_TOPIC, number)
    is_read = context.groups.is_ready(number) and context.shares.is_ready(number)
    return leader is None or (leader.life == topics.life and not is_read)


async def _known(words: type[Word], wanted: Iterable[str] | None, pace: Slices) -> list[Word]:
    """Those that there are; clients write them with any capitals."""
    asked = {each.lower() async for each in pace.through(wanted or ())}
    return [each for each in words if str(each.value).lower() in asked]
