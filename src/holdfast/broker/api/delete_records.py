"""DeleteRecords: let go of everything below an offset."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DELETE_TOPIC
from holdfast.broker.net.request import Request
from holdfast.broker.topics import INTERNAL
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

_NO_OFFSET = -1
_OWN_S = 10.0  # A client's time-out is for other replicas: what we do ourselves is waited for, also with one of 0.


async def handle(context: BrokerContext, message: DeleteRecordsRequest, request: Request) -> DeleteRecordsResponse:
    timeout = max(message.timeout_ms / 1000, _OWN_S)
    pace, topics = request.pace, []
    async for topic in pace.through(message.topics):
        partitions = _last_of_each(topic.partitions)
        if not request.rights.may(DELETE_TOPIC, topic.name):
            refused = [_result(each, _NO_OFFSET, Code.TOPIC_AUTHORIZATION_FAILED) for each in partitions]
            topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=refused))
            continue
        wanted = pace.through(partitions)
        tasks = [asyncio.ensure_future(_delete(context, topic.name, each, timeout)) async for each in wanted]
        answers = await asyncio.gather(*tasks)
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=answers))
    return DeleteRecordsResponse(topics=topics)


def _last_of_each(partitions: Sequence[DeleteRecordsPartition]) -> list[DeleteRecordsPartition]:
    """A partition that is named more than once counts as it is named last."""
    return list({each.partition_index: each for each in partitions}.values())


async def _delete(
    context: BrokerContext, name: str, wanted: DeleteRecordsPartition, timeout: float
) -> DeleteRecordsPartitionResult:
    log_start: int = _NO_OFFSET
    code = Code.NONE
    try:
        if name in INTERNAL:
            return _result(wanted, _NO_OFFSET, Code.INVALID_TOPIC_EXCEPTION)
        partition = await context.topics.led(name, wanted.partition_index)
        if "delete" not in partition.settings.cleanup:
            return _result(wanted, _NO_OFFSET, Code.POLICY_VIOLATION)
        log_start = await asyncio.wait_for(partition.delete_records(wanted.offset), timeout)
    except HoldfastError as failure:
        code = code_of(failure)
    except TimeoutError:
        code = Code.REQUEST_TIMED_OUT
    return _result(wanted, log_start, code)


def _result(wanted: DeleteRecordsPartition, log_start: int, code: Code) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=log_start, error_code=code
    )
