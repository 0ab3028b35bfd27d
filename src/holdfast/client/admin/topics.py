"""Topics: what there is, who leads, how it is set, and making new ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from holdfast.client.codes import check, failure_of
from holdfast.client.connection import Connection
from holdfast.client.errors import TopicNotFound
from holdfast.io.address import Address
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from holdfast.protocol.generated.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from holdfast.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from holdfast.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from holdfast.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from holdfast.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic

if TYPE_CHECKING:
    from holdfast.client.nodes import Nodes

_TIMEOUT_MS = 30_000
_TOPIC = 2  # Of all that has configs.
_OF_TOPIC = 1  # Where a config comes from: the topic itself.
_SET, _UNSET = 0, 1  # What is done to a config.


class PartitionInfo(NamedTuple):
    """One partition: its number, the broker that leads it (-1 for none) and since which epoch."""

    number: int
    leader: int
    leader_epoch: int


class TopicInfo(NamedTuple):
    """One topic. Old brokers give no id."""

    name: str
    id: UUID | None
    is_internal: bool
    partitions: tuple[PartitionInfo, ...]

    @property
    def numbers(self) -> list[int]:
        return [each.number for each in self.partitions]


class ConfigInfo(NamedTuple):
    """One config of a topic."""

    name: str
    value: str | None
    is_own: bool  # Set for this topic, rather than its broker's.
    meaning: str


class CreatedTopic(NamedTuple):
    """A topic that was just made. Old brokers tell neither; the count is -1 then."""

    id: UUID | None
    partition_count: int


class ClusterInfo(NamedTuple):
    """What Metadata says."""

    cluster_id: str | None
    controller: int
    brokers: Mapping[int, Address]
    topics: Mapping[str, TopicInfo]


def read_metadata(connection: Connection, topics: Iterable[str] | None, *, create: bool = False) -> ClusterInfo:
    """Ask one broker. A topic that was asked for and is not there is an error.

    Nothing is created, unless `create` lets a broker whose auto.create.topics.enable says so: soon it is there then.
    """
    version = connection.version(Key.METADATA)
    named = None if topics is None else [MetadataRequestTopic(name=each) for each in topics]
    if named is None and version == 0:
        named = []  # Version 0 says "all" by an empty list.
    answer = connection.ask(Key.METADATA, MetadataRequest(topics=named, allow_auto_topic_creation=create))
    for each in answer.topics:
        if each.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION:
            raise TopicNotFound(str(each.name))
        check(f"topic {each.name}", each.error_code)
    brokers = {each.node_id: Address(each.host, each.port) for each in answer.brokers}
    cluster_id, controller = answer.cluster_id, answer.controller_id
    return ClusterInfo(cluster_id, controller, brokers, {str(each.name): _topic(each) for each in answer.topics})


def _topic(found: MetadataResponseTopic) -> TopicInfo:
    parts = sorted(PartitionInfo(each.partition_index, each.leader_id, each.leader_epoch) for each in found.partitions)
    return TopicInfo(str(found.name), found.topic_id, found.is_internal, tuple(parts))


def create_topics(
    nodes: Nodes, topics: Mapping[str, int], configs: Iterable[tuple[str, str]], replication_factor: int
) -> dict[str, CreatedTopic]:
    """Make topics with so many partitions (-1 for the broker's default) on the controller."""
    settings = [CreatableTopicConfig(name=name, value=value) for name, value in configs]
    wanted = [
        CreatableTopic(
            name=name,
            num_partitions=count,
            replication_factor=replication_factor,
            assignments=[],
            configs=settings,
        )
        for name, count in topics.items()
    ]
    answer = nodes.controller().ask(
        Key.CREATE_TOPICS,
        CreateTopicsRequest(topics=wanted, timeout_ms=_TIMEOUT_MS, validate_only=False),
        _TIMEOUT_MS / 1000,
    )
    for each in answer.topics:
        check(f"topic {each.name}", each.error_code, each.error_message)
    return {each.name: CreatedTopic(each.topic_id, each.num_partitions) for each in answer.topics}


def delete_topic(nodes: Nodes, name: str) -> UUID | None:
    """Delete a topic with all its records; its id. Who tries again after a lost answer may find it gone."""
    states = [DeleteTopicState(name=name, topic_id=None)]
    wanted = DeleteTopicsRequest(topics=states, topic_names=[name], timeout_ms=_TIMEOUT_MS)
    [gone] = nodes.controller().ask(Key.DELETE_TOPICS, wanted, _TIMEOUT_MS / 1000).responses
    check(f"topic {name}", gone.error_code, gone.error_message)
    return gone.topic_id


def check_known(nodes: Nodes, names: Iterable[str]) -> None:
    """Whether brokers know topics that were just made: word of them may take a moment."""
    try:
        nodes.metadata(names)
    except TopicNotFound as failure:
        raise failure_of(f"topic {failure.topic}", Code.LEADER_NOT_AVAILABLE) from failure


def create_partitions(nodes: Nodes, name: str, count: int) -> None:
    """Give a topic so many partitions. It may have had them already: then a repeat has come through before."""
    wanted = CreatePartitionsTopic(name=name, count=count, assignments=None)
    asked = CreatePartitionsRequest(topics=[wanted], timeout_ms=_TIMEOUT_MS, validate_only=False)
    [done] = nodes.controller().ask(Key.CREATE_PARTITIONS, asked, _TIMEOUT_MS / 1000).results
    if done.error_code == Code.INVALID_PARTITIONS and len(nodes.metadata([name]).topics[name].partitions) == count:
        return
    check(f"{count} partitions for topic {name}", done.error_code, done.error_message)


def configs(
    nodes: Nodes, names: Iterable[str], keys: Iterable[str] | None = None, *, meanings: bool = False
) -> dict[str, list[ConfigInfo]]:
    """The configs of topics: these, or all; with what they mean, where the broker tells."""
    wanted = None if keys is None else list(keys)
    resources = [
        DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=wanted) for name in names
    ]
    asked = DescribeConfigsRequest(resources=resources, include_synonyms=False, include_documentation=meanings)
    found = {}
    for each in nodes.any().ask(Key.DESCRIBE_CONFIGS, asked).results:
        check(f"the configs of topic {each.resource_name}", each.error_code, each.error_message)
        found[each.resource_name] = sorted(_config(one) for one in each.configs)
    return found


