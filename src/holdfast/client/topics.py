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
from holdfast.protocol.messages import Message, request_class

if TYPE_CHECKING:
    from holdfast.client.nodes import Nodes

_TIMEOUT_MS = 30_000
_TOPIC = 2  # Of all that has configs.
_OF_TOPIC = 1  # Where a config comes from: the topic itself.


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


class ClusterInfo(NamedTuple):
    """What Metadata says."""

    cluster_id: str | None
    controller: int
    brokers: Mapping[int, Address]
    topics: Mapping[str, TopicInfo]


def read_metadata(connection: Connection, topics: Iterable[str] | None) -> ClusterInfo:
    """Ask one broker. A topic that was asked for and is not there is an error; nothing is created."""
    request = request_class(Key.METADATA)
    version = connection.version(Key.METADATA)
    named = None if topics is None else [request.MetadataRequestTopic(name=each) for each in topics]
    if named is None and version == 0:
        named = []  # Version 0 says "all" by an empty list.
    answer = connection.ask(Key.METADATA, request(topics=named, allow_auto_topic_creation=False))
    for each in answer.topics:
        if each.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION:
            raise TopicNotFound(each.name)
        check(f"topic {each.name}", each.error_code)
    brokers = {each.node_id: Address(each.host, each.port) for each in answer.brokers}
    cluster_id, controller = getattr(answer, "cluster_id", None), getattr(answer, "controller_id", -1)
    return ClusterInfo(cluster_id, controller, brokers, {each.name: _topic(each) for each in answer.topics})


def _topic(found: Message) -> TopicInfo:
    parts = sorted(
        PartitionInfo(each.partition_index, each.leader_id, getattr(each, "leader_epoch", -1))
        for each in found.partitions
    )
    return TopicInfo(found.name, getattr(found, "topic_id", None), bool(found.is_internal), tuple(parts))


def create_topics(
    nodes: Nodes, topics: Mapping[str, int], configs: Mapping[str, str] | None, replication_factor: int
) -> dict[str, UUID | None]:
    """Make topics with so many partitions (-1 for the broker's default) on the controller; their ids."""
    request = request_class(Key.CREATE_TOPICS)
    topic = request.CreatableTopic
    settings = [topic.CreatableTopicConfig(name=name, value=value) for name, value in (configs or {}).items()]
    wanted = [
        topic(
            name=name,
            num_partitions=count,
            replication_factor=replication_factor,
            assignments=[],
            configs=settings,
        )
        for name, count in topics.items()
    ]
    answer = nodes.controller().ask(
        Key.CREATE_TOPICS, request(topics=wanted, timeout_ms=_TIMEOUT_MS, validate_only=False), _TIMEOUT_MS / 1000
    )
    for each in answer.topics:
        check(f"topic {each.name}", each.error_code, each.error_message)
    return {each.name: getattr(each, "topic_id", None) for each in answer.topics}


def check_known(nodes: Nodes, names: Iterable[str]) -> None:
    """Whether brokers know topics that were just made: word of them may take a moment."""
    try:
        nodes.metadata(names)
    except TopicNotFound as failure:
        raise failure_of(f"topic {failure.topic}", Code.LEADER_NOT_AVAILABLE) from failure


def create_partitions(nodes: Nodes, name: str, count: int) -> None:
    """Give a topic so many partitions. It may have had them already: then a repeat has come through before."""
    request = request_class(Key.CREATE_PARTITIONS)
    wanted = request.CreatePartitionsTopic(name=name, count=count, assignments=None)
    asked = request(topics=[wanted], timeout_ms=_TIMEOUT_MS, validate_only=False)
    [done] = nodes.controller().ask(Key.CREATE_PARTITIONS, asked, _TIMEOUT_MS / 1000).results
    if done.error_code == Code.INVALID_PARTITIONS and len(nodes.metadata([name]).topics[name].partitions) == count:
        return
    check(f"{count} partitions for topic {name}", done.error_code, done.error_message)


def own_configs(nodes: Nodes, name: str) -> dict[str, str]:
    """The configs that a topic itself was given; the others are its broker's."""
    found = _described(nodes, name, None)
    return {
        each.name: each.value for each in found.configs if each.value is not None and each.config_source == _OF_TOPIC
    }


def describe_configs(nodes: Nodes, name: str, keys: Iterable[str] | None) -> dict[str, str | None]:
    """The configs of a topic: these, or all."""
    return {each.name: each.value for each in _described(nodes, name, keys).configs}


def _described(nodes: Nodes, name: str, keys: Iterable[str] | None) -> Message:
    request = request_class(Key.DESCRIBE_CONFIGS)
    resource = request.DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=name, configuration_keys=None if keys is None else list(keys)
    )
    fields = {"resources": [resource], "include_synonyms": False, "include_documentation": False}
    [found] = nodes.any().ask(Key.DESCRIBE_CONFIGS, request(**fields)).results
    check(f"the configs of topic {name}", found.error_code, found.error_message)
    return found
