"""Metadata: which topics there are, and who leads them: this broker, or others of its cluster.

Clients ask often and topics seldom change, so a topic's part of the answer is kept, as bytes, with the topic.
"""

from __future__ import annotations

import asyncio
import contextlib

from holdfast.broker.api.describe_cluster import cluster_operations
from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC
from holdfast.broker.net.request import Body, Request
from holdfast.broker.throttle import QuotaExceeded
from holdfast.broker.topics import INTERNAL, OpenTopic
from holdfast.cluster.errors import TopicExists
from holdfast.errors import Corrupt, HoldfastError
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from holdfast.protocol.hot.metadata import encode_led, encode_response, encode_topic
from holdfast.security.rules import ResourceType
from holdfast.types import Buffer

_MAY_CREATE_FROM = 4  # Before this version clients cannot say that they do not want a topic to be made.
_NULL_NAME_FROM = 12


async def handle(context: BrokerContext, message: MetadataRequest, request: Request) -> Body:
    version = request.version
    rights, asked = request.rights, bool(message.include_topic_authorized_operations)

    def kept(opened: OpenTopic) -> bytes:
        operations = rights.operations(ResourceType.TOPIC, opened.topic.name, asked=asked)
        return _kept(context, opened, version, operations)

    topics: list[Buffer]
    if message.topics is None or (version == 0 and not message.topics):
        everything = request.pace.through(context.topics.all())
        topics = [kept(each) async for each in everything if rights.sees(DESCRIBE_TOPIC, each.topic.name)]
    else:
        may_create = message.allow_auto_topic_creation if version >= _MAY_CREATE_FROM else True
        topics = []
        async for wanted in request.pace.through(message.topics):
            found = await _find(context, wanted, request, may_create=may_create)
            if isinstance(found, OpenTopic):
                topics.append(kept(found))
            else:
                topics.append(encode_topic(version, _failed(wanted, found, version)))
    return encode_response(version, _around(context, message, request), topics)


def _around(context: BrokerContext, message: MetadataRequest, request: Request) -> MetadataResponse:
    """All but the topics."""
    node = context.settings.node_id
    brokers = (node, request.told), *context.others(request.session.listener)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=number, host=at.host, port=at.port, rack=context.racks.of(number))
            for number, at in brokers
        ],
        cluster_id=context.cluster_id,
        controller_id=node,
        topics=[],
        cluster_authorized_operations=cluster_operations(
            request, asked=bool(message.include_cluster_authorized_operations)
        ),
    )


async def _find(
    context: BrokerContext, wanted: MetadataRequestTopic, request: Request, *, may_create: bool
) -> OpenTopic | Code:
    rights = request.rights
    if wanted.topic_id is not None and not wanted.name:
        by_id = context.topics.find_id(wanted.topic_id)
        if by_id is not None and not rights.may(DESCRIBE_TOPIC, by_id.topic.name):
            return Code.TOPIC_AUTHORIZATION_FAILED
        return by_id or Code.UNKNOWN_TOPIC_ID
    if wanted.name is None:
        return Code.INVALID_TOPIC_EXCEPTION
    if not rights.may(DESCRIBE_TOPIC, wanted.name):  # Whether it is there or not.
        return Code.TOPIC_AUTHORIZATION_FAILED
    found = context.topics.find(wanted.name)
    if found is None and may_create and context.settings.auto_create_topics_enable:
        if not rights.sees(CREATE_CLUSTER) and not rights.may(CREATE_TOPIC, wanted.name):
            return Code.TOPIC_AUTHORIZATION_FAILED
        try:
            context.throttle.change(request, context.settings.num_partitions, strict=True)
            await asyncio.shield(_create(context, wanted.name))  # Also when the client goes away meanwhile.
        except QuotaExceeded:
            return Code.UNKNOWN_TOPIC_OR_PARTITION  # It asks again.
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


def _kept(context: BrokerContext, opened: OpenTopic, version: int, operations: int) -> bytes:
    """A topic's bytes, while the same brokers read it; a topic that changes is another `OpenTopic`."""
    racks = context.racks.number
    kept = opened.kept.get((version, operations, racks))
    if kept is None:
        for key in [each for each in opened.kept if each[2] != racks]:
            del opened.kept[key]
        kept = opened.kept[version, operations, racks] = _encoded(context, opened, version, operations)
    return kept


def _encoded(context: BrokerContext, opened: OpenTopic, version: int, operations: int) -> bytes:
    name = opened.topic.name
    topic = MetadataResponseTopic(
        error_code=Code.NONE,
        name=name,
        topic_id=opened.topic.topic_id,
        is_internal=name in INTERNAL,
        partitions=[],
        topic_authorized_operations=operations,
    )
    led = [leader_of(context, log) for log in opened.logs]
    # Consumers go to nobody who is not among the replicas, and are pointed to one of these.
    readers = context.racks.readers(opened.topic.topic_id, [leader for _, leader, _ in led])
    return encode_led(version, topic, led, readers)


def leader_of(context: BrokerContext, log: PartitionLog | NotOpen) -> tuple[Code, int, int]:
    """What clients are told of a partition: an error, its leader, and the epoch."""
    node = context.settings.node_id
    if isinstance(log, LedElsewhere):
        return Code.NONE if log.broker >= 0 else Code.LEADER_NOT_AVAILABLE, log.broker, log.epoch
    if isinstance(log, Corrupt):
        return Code.KAFKA_STORAGE_ERROR, node, 0
    return Code.NONE, node, log.epochs.current
