"""What the group commands do: answers as plain facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from holdfast.cli.consume.start import ConsumeStart, find_start
from holdfast.client import LATEST, Client, Committed, GroupInfo, TopicPartition
from holdfast.errors import Rejected
from holdfast.units import counted

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


def find_seek(
    client: Client, group: str, start: ConsumeStart, topics: Sequence[str], partitions: Sequence[int]
) -> list[Facts]:
    """Where a group would go on: in these topics, or in all that it has read. Changes nothing."""
    committed = client.fetch_offsets(group, stable=False)
    named = topics or sorted({each.topic for each in committed})
    if not named:
        raise Rejected(f"group {group} has committed nothing: say with --topic where it is to begin")
    found = []
    for topic in named:
        there = client.topic(topic).numbers
        if missing := set(partitions) - set(there):
            raise Rejected(f"topic {topic} has no partition {min(missing)}: it has {len(there)}")
        for number, offset in sorted(find_start(client, topic, partitions or there, start, committed=False).items()):
            before = committed.get(TopicPartition(topic, number))
            facts = {"topic": topic, "partition": number, "committed": before.offset if before else None}
            found.append(facts | {"new": offset})
    return found


def seek(client: Client, group: str, found: Sequence[Facts]) -> None:
    """Let a group without members go on there."""
    client.commit_offsets(group, {(each["topic"], each["partition"]): (each["new"], "") for each in found})


def check_empty(client: Client, group: str) -> None:
    """Members would go on where they are, and commit over it."""
    names = {each.name for each in client.list_groups()}
    for each in client.describe_groups([group]) if group in names else ():
        if each.members:
            raise Rejected(f"group {group} has {counted(len(each.members), 'member')}: stop every one first")
