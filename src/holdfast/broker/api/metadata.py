"""Metadata: which topics there are, and who leads them. There is one broker, and it leads all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.broker.api.operations import ON_CLUSTER, ON_TOPIC, if_asked
from holdfast.broker.codes import Code, code_of
from holdfast.broker.request import Request
from holdfast.broker.topics import INTERNAL, OpenTopic
from holdfast.cluster.errors import TopicExists
from holdfast.errors import HoldfastError
from holdfast.log.partition import PartitionLog
from holdfast.protocol.api import Key
from holdfast.protocol.messages import Message, response_class

if TYPE_CHECKING:
    from holdfast.broker.broker import Parts

_Answer = response_class(Key.METADATA)


async def handle(parts: Parts, message: Message, request: Request) -> Message:
    if message.topics is None or (request.version == 0 and not message.topics):
        topics = [describe(parts, each) for each in parts.topics.all()]
    else:
        may_create = message.allow_auto_topic_creation if request.version >= 4 else True
        topics = [await _find(parts, each, may_create=may_create) for each in message.topics]
    for topic in topics:
        asked = message.include_topic_authorized_operations and topic.error_code == Code.NONE
        topic.authorized_operations = if_asked(ON_TOPIC, asked=asked)
    node = parts.settings.node_id
    return _Answer(
        brokers=[_Answer.MetadataResponseBroker(node_id=node, host=parts.host, port=parts.port, rack=None)],
        cluster_id=parts.cluster_id,
        controller_id=node,
        topics=topics,
        authorized_operations=if_asked(ON_CLUSTER, asked=message.include_cluster_authorized_operations),
    )


async def _find(parts: Parts, wanted: Message, *, may_create: bool) -> Message:
    topic_id = getattr(wanted, "topic_id", None)
    if topic_id is not None and topic_id.int != 0 and not wanted.name:
        found = parts.topics.find_id(topic_id)
        if found is None:
            return _failed(None, Code.UNKNOWN_TOPIC_ID, topic_id)
        return describe(parts, found)
    found = parts.topics.find(wanted.name)
    if found is None and may_create and parts.settings.auto_create_topics_enable:
        try:
            found = await create_default(parts, wanted.name)
        except HoldfastError as failure:
            return _failed(wanted.name, code_of(failure))
    if found is None:
        return _failed(wanted.name, Code.UNKNOWN_TOPIC_OR_PARTITION)
    return describe(parts, found)


async def create_default(parts: Parts, name: str) -> OpenTopic:
    """A topic as it is made when a client names one that is not there."""
    try:
        return await parts.topics.create(name, parts.settings.num_partitions, {})
    except TopicExists:  # Another request was quicker.
        return parts.topics.get(name)


def _failed(name: str | None, code: Code, topic_id: object = None) -> Message:
    topic = _Answer.MetadataResponseTopic(error_code=code, name=name, partitions=[])
    if topic_id is not None:
        topic.topic_id = topic_id
    return topic


def describe(parts: Parts, opened: OpenTopic) -> Message:
    """One topic with its partitions."""
    name = opened.topic.name
    return _Answer.MetadataResponseTopic(
        error_code=Code.NONE,
        name=name,
        topic_id=opened.topic.topic_id,
        is_internal=name in INTERNAL,
        partitions=[_partition(parts, number, log) for number, log in enumerate(opened.logs)],
    )


def _partition(parts: Parts, number: int, log: PartitionLog | Exception) -> Message:
    node = parts.settings.node_id
    corrupt = isinstance(log, Exception)
    return _Answer.MetadataResponseTopic.MetadataResponsePartition(
        error_code=Code.KAFKA_STORAGE_ERROR if corrupt else Code.NONE,
        partition_index=number,
        leader_id=node,
        leader_epoch=0 if isinstance(log, Exception) else log.epochs.current,
        replica_nodes=[node],
        isr_nodes=[node],
        offline_replicas=[],
    )
