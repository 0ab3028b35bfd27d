"""What the topic commands do: answers as plain facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from holdfast.client import EARLIEST, LATEST, Client, TopicPartition
from holdfast.errors import Rejected

Facts: TypeAlias = dict[str, Any]


def list_topics(client: Client, *, internal: bool) -> list[Facts]:
    """All topics; internal ones only when asked for."""
    return [
        {"topic": name, "partitions": len(each.partitions), "topic_id": _text(each.id)}
        for name, each in sorted(client.metadata().topics.items())
        if internal or not each.is_internal
    ]


def describe_topics(client: Client, names: Sequence[str]) -> list[Facts]:
    """Topics with their partitions and the configs that are set."""
    topics = [each for _, each in sorted(client.metadata(names).topics.items())]
    pairs = [TopicPartition(topic.name, number) for topic in topics for number in topic.numbers]
    starts = client.list_offsets(dict.fromkeys(pairs, EARLIEST))
    ends = client.list_offsets(dict.fromkeys(pairs, LATEST))
    configs = client.configs(each.name for each in topics)
    described = []
    for topic in topics:
        partitions = []
        for each in topic.partitions:
            where = TopicPartition(topic.name, each.number)
            start, end = starts[where].offset, ends[where].offset
            facts = {"partition": each.number, "start": start, "end": end, "offsets": end - start}
            partitions.append(facts | {"leader": each.leader, "leader_epoch": each.leader_epoch})
        own = {each.name: each.value for each in configs[topic.name] if each.is_own}
        described.append({"topic": topic.name, "topic_id": _text(topic.id), "configs": own, "partitions": partitions})
    return described


def create_topic(client: Client, name: str, partitions: int | None, configs: Sequence[tuple[str, str]]) -> Facts:
    """Make a topic."""
    made = client.create_topics({name: -1 if partitions is None else partitions}, configs)[name]
    return {"topic": name, "partitions": made.partition_count, "topic_id": _text(made.id)}


def delete_topic(client: Client, name: str) -> Facts:
    """Delete a topic."""
    return {"topic": name, "topic_id": _text(client.delete_topic(name))}


def add_partitions(client: Client, name: str, count: int) -> None:
    """Give a topic more partitions."""
    if len(client.topic(name).partitions) == count:  # Fine for programs that ask twice, not what a person meant.
        raise Rejected(f"{count} partitions: {name} has {count} already")
    client.create_partitions(name, count)


def show_configs(client: Client, name: str, *, everything: bool) -> list[Facts]:
    """The configs of a topic; those with their default only when asked for."""
    return [
        {"config": each.name, "value": each.value, "own": each.is_own, "meaning": each.meaning}
        for each in client.configs([name])[name]
        if everything or each.is_own
    ]


def _text(topic_id: object) -> str | None:
    return None if topic_id is None else str(topic_id)
