"""EndTxn: commit or abort. From version 5 on the producer gets another epoch with the answer."""

from __future__ import annotations

from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import WRITE_TRANSACTION
from holdfast.broker.net.request import Request
from holdfast.coordinator.transaction.coordinator import EXPLICIT, IMPLICIT
from holdfast.coordinator.transaction.transaction import Producer
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse

_FENCED_FROM = 2
_IMPLICIT_FROM = 5


async def handle(context: BrokerContext, message: EndTxnRequest, request: Request) -> EndTxnResponse:
    client_version = IMPLICIT if request.version >= _IMPLICIT_FROM else EXPLICIT
    producer = Producer(message.producer_id, message.producer_epoch)
    try:
        request.rights.need(WRITE_TRANSACTION, message.transactional_id)
        after = await context.transactions.end(
            message.transactional_id, producer, commit=message.committed, client_version=client_version
        )
    except HoldfastError as failure:
        return EndTxnResponse(error_code=transaction_code_of(failure, knows_fenced=request.version >= _FENCED_FROM))
    return EndTxnResponse(error_code=Code.NONE, producer_id=after.producer_id, producer_epoch=after.epoch)
