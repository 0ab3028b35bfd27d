"""Why a produce request is refused, and the codes for it that only producers are told."""

from __future__ import annotations

from holdfast.broker.peers.permits import NoPermit
from holdfast.coordinator.runtime.errors import CoordinatorLoading, NotCoordinator
from holdfast.coordinator.transaction.errors import ProducerFenced, TransactionEnding
from holdfast.errors import Rejected, Unavailable
from holdfast.protocol.codes import Code


class ProduceRefused(Rejected):
    """A producer that wants no answers has sent something wrong: all it can be told is that the connection closes."""


class BadAcks(Rejected):
    pass


class UnknownId(Rejected):
    pass


class NothingSent(Rejected):
    pass


class WrittenByBroker(Rejected):
    pass


class NotTransactional(Rejected):
    pass


class RulesChanged(Unavailable):
    """A topic has got other rules since a request came: send it again."""

    def __init__(self) -> None:
        super().__init__("the topic was altered while this came: send it again")


OWN_CODES: dict[type[BaseException], Code] = {
    BadAcks: Code.INVALID_REQUIRED_ACKS,
    UnknownId: Code.UNKNOWN_TOPIC_ID,
    NothingSent: Code.INVALID_RECORD,
    WrittenByBroker: Code.INVALID_TOPIC_EXCEPTION,
    NotTransactional: Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ProducerFenced: Code.INVALID_PRODUCER_EPOCH,  # What producers have always been told here.
    NoPermit: Code.NOT_ENOUGH_REPLICAS,  # What every producer answers by sending it once more.
    NotCoordinator: Code.NOT_ENOUGH_REPLICAS,
    CoordinatorLoading: Code.NOT_ENOUGH_REPLICAS,
    TransactionEnding: Code.NOT_ENOUGH_REPLICAS,
    RulesChanged: Code.NOT_ENOUGH_REPLICAS,
}
