"""ListTransactions: which transactional ids there are, by state, producer, duration or name."""

from __future__ import annotations

from holdfast.broker.codes import transaction_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_TRANSACTION
from holdfast.broker.net.request import Request
from holdfast.coordinator.transaction.filter import TransactionFilter
from holdfast.coordinator.transaction.transaction import TransactionState
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated import list_transactions
from holdfast.protocol.generated.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

_STATES = {state.title: state for state in TransactionState}


async def handle(
    context: BrokerContext, message: ListTransactionsRequest, request: Request
) -> ListTransactionsResponse:
    states: set[TransactionState] = set()
    unknown = []
    async for name in request.pace.through(message.state_filters):
        if name in _STATES:
            states.add(_STATES[name])
        else:
            unknown.append(name)
    try:
        wanted = TransactionFilter.make(
            states=states,
            producer_ids=message.producer_id_filters,
            longer_than_ms=message.duration_filter,
            pattern=message.transactional_id_pattern or "",
        )
        found = wanted.select(context.transactions.all(), context.clock.now_ms())
    except HoldfastError as failure:
        return ListTransactionsResponse(
            error_code=transaction_code_of(failure), unknown_state_filters=unknown, transaction_states=[]
        )
    if message.state_filters and len(unknown) == len(message.state_filters):
        found = []  # Only states that nobody can be in.
    lines = [
        list_transactions.TransactionState(
            transactional_id=each.transactional_id,
            producer_id=each.producer_id,
            transaction_state=each.state.title,
        )
        async for each in request.pace.through(found)
        if request.rights.sees(DESCRIBE_TRANSACTION, each.transactional_id)
    ]
    quarantined = context.transactions.quarantined()  # Those that are known, and that they are not all.
    code = Code.NONE if quarantined is None else transaction_code_of(quarantined)
    return ListTransactionsResponse(error_code=code, unknown_state_filters=unknown, transaction_states=lines)
