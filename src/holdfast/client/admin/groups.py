"""Groups: which there are, who is in them and reads what, and deleting them.

What a member of a classic group was given is bytes of its own kind; those of consumers have this form:
    | version i16 | topic count i32 | topic string | partition count i32 | partition i32 … | … | user data
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.client.codes import check, failure_of
from holdfast.client.connection import Connection
from holdfast.client.errors import TooOld
from holdfast.client.nodes import GROUP, Nodes
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.consumer_group_describe import ConsumerGroupDescribeRequest
from holdfast.protocol.generated.delete_groups import DeleteGroupsRequest
from holdfast.protocol.generated.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsRequest
from holdfast.protocol.generated.list_groups import ListGroupsRequest

_DEAD = "Dead"  # How older versions describe a group that is not there.
_CONSUMER = "consumer"
_OFFSETS_TOPIC = "__consumer_offsets"
_COUNT = struct.Struct(">i")
_SIZE = struct.Struct(">h")


class ListedGroup(NamedTuple):
    """A group that a broker coordinates."""

    name: str
    protocol_type: str
    state: str


class GroupMember(NamedTuple):
    """One member, and its partitions by topic; None where they are bytes of another form."""

    id: str
    instance: str | None
    client: str
    host: str
    partitions: dict[str, list[int]] | None


class GroupInfo(NamedTuple):
    """A group with its members."""

    name: str
    state: str
    protocol_type: str
    protocol: str  # The assignor.
    members: tuple[GroupMember, ...]


def list_groups(nodes: Nodes) -> list[ListedGroup]:
    """The groups of all brokers."""
    return nodes.each(groups_of, _OFFSETS_TOPIC)


def groups_of(connection: Connection) -> list[ListedGroup]:
    """The groups of one broker."""
    answer = connection.ask(Key.LIST_GROUPS, ListGroupsRequest(states_filter=[], types_filter=[]))
    check(f"the groups of the broker at {connection.address}", answer.error_code)
    return [ListedGroup(each.group_id, each.protocol_type, each.group_state) for each in answer.groups]


def describe_groups(nodes: Nodes, names: Iterable[str]) -> list[GroupInfo]:
    """Groups with their members, in the order asked for. One that is not there is an error."""
    return [_describe(nodes.coordinator(GROUP, name), name) for name in names]


def _describe(connection: Connection, name: str) -> GroupInfo:
    request = DescribeGroupsRequest(groups=[name], include_authorized_operations=False)
    [found] = connection.ask(Key.DESCRIBE_GROUPS, request).groups
    if found.error_code == Code.GROUP_ID_NOT_FOUND or (not found.error_code and found.group_state == _DEAD):
        return _describe_consumer_group(connection, name) or _absent(found)
    check(f"group {name}", found.error_code, found.error_message)
    return GroupInfo(
        name,
        found.group_state,
        found.protocol_type,
        found.protocol_data,
        tuple(_member(each, found.protocol_type) for each in found.members),
    )


def _absent(found: DescribedGroup) -> GroupInfo:
    message = found.error_message or "there is no such group"
    raise failure_of(f"group {found.group_id}", Code.GROUP_ID_NOT_FOUND, message)


def _member(found: DescribedGroupMember, protocol_type: str) -> GroupMember:
    given = partitions_of(found.member_assignment) if protocol_type == _CONSUMER else None
    instance = found.group_instance_id
    return GroupMember(found.member_id, instance, found.client_id, found.client_host, given)


def _describe_consumer_group(connection: Connection, name: str) -> GroupInfo | None:
    """A group whose coordinator assigns, if there is one. A broker that does not know the call has none."""
    key = Key.CONSUMER_GROUP_DESCRIBE
    try:
        asked = ConsumerGroupDescribeRequest(group_ids=[name], include_authorized_operations=False)
        [found] = connection.ask(key, asked).groups
    except TooOld:
        return None
    if found.error_code == Code.GROUP_ID_NOT_FOUND:
        return None
    check(f"group {name}", found.error_code, found.error_message)
    members = [
        GroupMember(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            {topic.topic_name: list(topic.partitions) for topic in each.assignment.topic_partitions},
        )
        for each in found.members
    ]
    return GroupInfo(name, found.group_state, _CONSUMER, found.assignor_name, tuple(members))


def delete_group(nodes: Nodes, name: str) -> None:
    """Delete a group without members, with the offsets it has committed."""
    request = DeleteGroupsRequest(groups_names=[name])
    [gone] = nodes.coordinator(GROUP, name).ask(Key.DELETE_GROUPS, request).results
    check(f"group {name}", gone.error_code)


def partitions_of(assignment: bytes | None) -> dict[str, list[int]] | None:
    """The partitions by topic that a member was given; None where the bytes have another form."""
    if not assignment:
        return {}
    try:
        return _read_assignment(assignment)
    except (struct.error, UnicodeDecodeError):
        return None


def _read_assignment(data: bytes) -> dict[str, list[int]]:
    found = {}
    position = _SIZE.size  # The version: all have this form.
    (topics,) = _COUNT.unpack_from(data, position)
    position += _COUNT.size
    for _ in range(topics):
        (size,) = _SIZE.unpack_from(data, position)
        position += _SIZE.size
        name = data[position : position + size].decode()
        position += size
        (count,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        found[name] = list(struct.unpack_from(f">{max(count, 0)}i", data, position))
        position += 4 * count
    return found
