"""AddPartitionsToTxn: partitions become part of a transaction. One before version 4; since then many, for brokers."""

from __future__ import annotations

from collections.abc import Container, Sequence

from holdfast.broker.api.named_topics import check_partition
from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import CLUSTER_ACTION, WRITE_TOPIC, WRITE_TRANSACTION
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.broker.topics import TRANSACTIONS_TOPIC
from holdfast.coordinator.transaction.transaction import Producer
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from holdfast.types import TopicPartition

_FENCED_FROM = 2
_MANY_FROM = 4
_ABORTABLE_FROM = 5


async def handle(
    context: BrokerContext, message: AddPartitionsToTxnRequest, request: Request
) -> AddPartitionsToTxnResponse:
    version, pace, rights = request.version, request.pace, request.rights
    if version < _MANY_FROM:
        producer = Producer(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch)
        topics = message.v3_and_below_topics
        named = await _partitions(topics, pace)
        if rights.may(WRITE_TRANSACTION, message.v3_and_below_transactional_id):
            hidden = {each.name for each in topics if not rights.may(WRITE_TOPIC, each.name)}
            codes = await _add(context, message.v3_and_below_transactional_id, producer, named, version, pace, hidden)
        else:
            codes = dict.fromkeys(named, Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        answers = await _topics(topics, codes, pace)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=answers)
    if not rights.may(CLUSTER_ACTION):  # These versions are for brokers.
        return AddPartitionsToTxnResponse(error_code=Code.CLUSTER_AUTHORIZATION_FAILED, results_by_transaction=[])
    results = []
    async for each in pace.through(message.transactions):
        producer = Producer(each.producer_id, each.producer_epoch)
        act = _verify if each.verify_only else _add
        codes = await act(context, each.transactional_id, producer, await _partitions(each.topics, pace), version, pace)
        answers = await _topics(each.topics, codes, pace)
        results.append(AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=answers))
    return AddPartitionsToTxnResponse(error_code=Code.NONE, results_by_transaction=results)


async def _add(
    context: BrokerContext,
    transactional_id: str,
    producer: Producer,
    partitions: list[TopicPartition],
    version: int,
    pace: Slices,
    hidden: Container[str] = (),
) -> dict[TopicPartition, Code]:
    """All, or none: where one partition is not there, no other is added."""
    refused = {each: _refusal(context, each, hidden) async for each in pace.through(partitions)}
    if any(refused.values()):
        others = Code.OPERATION_NOT_ATTEMPTED
        return {each: code or others async for each, code in pace.through(refused.items())}
    try:
        context.logs.check_disk()
        await context.logs.room()
        await context.transactions.add(transactional_id, producer, partitions)
    except HoldfastError as failure:
        code = transaction_code_of(failure, knows_fenced=version >= _FENCED_FROM)
        return {each: code async for each in pace.through(partitions)}
    return refused


def _refusal(context: BrokerContext, partition: TopicPartition, hidden: Container[str]) -> Code:
    if partition.topic in hidden:
        return Code.TOPIC_AUTHORIZATION_FAILED
    if partition.topic == TRANSACTIONS_TOPIC:
        return Code.INVALID_TOPIC_EXCEPTION
    return check_partition(context, *partition)


async def _verify(
    context: BrokerContext,
    transactional_id: str,
    producer: Producer,
    partitions: list[TopicPartition],
    version: int,
    pace: Slices,
) -> dict[TopicPartition, Code]:
    codes = {}
    async for partition in pace.through(partitions):
        try:
            context.transactions.verify(transactional_id, producer, partition)
            codes[partition] = Code.NONE
        except HoldfastError as failure:
            codes[partition] = transaction_code_of(failure, knows_abortable=version >= _ABORTABLE_FROM)
    return codes


async def _partitions(topics: Sequence[AddPartitionsToTxnTopic], pace: Slices) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    async for topic in pace.through(topics):
        found += [TopicPartition(topic.name, number) async for number in pace.through(topic.partitions)]
    return found


async def _topics(
    topics: Sequence[AddPartitionsToTxnTopic], codes: dict[TopicPartition, Code], pace: Slices
) -> list[AddPartitionsToTxnTopicResult]:
    answers = []
    async for topic in pace.through(topics):
        results = [
            AddPartitionsToTxnPartitionResult(
                partition_index=number, partition_error_code=codes[TopicPartition(topic.name, number)]
            )
            async for number in pace.through(topic.partitions)
        ]
        answers.append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=results))
    return answers
