"""CreateTopics and DeleteTopics."""

from __future__ import annotations

import asyncio
from uuid import UUID

from holdfast.broker.api.describe_configs import places
from holdfast.broker.codes import code_of
from holdfast.broker.configs.topic import TOPIC_CONFIGS
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import (
    CREATE_CLUSTER,
    CREATE_TOPIC,
    DELETE_CLUSTER,
    DELETE_TOPIC,
    DESCRIBE_TOPIC,
    DESCRIBE_TOPIC_CONFIGS,
    NotAllowed,
)
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import pieces_of
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.topics import INTERNAL, OpenTopic
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from holdfast.protocol.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_NO_ID = UUID(int=0)
_DELETED_TOGETHER = 100  # Topics: each has a task of its own.
_CREATE_STRICT_FROM = 6  # Clients of these versions know what it means that a quota is used up,
_DELETE_STRICT_FROM = 5  # all others are made to wait.
_CONFIGS_HIDDEN = {
    "topic_config_error_code": Code.TOPIC_AUTHORIZATION_FAILED,
    "num_partitions": -1,
    "replication_factor": -1,
    "configs": None,
}


async def create(context: BrokerContext, message: CreateTopicsRequest, request: Request) -> CreateTopicsResponse:
    names = await request.pace.counted(each.name for each in message.topics)
    answers, rights = [], request.rights
    may_all = rights.sees(CREATE_CLUSTER)
    async for each in request.pace.through(message.topics):
        if names[each.name] > 1:
            answers.append(_create_failed(each.name, Code.INVALID_REQUEST, "the request names this topic twice"))
        elif not may_all and not rights.may(CREATE_TOPIC, each.name):
            reason = str(NotAllowed(CREATE_TOPIC, each.name))
            answers.append(_create_failed(each.name, Code.TOPIC_AUTHORIZATION_FAILED, reason))
        else:
            made = await _create_one(context, each, request, validate_only=message.validate_only)
            sees_configs = made.error_code or rights.sees(DESCRIBE_TOPIC_CONFIGS, each.name)
            answers.append(made if sees_configs else made.replace(**_CONFIGS_HIDDEN))
    return CreateTopicsResponse(topics=answers, throttle_time_ms=context.throttle.change_wait_ms(request))


async def _create_one(
    context: BrokerContext, wanted: CreatableTopic, request: Request, *, validate_only: bool
) -> CreatableTopicResult:
    configs = {each.name: each.value for each in wanted.configs if each.value is not None}
    if any(each.value is None for each in wanted.configs):
        return _create_failed(wanted.name, Code.INVALID_CONFIG, "a config has no value")
    code, reason = _check_placement(wanted, context.settings, len(context.topics.metadata.lives.by_broker))
    if code:
        return _create_failed(wanted.name, code, reason)
    partitions = len(wanted.assignments) or wanted.num_partitions
    if partitions == -1:
        partitions = context.settings.num_partitions
    try:
        context.topics.check_new(wanted.name, partitions, configs)
        context.throttle.change(request, partitions, strict=request.version >= _CREATE_STRICT_FROM)
        if validate_only:
            return _create_done(context, wanted.name, partitions, configs, _NO_ID)
        opened = await context.topics.create(wanted.name, partitions, configs)
    except HoldfastError as failure:
        return _create_failed(wanted.name, code_of(failure), str(failure))
    return _create_done(context, wanted.name, partitions, configs, opened.topic.topic_id)


def _check_placement(wanted: CreatableTopic, settings: BrokerSettings, brokers: int) -> tuple[Code, str]:
    """Whether a topic can have its partitions where the request wants them; so many brokers share the store."""
    if not wanted.assignments:
        any_is_fine = settings.holdfast_accept_any_replication_factor or wanted.replication_factor <= brokers
        return _check_factor(wanted.replication_factor, any_is_fine=any_is_fine)
    if wanted.num_partitions != -1 or wanted.replication_factor != -1:
        return Code.INVALID_REQUEST, "partitions are both counted and assigned"
    if sorted(each.partition_index for each in wanted.assignments) != list(range(len(wanted.assignments))):
        return Code.INVALID_REPLICA_ASSIGNMENT, "partitions must be 0, 1, 2, …"
    if any(each.broker_ids != [settings.node_id] for each in wanted.assignments):
        return Code.INVALID_REPLICA_ASSIGNMENT, f"there is one broker, {settings.node_id}"
    return Code.NONE, ""


def _check_factor(factor: int, *, any_is_fine: bool) -> tuple[Code, str]:
    """More copies than there are brokers are refused, unless a setting says that the number means nothing."""
    if factor in (-1, 1) or (any_is_fine and factor > 0):
        return Code.NONE, ""
    if factor < 1:
        return Code.INVALID_REPLICATION_FACTOR, f"replication factor {factor}: it is at least 1, or -1 for the default"
    reason = f"replication factor {factor}: there is one broker; durability comes from the store"
    return Code.INVALID_REPLICATION_FACTOR, reason


def _create_failed(name: str, code: Code, reason: str) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=code, error_message=reason, num_partitions=-1, replication_factor=-1, configs=[]
    )


