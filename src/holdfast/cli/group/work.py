"""What the group commands do: answers as plain facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from holdfast.client import LATEST, Client, Committed, GroupInfo, TopicPartition

Facts: TypeAlias = dict[str, Any]


def list_groups(client: Client) -> list[Facts]:
    """All groups."""
    return [
        {"group": each.name, "state": each.state, "protocol_type": each.protocol_type}
        for each in sorted(client.list_groups())
    ]


def describe_groups(client: Client, groups: Sequence[str]) -> list[Facts]:
    """Groups with their members."""
    return [_described(each) for each in client.describe_groups(groups)]


def _described(group: GroupInfo) -> Facts:
    members = [
        {
            "member": each.id,
            "instance": each.instance,
            "client": each.client,
            "host": each.host,
            "partitions": each.partitions,
        }
        for each in group.members
    ]
    return {
        "group": group.name,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "members": members,
    }


def find_lags(client: Client, group: str) -> list[Facts]:
    """What a group has committed, and how much there is behind it. The end is None where the topic is gone."""
    committed = client.fetch_offsets(group, stable=False)
    if not committed:
        client.describe_groups([group])  # Says so when there is no such group.
    ends = _ends(client, {each.topic for each in committed})
    return [_lag(where, each, ends.get(where)) for where, each in sorted(committed.items())]


def _ends(client: Client, topics: set[str]) -> dict[TopicPartition, int]:
    there = [each for each in client.metadata().topics.values() if each.name in topics]
    found = client.list_offsets({(topic.name, number): LATEST for topic in there for number in topic.numbers})
    return {where: each.offset for where, each in found.items()}


def _lag(where: TopicPartition, committed: Committed, end: int | None) -> Facts:
    lag = None if end is None else max(end - committed.offset, 0)
    facts = {"topic": where.topic, "partition": where.partition, "committed": committed.offset, "end": end, "lag": lag}
    return facts | {"metadata": committed.metadata or None}
