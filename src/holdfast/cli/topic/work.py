"""What the topic commands do: one request each, answers as plain facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from holdfast.cli.client.connection import Client
from holdfast.cli.client.errors import check
from holdfast.cli.client.topics import EARLIEST, LATEST, TOPIC, find_configs, find_offsets, find_topics
from holdfast.protocol.api import Key
from holdfast.protocol.messages import request_class

Facts: TypeAlias = dict[str, Any]

_Create = request_class(Key.CREATE_TOPICS)
_Delete = request_class(Key.DELETE_TOPICS)
_AddPartitions = request_class(Key.CREATE_PARTITIONS)
_Alter = request_class(Key.INCREMENTAL_ALTER_CONFIGS)
_TIMEOUT_MS = 30_000
_SET, _DELETE = 0, 1


async def list_topics(client: Client, *, internal: bool) -> list[Facts]:
    """All topics; internal ones only when asked for."""
    return [
        {"topic": each.name, "partitions": len(each.partitions), "topic_id": _text(each.topic_id)}
        for each in await find_topics(client)
        if internal or not each.internal
    ]


async def describe_topics(client: Client, names: Sequence[str]) -> list[Facts]:
    """Topics with their partitions and the configs that are set."""
    topics = await find_topics(client, names)
    wanted = {each.name: each.numbers for each in topics}
    starts = await find_offsets(client, wanted, EARLIEST)
    ends = await find_offsets(client, wanted, LATEST)
    configs = await find_configs(client, wanted)
    described = []
    for topic in topics:
        partitions = [
            {
                "partition": each.number,
                "start": starts[topic.name, each.number],
                "end": ends[topic.name, each.number],
                "offsets": ends[topic.name, each.number] - starts[topic.name, each.number],
                "leader": each.leader,
                "leader_epoch": each.leader_epoch,
            }
            for each in topic.partitions
        ]
        own = {each.name: each.value for each in configs[topic.name] if each.own}
        described.append(
            {"topic": topic.name, "topic_id": _text(topic.topic_id), "configs": own, "partitions": partitions}
        )
    return described


async def create_topic(client: Client, name: str, partitions: int | None, configs: Sequence[tuple[str, str]]) -> Facts:
    """Make a topic."""
    topic = _Create.CreatableTopic(
        name=name,
        num_partitions=-1 if partitions is None else partitions,
        replication_factor=-1,
        assignments=[],
        configs=[_Create.CreatableTopic.CreatableTopicConfig(name=key, value=value) for key, value in configs],
    )
    answer = await client.ask(Key.CREATE_TOPICS, _Create(topics=[topic], timeout_ms=_TIMEOUT_MS, validate_only=False))
    [made] = answer.topics
    check(f"topic {name}", made.error_code, made.error_message)
    return {"topic": name, "partitions": made.num_partitions, "topic_id": _text(made.topic_id)}


async def delete_topic(client: Client, name: str) -> Facts:
    """Delete a topic."""
    states = [_Delete.DeleteTopicState(name=name, topic_id=None)]
    answer = await client.ask(Key.DELETE_TOPICS, _Delete(topics=states, topic_names=[name], timeout_ms=_TIMEOUT_MS))
    [gone] = answer.responses
    check(f"topic {name}", gone.error_code, gone.error_message)
    return {"topic": name, "topic_id": _text(gone.topic_id)}


async def add_partitions(client: Client, name: str, count: int) -> None:
    """Give a topic more partitions."""
    topic = _AddPartitions.CreatePartitionsTopic(name=name, count=count, assignments=None)
    request = _AddPartitions(topics=[topic], timeout_ms=_TIMEOUT_MS, validate_only=False)
    [done] = (await client.ask(Key.CREATE_PARTITIONS, request)).results
    check(f"topic {name}", done.error_code, done.error_message)


async def change_configs(client: Client, name: str, given: Sequence[tuple[str, str]], unset: Sequence[str]) -> None:
    """Set some configs of a topic, and let others have their default again."""
    config = _Alter.AlterConfigsResource.AlterableConfig
    configs = [config(name=key, config_operation=_SET, value=value) for key, value in given]
    configs += [config(name=key, config_operation=_DELETE, value=None) for key in unset]
    resource = _Alter.AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=configs)
    answer = await client.ask(Key.INCREMENTAL_ALTER_CONFIGS, _Alter(resources=[resource], validate_only=False))
    [done] = answer.responses
    check(f"topic {name}", done.error_code, done.error_message)


async def show_configs(client: Client, name: str, *, everything: bool) -> list[Facts]:
    """The configs of a topic; those with their default only when asked for."""
    found = await find_configs(client, [name])
    return [
        {"config": each.name, "value": each.value, "own": each.own, "meaning": each.meaning}
        for each in found[name]
        if everything or each.own
    ]


def _text(topic_id: object) -> str | None:
    return None if topic_id is None else str(topic_id)
