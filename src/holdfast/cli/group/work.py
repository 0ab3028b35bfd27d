"""What the group commands do: answers as plain facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from holdfast.cli.client.connection import Client
from holdfast.cli.client.errors import check
from holdfast.cli.client.topics import LATEST, find_offsets, find_topics
from holdfast.cli.group.assignment import partitions_of
from holdfast.cli.group.consumer import describe_consumer_groups
from holdfast.errors import Rejected
from holdfast.protocol.api import Key
from holdfast.protocol.messages import Message, request_class

Facts: TypeAlias = dict[str, Any]

_List = request_class(Key.LIST_GROUPS)
_Describe = request_class(Key.DESCRIBE_GROUPS)
_Delete = request_class(Key.DELETE_GROUPS)
_Offsets = request_class(Key.OFFSET_FETCH)
_NOT_FOUND = 69
_DEAD = "Dead"  # How older versions describe a group that is not there.


async def list_groups(client: Client) -> list[Facts]:
    """All groups."""
    answer = await client.ask(Key.LIST_GROUPS, _List(states_filter=[], types_filter=[]))
    check("groups", answer.error_code)
    return [
        {"group": each.group_id, "state": each.group_state, "protocol_type": each.protocol_type}
        for each in sorted(answer.groups, key=lambda each: str(each.group_id))
    ]


async def describe_groups(client: Client, groups: Sequence[str]) -> list[Facts]:
    """Groups with their members."""
    answer = await client.ask(Key.DESCRIBE_GROUPS, _Describe(groups=list(groups), include_authorized_operations=False))
    absent = [each.group_id for each in answer.groups if _is_absent(each)]
    consumer = await describe_consumer_groups(client, absent)
    return [consumer.get(each.group_id) or _described(each) for each in answer.groups]


def _is_absent(group: Message) -> bool:
    """No classic group has this name; one whose coordinator assigns may have."""
    return group.error_code == _NOT_FOUND or (not group.error_code and group.group_state == _DEAD)


def _described(group: Message) -> Facts:
    check(f"group {group.group_id}", group.error_code, getattr(group, "error_message", None))
    if group.group_state == _DEAD:
        raise Rejected(f"group {group.group_id}: there is no such group")
    members = [
        {
            "member": each.member_id,
            "instance": each.group_instance_id,
            "client": each.client_id,
            "host": each.client_host,
            "partitions": partitions_of(each.member_assignment) if group.protocol_type == "consumer" else None,
        }
        for each in group.members
    ]
    return {
        "group": group.group_id,
        "state": group.group_state,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol_data,
        "members": members,
    }


async def find_lags(client: Client, group: str) -> list[Facts]:
    """What a group has committed, and how much there is behind it. The end is None where the topic is gone."""
    wanted = _Offsets.OffsetFetchRequestGroup(group_id=group, member_id=None, member_epoch=-1, topics=None)
    answer = await client.ask(Key.OFFSET_FETCH, _Offsets(group_id=group, groups=[wanted], require_stable=False))
    [found] = answer.groups or [answer]
    check(f"group {group}", found.error_code)
    committed = {(topic.name, each.partition_index): each for topic in found.topics for each in topic.partitions}
    if not committed:
        await describe_groups(client, [group])  # Says so when there is no such group.
    ends = await _ends(client, {topic for topic, _ in committed})
    return [_lag(*place, each, ends.get(place)) for place, each in sorted(committed.items())]


async def _ends(client: Client, topics: set[str]) -> dict[tuple[str, int], int]:
    there = {each.name: each.numbers for each in await find_topics(client) if each.name in topics}
    return await find_offsets(client, there, LATEST) if there else {}


def _lag(topic: str, partition: int, committed: Message, end: int | None) -> Facts:
    check(f"{topic}-{partition}", committed.error_code)
    offset = None if committed.committed_offset < 0 else committed.committed_offset
    lag = None if end is None or offset is None else max(end - offset, 0)
    facts = {"topic": topic, "partition": partition, "committed": offset, "end": end, "lag": lag}
    return facts | {"metadata": committed.metadata or None}


async def delete_group(client: Client, group: str) -> None:
    """Delete a group."""
    [gone] = (await client.ask(Key.DELETE_GROUPS, _Delete(groups_names=[group]))).results
    check(f"group {group}", gone.error_code)
