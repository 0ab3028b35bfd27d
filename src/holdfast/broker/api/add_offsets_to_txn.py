"""AddOffsetsToTxn: a group's offsets become part of a transaction."""

from __future__ import annotations

from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import READ_GROUP, WRITE_TRANSACTION
from holdfast.broker.net.request import Request
from holdfast.broker.topics import OFFSETS_TOPIC
from holdfast.coordinator.transaction.transaction import Producer
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from holdfast.types import TopicPartition

_FENCED_FROM = 2


async def handle(context: BrokerContext, message: AddOffsetsToTxnRequest, request: Request) -> AddOffsetsToTxnResponse:
    rights = request.rights
    if not rights.may(WRITE_TRANSACTION, message.transactional_id):
        return AddOffsetsToTxnResponse(error_code=Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not rights.may(READ_GROUP, message.group_id):
        return AddOffsetsToTxnResponse(error_code=Code.GROUP_AUTHORIZATION_FAILED)
    producer = Producer(message.producer_id, message.producer_epoch)
    place = TopicPartition(OFFSETS_TOPIC, context.groups.partition_of(message.group_id))
    quarantined = context.groups.quarantined(message.group_id)
    if quarantined is not None:  # A transaction that reached into it could not end.
        return AddOffsetsToTxnResponse(error_code=transaction_code_of(quarantined))
    try:
        context.logs.check_disk()
        await context.logs.room()
        await context.transactions.add(message.transactional_id, producer, [place])
    except HoldfastError as failure:
        return AddOffsetsToTxnResponse(
            error_code=transaction_code_of(failure, knows_fenced=request.version >= _FENCED_FROM)
        )
    return AddOffsetsToTxnResponse(error_code=Code.NONE)
