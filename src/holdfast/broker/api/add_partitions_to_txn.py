"""AddPartitionsToTxn: partitions become part of a transaction. One before version 4; since then many, for brokers."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence

from holdfast.broker.api.named_topics import check_partition
from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import CLUSTER_ACTION, WRITE_TOPIC, WRITE_TRANSACTION
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import PIECE_COUNT, Slices
from holdfast.broker.peers.door import PeerSession
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
    AddPartitionsToTxnTransaction,
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
    is_peer = isinstance(request.session, PeerSession)
    if not is_peer and not rights.may(CLUSTER_ACTION):  # These versions are for brokers.
        return AddPartitionsToTxnResponse(error_code=Code.CLUSTER_AUTHORIZATION_FAILED, results_by_transaction=[])
    results: list[AddPartitionsToTxnResult] = []
    for at in range(0, len(message.transactions), PIECE_COUNT):  # Together: each waits until it is durable.
        some = message.transactions[at : at + PIECE_COUNT]
        results += await asyncio.gather(*(_admit(context, each, version, pace, is_peer=is_peer) for each in some))
    return AddPartitionsToTxnResponse(error_code=Code.NONE, results_by_transaction=results)


async def _admit(
    context: BrokerContext, asked: AddPartitionsToTxnTransaction, version: int, pace: Slices, *, is_peer: bool
) -> AddPartitionsToTxnResult:
    """A leader asks whether it may append: the partitions are there, since they are its own."""
    producer = Producer(asked.producer_id, asked.producer_epoch)
    partitions = await _partitions(asked.topics, pace)
    refused = {} if is_peer else {each: _refusal(context, each, ()) for each in partitions}
    if any(refused.values()):
        codes = {each: code or Code.OPERATION_NOT_ATTEMPTED for each, code in refused.items()}
        answers = await _topics(asked.topics, codes, pace)
        return AddPartitionsToTxnResult(transactional_id=asked.transactional_id, topic_results=answers)
    code = Code.NONE
    try:
        context.logs.check_disk()
        await context.logs.room()
        await context.transactions.admit(asked.transactional_id, producer, partitions, implicit=not asked.verify_only)
    except HoldfastError as failure:
        code = transaction_code_of(failure, knows_abortable=version >= _ABORTABLE_FROM)
    answers = await _topics(asked.topics, dict.fromkeys(partitions, code), pace)
    return AddPartitionsToTxnResult(transactional_id=asked.transactional_id, topic_results=answers)


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
