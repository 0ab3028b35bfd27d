"""CreatePartitions: a topic gets more partitions."""

from __future__ import annotations

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import ALTER_TOPIC, NotAllowed
from holdfast.broker.net.request import Request
from holdfast.broker.topics import INTERNAL, OpenTopic
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

_STRICT_FROM = 3  # Clients of these versions know what it means that a quota is used up; all others are made to wait.


async def handle(
    context: BrokerContext, message: CreatePartitionsRequest, request: Request
) -> CreatePartitionsResponse:
    names = await request.pace.counted(each.name for each in message.topics)
    results = []
    async for each in request.pace.through(message.topics):
        if names[each.name] > 1:
            code, reason = Code.INVALID_REQUEST, "the request names this topic twice"
        elif not request.rights.may(ALTER_TOPIC, each.name):
            code, reason = Code.TOPIC_AUTHORIZATION_FAILED, str(NotAllowed(ALTER_TOPIC, each.name))
        else:
            code, reason = await _add(context, each, request, validate_only=message.validate_only)
        results.append(CreatePartitionsTopicResult(name=each.name, error_code=code, error_message=reason or None))
    return CreatePartitionsResponse(results=results, throttle_time_ms=context.throttle.change_wait_ms(request))


async def _add(
    context: BrokerContext, wanted: CreatePartitionsTopic, request: Request, *, validate_only: bool
) -> tuple[Code, str]:
    if wanted.name in INTERNAL:
        return Code.INVALID_REQUEST, "an internal topic keeps the partitions it was made with"
    try:
        opened = context.topics.get(wanted.name)
        context.topics.check_more_partitions(opened, wanted.count)
        wrong = _check_assignments(opened, wanted, context.settings.node_id)
        if wrong:
            return Code.INVALID_REPLICA_ASSIGNMENT, wrong
        more = wanted.count - opened.topic.partitions
        context.throttle.change(request, more, strict=request.version >= _STRICT_FROM)
        if not validate_only:
            await context.topics.add_partitions(wanted.name, wanted.count)
    except HoldfastError as failure:
        return code_of(failure), str(failure)
    return Code.NONE, ""


def _check_assignments(opened: OpenTopic, wanted: CreatePartitionsTopic, node_id: int) -> str:
    if wanted.assignments is None:
        return ""
    more = wanted.count - opened.topic.partitions
    if len(wanted.assignments) != more:
        return f"{more} partitions are to be added, {len(wanted.assignments)} are assigned"
    if any(each.broker_ids != [node_id] for each in wanted.assignments):
        return f"there is one broker, {node_id}"
    return ""
