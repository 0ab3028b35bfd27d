"""DescribeTransactions: what transactional ids are doing."""

from __future__ import annotations

from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

_Answer = response_class(Key.DESCRIBE_TRANSACTIONS)
_State = _Answer.TransactionState


async def handle(parts: BrokerContext, message: Message, request: Request) -> Message:
    wanted = request.pace.through(message.transactional_ids)
    return _Answer(transaction_states=[_describe(parts, each) async for each in wanted])


def _describe(parts: BrokerContext, transactional_id: str) -> Message:
    try:
        found = parts.transactions.describe(transactional_id)
    except HoldfastError as failure:
        return _State(error_code=transaction_code_of(failure), transactional_id=transactional_id)
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(found.partitions):
        by_topic.setdefault(topic, []).append(number)
    return _State(
        error_code=Code.NONE,
        transactional_id=transactional_id,
        transaction_state=found.state.title,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_at_ms,
        producer_id=found.producer_id,
        producer_epoch=found.epoch,
        topics=[_State.TopicData(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()],
    )
