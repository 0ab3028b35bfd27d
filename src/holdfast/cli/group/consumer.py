"""Groups whose coordinator assigns, for the group commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from holdfast.cli.client.connection import Client
from holdfast.cli.client.errors import check
from holdfast.protocol.api import Key
from holdfast.protocol.errors import UnsupportedVersion
from holdfast.protocol.messages import Message, request_class

Facts: TypeAlias = dict[str, Any]

_Describe = request_class(Key.CONSUMER_GROUP_DESCRIBE)
_NOT_FOUND = 69  # There is no such group, or it is a classic one.


async def describe_consumer_groups(client: Client, groups: Sequence[str]) -> dict[str, Facts]:
    """Those of the groups that are consumer groups, by name. A broker that does not know the call has none."""
    if not groups:
        return {}
    asked = _Describe(group_ids=list(groups), include_authorized_operations=False)
    try:
        answer = await client.ask(Key.CONSUMER_GROUP_DESCRIBE, asked)
    except UnsupportedVersion:
        return {}
    found = [each for each in answer.groups if each.error_code != _NOT_FOUND]
    return {each.group_id: _described(each) for each in found}


def _described(group: Message) -> Facts:
    check(f"group {group.group_id}", group.error_code, group.error_message)
    members = [
        {
            "member": each.member_id,
            "instance": each.instance_id,
            "client": each.client_id,
            "host": each.client_host,
            "partitions": {topic.topic_name: topic.partitions for topic in each.assignment.topic_partitions},
        }
        for each in group.members
    ]
    return {
        "group": group.group_id,
        "state": group.group_state,
        "protocol_type": "consumer",
        "protocol": group.assignor_name,
        "members": members,
    }