def _config(found: DescribeConfigsResourceResult) -> ConfigInfo:
    meaning = found.documentation or ""
    return ConfigInfo(found.name, found.value, found.config_source == _OF_TOPIC, meaning)


def flush_topic(nodes: Nodes, name: str, done: set[int]) -> None:
    """Have each leader put everything into the store that its partitions of a topic have acknowledged.

    `done` are the partitions for which that was answered: who tries again asks for the others only.
    """
    numbers = nodes.metadata([name]).topics[name].numbers
    left = [(name, number) for number in numbers if number not in done]
    for connection, pairs in nodes.by_leader(left).items():
        some = [number for _, number in pairs]
        what = "now" if len(some) == len(numbers) else ",".join(map(str, some))  # Who leads all knows no other word.
        _alter(connection, name, [AlterableConfig(name="holdfast.flush", config_operation=_SET, value=what)])
        done.update(some)


def alter_configs(nodes: Nodes, name: str, given: Iterable[tuple[str, str]], unset: Iterable[str]) -> None:
    """Set some configs of a topic, and let others have their default again. A repeat is harmless."""
    changes = [AlterableConfig(name=key, config_operation=_SET, value=value) for key, value in given]
    changes += [AlterableConfig(name=key, config_operation=_UNSET, value=None) for key in unset]
    _alter(nodes.controller(), name, changes)


def _alter(connection: Connection, name: str, changes: list[AlterableConfig]) -> None:
    wanted = AlterConfigsResource(resource_type=_TOPIC, resource_name=name, configs=changes)
    answer = connection.ask(
        Key.INCREMENTAL_ALTER_CONFIGS,
        IncrementalAlterConfigsRequest(resources=[wanted], validate_only=False),
        _TIMEOUT_MS / 1000,
    )
    [done] = answer.responses
    check(f"topic {name}", done.error_code, done.error_message)
