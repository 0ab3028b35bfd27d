"""Whether a batch of a transaction may be appended whose coordinator is another broker.

It is asked before the first batch of a transaction in a partition: the coordinator then knows of the partition, and
will tell it how the transaction ends. A marker that comes between the question and the append may be that end: then
the permit is void, and what was to be appended is refused. So nothing is ever left open that nobody will end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from holdfast.broker.peers.peers import Peers, admission
from holdfast.broker.shared_topics import SharedTopics
from holdfast.broker.topics import TRANSACTIONS_TOPIC
from holdfast.coordinator.runtime.internal_topic import partition_of
from holdfast.coordinator.transaction.errors import (
    NotInTransaction,
    ProducerFenced,
    ProducerIdMismatch,
    TransactionEnding,
)
from holdfast.coordinator.transaction.transaction import Producer, TransactionState
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.calls import BlockingCalls
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.types import PartitionId, TopicPartition

_TRIES = 5
_AGAIN_S = 0.2
_AGAIN: Final = (Code.NOT_COORDINATOR, Code.COORDINATOR_LOAD_IN_PROGRESS, Code.COORDINATOR_NOT_AVAILABLE)


class NoPermit(Unavailable):
    """Whether a batch belongs to a transaction cannot be known now: send it again."""

    def __init__(self, transactional_id: str, why: object) -> None:
        super().__init__(f"whether this belongs to a transaction of {transactional_id} is not known: {why}")


class Permit:
    """To append the first batch of a producer's transaction to one partition. To be released in any case."""

    __slots__ = ("_is_void", "_partition", "_permits", "producer", "transactional_id")

    def __init__(self, permits: Permits, partition: PartitionLog, transactional_id: str, producer: Producer) -> None:
        self._permits = permits
        self._partition = partition
        self._is_void = False
        self.transactional_id = transactional_id
        self.producer = producer

    def check(self, producer: Producer) -> None:
        """Raise unless it holds. What is appended next, without a wait, may be."""
        self._partition.check_alive()
        if self._is_void or producer != self.producer:
            raise NoPermit(self.transactional_id, "a transaction of its producer has just ended here")

    def end(self) -> None:
        self._is_void = True

    def release(self) -> None:
        self._permits.release(self._partition.home, self)


class Permits:
    """Belongs to one event loop."""

    def __init__(self, topics: SharedTopics, peers: Peers, calls: BlockingCalls) -> None:
        self._topics = topics
        self._peers = peers
        self._calls = calls
        self._out: dict[tuple[PartitionId, int], set[Permit]] = {}

    async def ask(
        self,
        transactional_id: str,
        producer: Producer,
        place: TopicPartition,
        partition: PartitionLog,
        *,
        implicit: bool,
    ) -> Permit:
        """Ask the coordinator. Raises what it says: NotInTransaction, ProducerFenced …, or NoPermit."""
        permit = Permit(self, partition, transactional_id, producer)
        self._out.setdefault((partition.home, producer.producer_id), set()).add(permit)  # Before it is asked.
        try:
            code = await self._answer(transactional_id, producer, place, implicit=implicit)
            if code:
                raise _refusal(code, transactional_id, producer, place)
        except BaseException:
            permit.release()
            raise
        return permit

    async def _answer(self, transactional_id: str, producer: Producer, place: TopicPartition, *, implicit: bool) -> int:
        number = partition_of(transactional_id, len(self._topics.get(TRANSACTIONS_TOPIC).logs))
        question = admission(transactional_id, *producer, place, implicit=implicit)
        why: object = "nobody is its coordinator"
        for attempt in range(_TRIES):
            if attempt:
                await self._calls.pause(_AGAIN_S)
                await self._topics.look_again()
            coordinator = self._topics.leader_of(TRANSACTIONS_TOPIC, number)
            if coordinator is None:
                continue
            try:
                code = await self._peers.admit(coordinator, question)
            except Unavailable as failure:
                raise NoPermit(transactional_id, failure) from None
            if code not in _AGAIN:
                return code
            why = Code(code).name
        raise NoPermit(transactional_id, why)

    def end(self, partition: PartitionLog, producer_id: int) -> None:
        """A transaction of a producer ends in a partition: whatever was asked before is void."""
        for each in self._out.get((partition.home, producer_id), ()):
            each.end()

    def release(self, home: PartitionId, permit: Permit) -> None:
        key = home, permit.producer.producer_id
        left = self._out.get(key, set())
        left.discard(permit)
        if not left:
            self._out.pop(key, None)


def _refusal(code: int, transactional_id: str, producer: Producer, place: TopicPartition) -> HoldfastError:
    """What a coordinator's code says, as the error that we would have raised ourselves."""
    found = _REFUSALS.get(code)
    if found is None:
        return NoPermit(transactional_id, f"its coordinator answers {code}")
    return found(transactional_id, producer, place)


_REFUSALS: Final[dict[int, Callable[[str, Producer, TopicPartition], HoldfastError]]] = {
    Code.TRANSACTION_ABORTABLE: lambda key, _, place: NotInTransaction(key, place),
    Code.INVALID_TXN_STATE: lambda key, _, place: NotInTransaction(key, place),
    Code.PRODUCER_FENCED: lambda key, producer, _: ProducerFenced(key, producer, None),
    Code.INVALID_PRODUCER_EPOCH: lambda key, producer, _: ProducerFenced(key, producer, None),
    Code.INVALID_PRODUCER_ID_MAPPING: lambda key, producer, _: ProducerIdMismatch(key, producer.producer_id, None),
    Code.CONCURRENT_TRANSACTIONS: lambda key, *_: TransactionEnding(key, TransactionState.PREPARE_COMMIT),
}
