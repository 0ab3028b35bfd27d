"""What commands ask about topics: their partitions, their ends, their configs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from holdfast.cli.client.connection import Client
from holdfast.cli.client.errors import check
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, request_class

LATEST, EARLIEST = -1, -2  # In place of a timestamp.
TOPIC = 2  # The kind of resource that has configs.
_NOT_YET = (Code.UNKNOWN_TOPIC_OR_PARTITION, Code.LEADER_NOT_AVAILABLE)
_LOOKS, _LOOK_AGAIN_S = 50, 0.05

_Metadata = request_class(Key.METADATA)
_ListOffsets = request_class(Key.LIST_OFFSETS)
_Configs = request_class(Key.DESCRIBE_CONFIGS)


class Partition(NamedTuple):
    """A partition and who leads it."""

    number: int
    leader: int
    leader_epoch: int


class TopicInfo(NamedTuple):
    """A topic as the broker describes it."""

    name: str
    topic_id: UUID | None
    internal: bool
    partitions: tuple[Partition, ...]

    @property
    def numbers(self) -> list[int]:
        return [each.number for each in self.partitions]


async def find_topics(client: Client, names: Iterable[str] | None = None, *, create: bool = False) -> list[TopicInfo]:
    """Topics by name, or all; one that is not there is an error, unless the broker may make it."""
    wanted = None if names is None else [_Metadata.MetadataRequestTopic(name=each, topic_id=None) for each in names]
    request = _Metadata(topics=wanted, allow_auto_topic_creation=create)
    answer = await client.ask(Key.METADATA, request)
    for _ in range(_LOOKS if create else 0):  # What a broker makes because it was named is there a little later.
        if not any(each.error_code in _NOT_YET for each in answer.topics):
            break
        await asyncio.sleep(_LOOK_AGAIN_S)
        answer = await client.ask(Key.METADATA, request)
    for each in answer.topics:
        check(f"topic {each.name}", each.error_code)
    return [_info(each) for each in sorted(answer.topics, key=lambda each: str(each.name))]


def _info(found: Message) -> TopicInfo:
    partitions = [Partition(each.partition_index, each.leader_id, each.leader_epoch) for each in found.partitions]
    return TopicInfo(found.name, found.topic_id, bool(found.is_internal), tuple(sorted(partitions)))


async def find_topic(client: Client, name: str, *, create: bool = False) -> TopicInfo:
    """One topic by name."""
    [found] = await find_topics(client, [name], create=create)
    return found


async def find_offsets(
    client: Client, wanted: Mapping[str, Iterable[int]], timestamp: int, *, committed: bool = False
) -> dict[tuple[str, int], int]:
    """For partitions by topic: the earliest or latest offset, or the first at or after a time; -1 if there is none."""
    topics = [
        _ListOffsets.ListOffsetsTopic(
            name=name,
            partitions=[
                _ListOffsets.ListOffsetsTopic.ListOffsetsPartition(
                    partition_index=number, current_leader_epoch=-1, timestamp=timestamp
                )
                for number in numbers
            ],
        )
        for name, numbers in wanted.items()
    ]
    request = _ListOffsets(replica_id=-1, isolation_level=int(committed), topics=topics, timeout_ms=10_000)
    answer = await client.ask(Key.LIST_OFFSETS, request)
    found = {}
    for topic in answer.topics:
        for each in topic.partitions:
            check(f"{topic.name}-{each.partition_index}", each.error_code)
            found[topic.name, each.partition_index] = each.offset
    return found


class ConfigInfo(NamedTuple):
    """One config of a topic."""

    name: str
    value: str | None
    own: bool  # Set for this topic, rather than a default.
    meaning: str


async def find_configs(client: Client, topics: Iterable[str]) -> dict[str, list[ConfigInfo]]:
    """All configs of some topics."""
    resources = [
        _Configs.DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=None)
        for name in topics
    ]
    request = _Configs(resources=resources, include_synonyms=False, include_documentation=True)
    answer = await client.ask(Key.DESCRIBE_CONFIGS, request)
    found = {}
    for each in answer.results:
        check(f"topic {each.resource_name}", each.error_code, each.error_message)
        found[each.resource_name] = [
            ConfigInfo(config.name, config.value, config.config_source == 1, config.documentation or "")
            for config in sorted(each.configs, key=lambda config: config.name)
        ]
    return found
