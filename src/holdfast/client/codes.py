"""Kafka's error codes as a client meets them, by what to do about them. The broker's side of it is `broker.codes`."""

from __future__ import annotations

from holdfast.client.errors import NotNow, OffsetGone, ProducerFenced, Refused, TransactionLost
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code

SOON = frozenset(
    {
        Code.LEADER_NOT_AVAILABLE,
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.REQUEST_TIMED_OUT,
        Code.BROKER_NOT_AVAILABLE,
        Code.REPLICA_NOT_AVAILABLE,
        Code.NETWORK_EXCEPTION,
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.NOT_COORDINATOR,
        Code.NOT_ENOUGH_REPLICAS,
        Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Code.NOT_CONTROLLER,
        Code.CONCURRENT_TRANSACTIONS,
        Code.KAFKA_STORAGE_ERROR,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.OFFSET_NOT_AVAILABLE,
        Code.UNSTABLE_OFFSET_COMMIT,
        Code.THROTTLING_QUOTA_EXCEEDED,
    }
)
_FENCED = frozenset(
    {Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED, Code.TRANSACTION_COORDINATOR_FENCED}
)  # The first is what older brokers say for the second.
_AGAIN = frozenset(
    {
        Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Code.INVALID_TXN_STATE,
        Code.INVALID_PRODUCER_ID_MAPPING,
        Code.OPERATION_NOT_ATTEMPTED,
        Code.UNKNOWN_PRODUCER_ID,
        Code.TRANSACTION_ABORTABLE,
    }
)


def failure_of(what: str, code: int, message: str | None = None) -> HoldfastError:
    """An answer's error code as an error that says what to do."""
    kind: type[NotNow | ProducerFenced | TransactionLost | Refused] = Refused
    if code in SOON:
        kind = NotNow
    elif code in _FENCED:
        kind = ProducerFenced
    elif code in _AGAIN:
        kind = TransactionLost
    elif code == Code.OFFSET_OUT_OF_RANGE:
        kind = OffsetGone
    return kind(what, code, message or name_of(code))


def soon(code: int) -> int:
    """Whoever leads a partition that was just made may not know it yet; one that is gone has no leader when asked."""
    return Code.LEADER_NOT_AVAILABLE if code == Code.UNKNOWN_TOPIC_OR_PARTITION else code


def name_of(code: int) -> str:
    """A code in words."""
    try:
        return Code(code).name.replace("_", " ").lower().removesuffix(" exception")
    except ValueError:
        return f"error {code}"


def check(what: str, code: int, message: str | None = None) -> None:
    """Raise unless an answer's error code says that all is well."""
    if code:
        raise failure_of(what, code, message)
