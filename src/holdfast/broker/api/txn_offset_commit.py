"""TxnOffsetCommit: how far a group has read, as part of a transaction. Durable before it is answered."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.broker.api.named_topics import check_partition, look_for
from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP, READ_TOPIC, WRITE_TRANSACTION
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import in_pieces
from holdfast.broker.peers.permits import Permit
from holdfast.broker.topics import OFFSETS_TOPIC
from holdfast.coordinator.group.requests import Caller, OffsetToCommit
from holdfast.coordinator.transaction.errors import TransactionEnding
from holdfast.coordinator.transaction.transaction import Producer
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from holdfast.types import TopicPartition

_ABORTABLE_FROM = 4
_IMPLICIT_FROM = 5  # From this version on the offsets are part of the transaction by being committed.


async def handle(context: BrokerContext, message: TxnOffsetCommitRequest, request: Request) -> TxnOffsetCommitResponse:
    codes: dict[TopicPartition, Code] = {}
    offsets: dict[TopicPartition, OffsetToCommit] = {}
    pace, closed = request.pace, _closed(message, request)
    await look_for(context, request, lambda: ((each.name, each.partitions) for each in message.topics))
    async for topic in pace.through(message.topics):
        hidden = closed
        if not closed and not request.rights.may(READ_TOPIC, topic.name):
            hidden = Code.TOPIC_AUTHORIZATION_FAILED
        async for each in pace.through(topic.partitions):
            place = TopicPartition(topic.name, each.partition_index)
            codes[place] = hidden or check_partition(context, *place)
            if not codes[place]:
                offsets[place] = OffsetToCommit(
                    each.committed_offset, each.committed_leader_epoch, each.committed_metadata or ""
                )
    if offsets:
        codes |= await _commit(context, message, offsets, request.version)
    topics = []
    async for topic in pace.through(message.topics):
        partitions = [
            TxnOffsetCommitResponsePartition(
                partition_index=each.partition_index,
                error_code=codes[TopicPartition(topic.name, each.partition_index)],
            )
            async for each in pace.through(topic.partitions)
        ]
        topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
    return TxnOffsetCommitResponse(topics=topics)


def _closed(message: TxnOffsetCommitRequest, request: Request) -> Code:
    """Why nothing of the request is done at all."""
    if not request.rights.may(WRITE_TRANSACTION, message.transactional_id):
        return Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return Code.NONE if request.rights.may(READ_GROUP, message.group_id) else Code.GROUP_AUTHORIZATION_FAILED


async def _commit(
    context: BrokerContext, message: TxnOffsetCommitRequest, offsets: dict[TopicPartition, OffsetToCommit], version: int
) -> dict[TopicPartition, Code]:
    producer = Producer(message.producer_id, message.producer_epoch)
    place = TopicPartition(OFFSETS_TOPIC, context.groups.partition_of(message.group_id))
    implicit, permit = version >= _IMPLICIT_FROM, None
    try:
        permit = await _permit(context, message.transactional_id, producer, place, implicit=implicit)

        def enlist() -> None:
            if permit is None:
                context.transactions.enlist(message.transactional_id, producer, place, implicit=implicit)
            else:
                permit.check(producer)

        return await _commit_some(context, message, producer, offsets, enlist, version)
    except HoldfastError as failure:
        return dict.fromkeys(offsets, _code_of(failure, version))
    finally:
        if permit is not None:
            permit.release()


async def _permit(
    context: BrokerContext, transactional_id: str, producer: Producer, place: TopicPartition, *, implicit: bool
) -> Permit | None:
    """Of the transaction's coordinator, if that is another broker."""
    if context.permits is None or context.transactions.serves(transactional_id):
        return None
    partition = context.topics.get(place.topic).partition(place.partition)
    return await context.permits.ask(transactional_id, producer, place, partition, implicit=implicit)


async def _commit_some(
    context: BrokerContext,
    message: TxnOffsetCommitRequest,
    producer: Producer,
    offsets: dict[TopicPartition, OffsetToCommit],
    enlist: Callable[[], None],
    version: int,
) -> dict[TopicPartition, Code]:
    caller = Caller(message.member_id, message.generation_id, message.group_instance_id)
    found = {each.topic: context.topics.find(each.topic) for each in offsets}

    def is_there(topic: str) -> bool:
        """Still the same topic, not one made again under its name."""
        before, now = found.get(topic), context.topics.find(topic)
        return before is not None and now is not None and before.topic.topic_id == now.topic.topic_id

    codes: dict[TopicPartition, Code] = {}
    for some in in_pieces(offsets):
        try:
            results = await context.groups.offsets.commit_in_transaction(
                message.group_id, caller, producer, some, enlist=enlist, is_there=is_there
            )
        except HoldfastError as failure:
            codes |= dict.fromkeys(some, _code_of(failure, version))
        else:
            codes |= {each: Code.NONE if said is None else transaction_code_of(said) for each, said in results.items()}
    return codes


def _code_of(failure: HoldfastError, version: int) -> Code:
    """Fenced producers have always been told so by the older of the two codes here; who has to wait, to wait."""
    if isinstance(failure, TransactionEnding):
        return Code.COORDINATOR_LOAD_IN_PROGRESS
    return transaction_code_of(failure, knows_fenced=False, knows_abortable=version >= _ABORTABLE_FROM)
