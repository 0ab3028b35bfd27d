"""ListTransactions, versions 0 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class TransactionState(Message):
    __slots__ = ()
    ROWS = (
        ("transactional_id", "string", (0, 2), None, None),
        ("producer_id", "int64", (0, 2), None, None),
        ("transaction_state", "string", (0, 2), None, None),
    )
    transactional_id: Final[str] = field(0)
    producer_id: Final[int] = field(1)
    transaction_state: Final[str] = field(2)

    def __new__(
        cls,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
    ) -> TransactionState:
        return new(cls, (transactional_id, producer_id, transaction_state))


class ListTransactionsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 2), None, None),
        ("error_code", "int16", (0, 2), None, None),
        ("unknown_state_filters", "[]string", (0, 2), None, None),
        ("transaction_states", "[]TransactionState", (0, 2), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    unknown_state_filters: Final[Sequence[str]] = field(2)
    transaction_states: Final[Sequence[TransactionState]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: Sequence[str] = (),
        transaction_states: Sequence[TransactionState] = (),
    ) -> ListTransactionsResponse:
        return new(cls, (throttle_time_ms, error_code, unknown_state_filters, transaction_states))


class ListTransactionsRequest(RequestMessage[ListTransactionsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("state_filters", "[]string", (0, 2), None, None),
        ("producer_id_filters", "[]int64", (0, 2), None, None),
        ("duration_filter", "int64", (1, 2), None, None),
        ("transactional_id_pattern", "string", (2, 2), (2, 2), None),
    )
    state_filters: Final[Sequence[str]] = field(0)
    producer_id_filters: Final[Sequence[int]] = field(1)
    duration_filter: Final[int] = field(2)
    transactional_id_pattern: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        state_filters: Sequence[str] = (),
        producer_id_filters: Sequence[int] = (),
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> ListTransactionsRequest:
        return new(cls, (state_filters, producer_id_filters, duration_filter, transactional_id_pattern))
