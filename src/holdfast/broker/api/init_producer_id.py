"""InitProducerId: an id that no producer ever had. Transactions have their own part, which is to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.broker.codes import Code, code_of
from holdfast.broker.request import Request
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.messages import Message, response_class

if TYPE_CHECKING:
    from holdfast.broker.broker import Parts

_Answer = response_class(Key.INIT_PRODUCER_ID)
_EPOCH_MAX = 2**15 - 1


async def handle(parts: Parts, message: Message, request: Request) -> Message:
    if message.transactional_id is not None:
        return _Answer(error_code=Code.COORDINATOR_NOT_AVAILABLE, producer_id=-1, producer_epoch=-1)
    known = message.producer_id if request.version >= 3 else -1
    if known >= 0 and message.producer_epoch < _EPOCH_MAX - 1:
        # An idempotent producer that lost its place goes on under its id, in the next epoch.
        return _Answer(error_code=Code.NONE, producer_id=known, producer_epoch=message.producer_epoch + 1)
    try:
        return _Answer(error_code=Code.NONE, producer_id=await parts.producer_ids.next(), producer_epoch=0)
    except HoldfastError as failure:
        return _Answer(error_code=code_of(failure), producer_id=-1, producer_epoch=-1)
