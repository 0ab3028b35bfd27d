"""Metadata: which topics there are, and who leads them. There is one broker, and it leads all.

Clients ask often and topics seldom change, so a topic's part of the answer is kept, as bytes, with the topic.
"""

from __future__ import annotations

import asyncio
import contextlib

from holdfast.broker.api.operations import ON_CLUSTER, ON_TOPIC, if_asked
from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Body, Request
from holdfast.broker.topics import INTERNAL, OpenTopic
from holdfast.cluster.errors import TopicExists
from holdfast.errors import HoldfastError
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from holdfast.protocol.hot.metadata import encode_response, encode_topic
from holdfast.types import Buffer

_MAY_CREATE_FROM = 4  # Before this version clients cannot say that they do not want a topic to be made.
_NULL_NAME_FROM = 12


async def handle(context: BrokerContext, message: MetadataRequest, request: Request) -> Body:
    version = request.version
    asked = bool(message.include_topic_authorized_operations)
    topics: list[Buffer]
    if message.topics is None or (version == 0 and not message.topics):
        everything = request.pace.through(context.topics.all())
        topics = [_kept(context, each, version, asked=asked) async for each in everything]
    else:
        may_create = message.allow_auto_topic_creation if version >= _MAY_CREATE_FROM else True
        topics = []
        async for wanted in request.pace.through(message.topics):
            found = await _find(context, wanted, may_create=may_create)
            if isinstance(found, OpenTopic):
                topics.append(_kept(context, found, version, asked=asked))
            else:
                topics.append(encode_topic(version, _failed(wanted, found, version)))
    return encode_response(version, _around(context, message, request), topics)


def _around(context: BrokerContext, message: MetadataRequest, request: Request) -> MetadataResponse:
    """All but the topics."""
    node, (host, port) = context.settings.node_id, request.told
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node, host=host, port=port, rack=None)],
        cluster_id=context.cluster_id,
        controller_id=node,
        topics=[],
        cluster_authorized_operations=if_asked(ON_CLUSTER, asked=message.include_cluster_authorized_operations),
    )


async def _find(context: BrokerContext, wanted: MetadataRequestTopic, *, may_create: bool) -> OpenTopic | Code:
    if wanted.topic_id is not None and not wanted.name:
        return context.topics.find_id(wanted.topic_id) or Code.UNKNOWN_TOPIC_ID
    if wanted.name is None:
        return Code.INVALID_TOPIC_EXCEPTION
    found = context.topics.find(wanted.name)
    if found is None and may_create and context.settings.auto_create_topics_enable:
        try:
            await asyncio.shield(_create(context, wanted.name))  # Also when the client goes away meanwhile.
        except HoldfastError as failure:
            return code_of(failure)
    # Also when it was made just now: as with Kafka, a client asks again and finds it.
    return found or Code.UNKNOWN_TOPIC_OR_PARTITION


async def _create(context: BrokerContext, name: str) -> None:
    """A topic as it is made when a client names one that is not there."""
    with contextlib.suppress(TopicExists):  # Another request was quicker.
        await context.topics.create(name, context.settings.num_partitions, {})


def _failed(wanted: MetadataRequestTopic, code: Code, version: int) -> MetadataResponseTopic:
    name = wanted.name if version >= _NULL_NAME_FROM else wanted.name or ""
    return MetadataResponseTopic(error_code=code, name=name, topic_id=wanted.topic_id, partitions=[])


def _kept(context: BrokerContext, opened: OpenTopic, version: int, *, asked: bool) -> bytes:
    """A topic's bytes; a topic that changes is another `OpenTopic`."""
    kept = opened.kept.get((version, asked))
    if kept is None:
        topic = _describe(context, opened, if_asked(ON_TOPIC, asked=asked))
        kept = opened.kept[version, asked] = encode_topic(version, topic)
    return kept


def _describe(context: BrokerContext, opened: OpenTopic, operations: int) -> MetadataResponseTopic:
    name = opened.topic.name
    return MetadataResponseTopic(
        error_code=Code.NONE,
        name=name,
        topic_id=opened.topic.topic_id,
        is_internal=name in INTERNAL,
        partitions=[_partition(context, number, log) for number, log in enumerate(opened.logs)],
        topic_authorized_operations=operations,
    )


def _partition(context: BrokerContext, number: int, log: PartitionLog | Exception) -> MetadataResponsePartition:
    node = context.settings.node_id
    return MetadataResponsePartition(
        error_code=Code.KAFKA_STORAGE_ERROR if isinstance(log, Exception) else Code.NONE,
        partition_index=number,
        leader_id=node,
        leader_epoch=0 if isinstance(log, Exception) else log.epochs.current,
        replica_nodes=[node],
        isr_nodes=[node],
        offline_replicas=[],
    )
