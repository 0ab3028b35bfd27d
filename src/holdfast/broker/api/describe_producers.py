"""DescribeProducers: which idempotent and transactional producers a partition remembers."""

from __future__ import annotations

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import READ_TOPIC
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated import describe_producers
from holdfast.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicResponse,
)
from holdfast.segment.producers import ProducerState


async def handle(
    context: BrokerContext, message: DescribeProducersRequest, request: Request
) -> DescribeProducersResponse:
    pace, topics = request.pace, []
    async for topic in pace.through(message.topics):
        answers = [
            _answer(context, topic.name, each, request.rights) async for each in pace.through(topic.partition_indexes)
        ]
        topics.append(TopicResponse(name=topic.name, partitions=answers))
    return DescribeProducersResponse(topics=topics)


def _answer(context: BrokerContext, topic: str, number: int, rights: SenderRights) -> PartitionResponse:
    try:
        rights.need(READ_TOPIC, topic)
        states = context.topics.get(topic).partition(number).producers.snapshot()
    except HoldfastError as failure:
        return PartitionResponse(
            partition_index=number, error_code=code_of(failure), error_message=str(failure), active_producers=[]
        )
    active = [_producer(each) for each in states.values()]
    return PartitionResponse(partition_index=number, error_code=Code.NONE, active_producers=active)


def _producer(state: ProducerState) -> describe_producers.ProducerState:
    return describe_producers.ProducerState(
        producer_id=state.producer_id,
        producer_epoch=state.epoch,
        last_sequence=state.batches[-1].last_sequence if state.batches else -1,
        last_timestamp=state.last_timestamp,
        coordinator_epoch=state.coordinator_epoch,
        current_txn_start_offset=-1 if state.transaction_start is None else state.transaction_start,
    )
