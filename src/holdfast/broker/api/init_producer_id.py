"""InitProducerId: an id that no producer ever had, or, for a transactional id, its producer's next epoch."""

from __future__ import annotations

from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import IDEMPOTENT_WRITE, WRITE_TOPIC, WRITE_TRANSACTION, NotAllowed
from holdfast.broker.net.request import Request
from holdfast.coordinator.transaction.transaction import EPOCH_LAST, Producer
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_EXPECTED_FROM = 3  # From this version on a producer may say who it is.
_FENCED_FROM = 4


async def handle(context: BrokerContext, message: InitProducerIdRequest, request: Request) -> InitProducerIdResponse:
    try:
        _check_rights(message.transactional_id, request.rights)
    except NotAllowed as failure:
        return InitProducerIdResponse(error_code=transaction_code_of(failure), producer_id=-1, producer_epoch=-1)
    expected = Producer(message.producer_id, message.producer_epoch) if request.version >= _EXPECTED_FROM else None
    if expected is not None and (expected.producer_id < 0) != (expected.epoch < 0):
        return InitProducerIdResponse(error_code=Code.INVALID_REQUEST, producer_id=-1, producer_epoch=-1)
    if expected is not None and expected.producer_id < 0:
        expected = None
    try:
        producer = await _next(context, message, expected)
    except HoldfastError as failure:
        code = transaction_code_of(failure, knows_fenced=request.version >= _FENCED_FROM)
        return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
    return InitProducerIdResponse(error_code=Code.NONE, producer_id=producer.producer_id, producer_epoch=producer.epoch)


def _check_rights(transactional_id: str | None, rights: SenderRights) -> None:
    """A producer without transactions may write somewhere, or has the right that was made for it. Raises NotAllowed."""
    if transactional_id is not None:
        rights.need(WRITE_TRANSACTION, transactional_id)
    elif not rights.sees(IDEMPOTENT_WRITE) and not rights.may_any(WRITE_TOPIC):
        rights.need(IDEMPOTENT_WRITE)


async def _next(context: BrokerContext, message: InitProducerIdRequest, expected: Producer | None) -> Producer:
    if message.transactional_id is not None:
        context.logs.check_disk()
        await context.logs.room()
        timeout_ms = message.transaction_timeout_ms
        return await context.transactions.initialize(message.transactional_id, timeout_ms, expected)
    if expected is not None and expected.epoch < EPOCH_LAST:
        # An idempotent producer that lost its place goes on under its id, in the next epoch.
        return Producer(expected.producer_id, expected.epoch + 1)
    return Producer(await context.producer_ids.next(), 0)
