"""DescribeTransactions: what transactional ids are doing."""

from __future__ import annotations

from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import DESCRIBE_TOPIC, DESCRIBE_TRANSACTION
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


async def handle(
    context: BrokerContext, message: DescribeTransactionsRequest, request: Request
) -> DescribeTransactionsResponse:
    wanted = request.pace.through(message.transactional_ids)
    return DescribeTransactionsResponse(
        transaction_states=[_describe(context, each, request.rights) async for each in wanted]
    )


def _describe(context: BrokerContext, transactional_id: str, rights: SenderRights) -> TransactionState:
    try:
        rights.need(DESCRIBE_TRANSACTION, transactional_id)
        found = context.transactions.describe(transactional_id)
    except HoldfastError as failure:
        return TransactionState(error_code=transaction_code_of(failure), transactional_id=transactional_id)
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(found.partitions):
        by_topic.setdefault(topic, []).append(number)
    shown = {topic: numbers for topic, numbers in by_topic.items() if rights.sees(DESCRIBE_TOPIC, topic)}
    return TransactionState(
        error_code=Code.NONE,
        transactional_id=transactional_id,
        transaction_state=found.state.title,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_at_ms,
        producer_id=found.producer_id,
        producer_epoch=found.epoch,
        topics=[TopicData(topic=topic, partitions=numbers) for topic, numbers in shown.items()],
    )