def _create_done(
    context: BrokerContext, name: str, partitions: int, configs: dict[str, str], topic_id: UUID
) -> CreatableTopicResult:
    shown = [
        CreatableTopicConfigs(
            name=each.name,
            value=value,
            read_only=False,
            config_source=source,
            is_sensitive=False,
        )
        for each in TOPIC_CONFIGS.values()
        for _, value, source in places(context, each, configs)[:1]
    ]
    return CreatableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=Code.NONE,
        error_message=None,
        num_partitions=partitions,
        replication_factor=1,
        configs=shown,
    )


async def delete(context: BrokerContext, message: DeleteTopicsRequest, request: Request) -> DeleteTopicsResponse:
    topics = message.topics
    if request.version < 6:
        topics = [DeleteTopicState(name=name) async for name in request.pace.through(message.topic_names)]
    named = await request.pace.counted(each.name or each.topic_id for each in topics)
    responses, found = list[DeletableTopicResult](), list[tuple[int, OpenTopic]]()
    async for each in request.pace.through(topics):
        topic = (
            context.topics.find(each.name) if each.name is not None else context.topics.find_id(each.topic_id or _NO_ID)
        )
        refused = _delete_refused(context, each, topic, request.rights)
        if refused is None and named[each.name or each.topic_id] > 1:
            refused = _delete_answer(each, topic, Code.INVALID_REQUEST, "the request names this topic twice")
        if refused is None and topic is not None:
            found.append((len(responses), topic))
        responses.append(refused or _delete_answer(each, topic))
    for some in pieces_of(found, _DELETED_TOGETHER):  # A store that is away holds all of them up once.
        tried = await asyncio.gather(*(_delete(context, topic, request) for _, topic in some))
        for (number, _), (code, reason) in zip(some, tried, strict=True):
            responses[number] = responses[number].replace(error_code=code, error_message=reason)
    return DeleteTopicsResponse(responses=responses, throttle_time_ms=context.throttle.change_wait_ms(request))


def _delete_refused(
    context: BrokerContext, asked: DeleteTopicState, found: OpenTopic | None, rights: SenderRights
) -> DeletableTopicResult | None:
    """What is known without trying; None when it may be deleted."""
    name = asked.name if asked.name is not None or found is None else found.topic.name
    if name is not None and not rights.sees(DELETE_CLUSTER) and not rights.may(DELETE_TOPIC, name):
        return _delete_not_allowed(asked.name, found, rights)
    if found is None:
        unknown = Code.UNKNOWN_TOPIC_ID if asked.name is None else Code.UNKNOWN_TOPIC_OR_PARTITION
        return _delete_answer(asked, None, unknown, "there is no such topic")
    if found.topic.name in INTERNAL:
        return _delete_answer(asked, found, Code.INVALID_REQUEST, "an internal topic cannot be deleted")
    if not context.settings.delete_topic_enable:
        return _delete_answer(asked, found, Code.INVALID_REQUEST, "delete.topic.enable is false")
    return None


def _delete_answer(
    asked: DeleteTopicState, found: OpenTopic | None, code: Code = Code.NONE, reason: str | None = None
) -> DeletableTopicResult:
    topic = found.topic if found else None
    return DeletableTopicResult(
        name=topic.name if topic else asked.name,
        topic_id=topic.topic_id if topic else (asked.topic_id or _NO_ID),
        error_code=code,
        error_message=reason,
    )


def _delete_not_allowed(name: str | None, found: OpenTopic | None, rights: SenderRights) -> DeletableTopicResult:
    """Asked by a name, no id is told; asked by an id, the name only to those who may see the topic."""
    code = Code.TOPIC_AUTHORIZATION_FAILED
    if name is not None or found is None:
        refused = NotAllowed(DELETE_TOPIC, name or "")
        return DeletableTopicResult(name=name, topic_id=_NO_ID, error_code=code, error_message=str(refused))
    shown = found.topic.name if rights.sees(DESCRIBE_TOPIC, found.topic.name) else None
    refused = NotAllowed(DELETE_TOPIC, shown or str(found.topic.topic_id))
    return DeletableTopicResult(name=shown, topic_id=found.topic.topic_id, error_code=code, error_message=str(refused))


async def _delete(context: BrokerContext, topic: OpenTopic, request: Request) -> tuple[Code, str | None]:
    """How it went."""
    try:
        context.throttle.change(request, len(topic.logs), strict=request.version >= _DELETE_STRICT_FROM)
        await _delete_with_offsets(context, topic)
    except HoldfastError as failure:
        return code_of(failure), str(failure)
    return Code.NONE, None


async def _delete_with_offsets(context: BrokerContext, topic: OpenTopic) -> None:
    """Its groups' offsets go with it, also where the store fails behind the moment from which on it is deleted."""
    try:
        await context.topics.delete(topic)
    finally:
        if context.topics.find(topic.topic.name) is None:  # And nobody has made it again.
            await context.groups.offsets.forget_topics(lambda each: each == topic.topic.name)
