"""The transaction coordinator: all transactional ids whose internal partitions are here.

coordinator = TransactionCoordinator(logs, ends, producer_ids, clock=clock)
await coordinator.load()
producer = await coordinator.initialize("copier", timeout_ms=60_000)
coordinator.enlist("copier", producer, TopicPartition("t", 0), implicit=True)  # Then append the batch.
producer = await coordinator.end("copier", producer, commit=True, client_version=2)

Calls raise the errors of `holdfast.coordinator.transaction.errors`. An answer comes after everything it depends on is
durable; a step that has begun is carried through, also if nobody waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from holdfast.coordinator.runtime.errors import CoordinatorLoading, CoordinatorStopped, NotCoordinator
from holdfast.coordinator.runtime.fields import check_text
from holdfast.coordinator.runtime.internal_topic import InternalLogs, InternalTopic
from holdfast.coordinator.runtime.timers import Alarm, LoopAlarm, Timers
from holdfast.coordinator.transaction import rules
from holdfast.coordinator.transaction.durable_transaction import DurableTransaction, Ends
from holdfast.coordinator.transaction.errors import (
    ProducerIdMismatch,
    TooManyTransactionalIds,
    TransactionalIdUnknown,
    TransactionEnding,
    TransactionTimeoutInvalid,
)
from holdfast.coordinator.transaction.loader import load
from holdfast.coordinator.transaction.producer_ids import ProducerIds
from holdfast.coordinator.transaction.settings import TransactionSettings
from holdfast.coordinator.transaction.transaction import NO_ID, Producer, Transaction, TransactionState
from holdfast.errors import Corrupt, HoldfastError, Rejected
from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog
from holdfast.types import TopicPartition

log = logging.getLogger(__name__)

_RETRY_MS = 1000
_LOOK_MS = 1_000  # A full table is looked through at most so often,
_GIVEN_UP_MAX = 500  # and so many ids go at a time.
EXPLICIT, IMPLICIT = 1, 2  # Versions of transactions: partitions are added by a request, or by what is written to them.


class TransactionCoordinator:
    """Belongs to one event loop."""

    def __init__(
        self,
        logs: InternalLogs,
        ends: Ends,
        producer_ids: ProducerIds,
        settings: TransactionSettings | None = None,
        *,
        clock: Clock,
        alarm: Alarm | None = None,
    ) -> None:
        """`logs` are the partitions of the internal topic, in order; their number must never change.

        A corrupt one is there as the reason why: its ids get CoordinatorQuarantined, all others are served.
        """
        self.timers = Timers(clock, alarm or LoopAlarm())
        self._topic = InternalTopic("transactions", logs)
        self._ends = ends
        self._producer_ids = producer_ids
        self._settings = settings or TransactionSettings()
        self._clock = clock
        self._hosted: dict[str, DurableTransaction] = {}
        self._fencing: dict[str, asyncio.Task[None]] = {}  # Those that wait for a new producer id.
        self._looked_at = -_LOOK_MS
        self._stopped = False
        self.ended: Counter[TransactionState] = Counter()  # Since the start, by how they ended.

    # Life

    async def load(self) -> None:
        """Read the internal partitions, and carry out what was prepared. What is open goes on until its time is up."""
        await self._topic.load(self._load)
        prepared = self._go_on(list(self._hosted.values()))
        await asyncio.gather(*(hosted.durable() for hosted in prepared))
        self.timers.call_at(self.timers.now() + self._settings.expiration_check_ms, self._expire_ids)

    async def _load(self, number: int, partition: PartitionLog) -> None:
        for transaction in await load(partition, f"internal partition {number} of transactions"):
            self._host(transaction)

    def _go_on(self, loaded: list[DurableTransaction]) -> list[DurableTransaction]:
        """Carry out what was prepared by whoever had these ids before; which they are. The others have their time."""
        prepared = [each for each in loaded if each.value.state.is_prepared]
        for hosted in prepared:
            hosted.complete()
        for hosted in loaded:
            if hosted.value.state is TransactionState.ONGOING:
                hosted.set_timer()
        if loaded:
            log.info("%d transactional ids are loaded; %d ends are carried out", len(loaded), len(prepared))
        return prepared

    async def follow(self, logs: InternalLogs) -> None:
        """Serve the ids of these internal partitions from here on, and no others. Raises if one cannot be read."""
        await self._topic.follow(logs, self._open_one, self._close_one)

    async def _open_one(self, number: int, partition: PartitionLog) -> None:
        await self._topic.take(number, partition, self._load, self._close_one)
        self._go_on([each for key, each in self._hosted.items() if self.partition_of(key) == number])

    def _close_one(self, number: int) -> None:
        """Another broker has an internal partition: it goes on with what was decided here."""
        was_served = number in self._topic.served
        for transactional_id in [each for each in self._hosted if was_served and self.partition_of(each) == number]:
            self._hosted.pop(transactional_id).stop()
            fencing = self._fencing.get(transactional_id)
            if fencing is not None:
                fencing.cancel()
        self._topic.close_one(number)

    async def close(self) -> None:
        """Take no more; what was appended becomes durable when the logs are closed."""
        self._stopped = True
        self.timers.stop()
        for hosted in self._hosted.values():
            hosted.stop()
        for task in self._fencing.values():
            task.cancel()
        await asyncio.gather(*self._fencing.values(), return_exceptions=True)

    def _host(self, transaction: Transaction) -> DurableTransaction:
        home = self._topic.served[self.partition_of(transaction.transactional_id)]
        around = self._ends, self.timers, self._clock
        hosted = DurableTransaction(transaction, home, *around, self._fence_late, self.ended)
        self._hosted[transaction.transactional_id] = hosted
        return hosted

    def partition_of(self, transactional_id: str) -> int:
        """The internal partition that holds a transactional id."""
        return self._topic.number_of(transactional_id)

    def serves(self, transactional_id: str) -> bool:
        """Whether this broker is the coordinator of an id, and has read what there is of it."""
        number = self.partition_of(transactional_id)
        served = self._topic.served.get(number)
        return served is not None and served.is_alive and number not in self._topic.loading

    def quarantined(self, transactional_id: str | None = None) -> Corrupt | None:
        """Why an id cannot be served, or why a list of all ids is not whole; None if all is well."""
        return self._topic.quarantined(transactional_id)

    # Producers

    async def initialize(self, transactional_id: str, timeout_ms: int, expected: Producer | None = None) -> Producer:
        """A producer begins: all older ones of its id are shut out, and what they left open is aborted."""
        self._check(transactional_id)
        if not 1 <= timeout_ms <= self._settings.timeout_ms_max:
            raise TransactionTimeoutInvalid(timeout_ms, self._settings.timeout_ms_max)
        hosted = self._hosted.get(transactional_id) or await self._create(transactional_id, timeout_ms)
        spare_id = await self._spare_id(hosted)
        now_ms = self._clock.now_ms()
        if hosted.value.state is TransactionState.ONGOING:
            rules.check_expected(hosted.value, expected)
            hosted.carry_out(rules.fence(hosted.value, spare_id, now_ms))
            after = hosted.producer_after
            if hosted.value.state.is_prepared:
                await hosted.ended()
                self._check_same(hosted, after)
            hosted.move(rules.take_over(hosted.value, expected, timeout_ms, spare_id, now_ms))
        else:
            hosted.move(rules.initialize(hosted.value, expected, timeout_ms, spare_id, now_ms))
        producer = hosted.value.producer
        await hosted.durable()
        return producer

    def _check_same(self, hosted: DurableTransaction, after: Producer) -> None:
        """While other brokers were told of an end, somebody else may have come, or the id gone elsewhere."""
        value = hosted.value
        self._check(value.transactional_id)
        if self._hosted.get(value.transactional_id) is not hosted:
            raise NotCoordinator(self.partition_of(value.transactional_id))
        if not value.state.is_complete or value.producer != after:
            raise TransactionEnding(value.transactional_id, value.state)

    async def _create(self, transactional_id: str, timeout_ms: int) -> DurableTransaction:
        if len(self._hosted) >= self._settings.ids_max:
            self._make_room()
        if len(self._hosted) >= self._settings.ids_max:
            raise TooManyTransactionalIds(self._settings.ids_max)
        producer_id = await self._producer_ids.next()
        self._check(transactional_id)
        found = self._hosted.get(transactional_id)  # Somebody else may have made it while we waited.
        new = Transaction(transactional_id=transactional_id, producer_id=producer_id, timeout_ms=timeout_ms)
        return found or self._host(new)

    def _make_room(self) -> None:
        """The table is full: ids that never had a transaction go, some at a time, and shut nobody out."""
        now = self.timers.now()
        if now < self._looked_at + _LOOK_MS:
            return
        self._looked_at = now
        before_ms = self._clock.now_ms() - self._settings.silence_ms
        newest_first = reversed(self._hosted.items())  # A flood is newer than who was here before it.
        found = (
            transactional_id
            for transactional_id, hosted in newest_first
            if hosted.value.state is TransactionState.EMPTY and 0 < hosted.value.changed_at_ms <= before_ms
        )
        unused = list(islice(found, _GIVEN_UP_MAX))
        facts = {"event": "transactional_ids_full", "ids": self._settings.ids_max, "given_up": len(unused)}
        log.warning(
            "there are %d transactional ids: %d that were never used are given up",
            self._settings.ids_max,
            len(unused),
            extra={"facts": facts},
        )
        for transactional_id in unused:
            self._hosted.pop(transactional_id).forget()

    async def _spare_id(self, hosted: DurableTransaction) -> int:
        """A new producer id, if the next step may need one. Without a wait if not: nothing can change meanwhile."""
        if not hosted.value.needs_spare_id:
            return NO_ID
        spare_id = await self._producer_ids.next()
        self._check(hosted.value.transactional_id)
        return spare_id

    # Partitions

    async def add(self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]) -> None:
        """Partitions become part of the open transaction; the first ones open it."""
        hosted = self._find(transactional_id, producer)
        hosted.move(rules.add(hosted.value, producer, partitions, EXPLICIT, self._clock.now_ms()))
        await hosted.durable()

    async def admit(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition], *, implicit: bool
    ) -> None:
        """Another broker has batches of a producer's transaction: raise unless it may append them.

        Unless `implicit`, the partitions must be part of the transaction already. Something is written in any case,
        behind the question: had another coordinator been there by then, it would never become durable.
        """
        hosted = self._find(transactional_id, producer)
        before = hosted.value
        if implicit:
            hosted.move(rules.add(before, producer, partitions, IMPLICIT, self._clock.now_ms()))
        for each in () if implicit else partitions:
            rules.verify(before, producer, each)
        if hosted.value is before:
            hosted.say_again()
        await hosted.durable()

    def enlist(
        self, transactional_id: str | None, producer: Producer, partition: TopicPartition, *, implicit: bool
    ) -> None:
        """Something of a producer's transaction is about to be appended to a partition.

        Nobody has to wait: the record that makes the partition part of the transaction is in the write-ahead log when
        this returns, and whatever the caller appends next is behind it. Unless `implicit`, it must be part already.
        """
        if transactional_id is None:
            raise Rejected(f"{transactional_id!r} is no transactional id")
        hosted = self._find(transactional_id, producer)
        if implicit:
            hosted.move(rules.add(hosted.value, producer, (partition,), IMPLICIT, self._clock.now_ms()))
        else:
            rules.verify(hosted.value, producer, partition)

    # The end

    async def end(self, transactional_id: str, producer: Producer, *, commit: bool, client_version: int) -> Producer:
        """Commit or abort. Who the producer is from then on: in version 2 each transaction has its own epoch."""
        hosted = self._find(transactional_id, producer)
        spare_id = await self._spare_id(hosted)
        prepared = rules.end(
            hosted.value,
            producer,
            commit=commit,
            client_version=client_version,
            spare_id=spare_id,
            now_ms=self._clock.now_ms(),
        )
        if prepared is not hosted.value:
            hosted.carry_out(prepared)
        after = hosted.producer_after
        await hosted.ended()
        return after

    def _fence_late(self, hosted: DurableTransaction) -> None:
        """An open transaction has had its time."""
        transactional_id = hosted.value.transactional_id
        if not hosted.value.needs_spare_id:
            self._fence(hosted, NO_ID)
        elif transactional_id not in self._fencing:
            task = asyncio.ensure_future(self._fence_with_new_id(hosted))
            self._fencing[transactional_id] = task
            task.add_done_callback(lambda _: self._fencing.pop(transactional_id, None))

    async def _fence_with_new_id(self, hosted: DurableTransaction) -> None:
        try:
            spare_id = await self._spare_id(hosted)
        except HoldfastError as failure:
            log.warning("transactional id %s is late, but stays: %s", hosted.value.transactional_id, failure)
            self.timers.call_at(self.timers.now() + _RETRY_MS, hosted.tick)
            return
        if hosted.is_late:
            self._fence(hosted, spare_id)

    def _fence(self, hosted: DurableTransaction, spare_id: int) -> None:
        late = hosted.value
        log.info("transactional id %s: its transaction has timed out, and is aborted", late.transactional_id)
        try:
            hosted.carry_out(rules.time_out(late, spare_id, self._clock.now_ms()))
        except HoldfastError as failure:  # The logs have stopped: the next process will find it late, too.
            log.warning("transactional id %s could not be aborted: %s", late.transactional_id, failure)

    # Looking

    def _find(self, transactional_id: str, producer: Producer) -> DurableTransaction:
        hosted = self._hosted.get(transactional_id)
        if hosted is None or self._stopped:
            self._check(transactional_id)
            raise ProducerIdMismatch(transactional_id, producer.producer_id, None)
        hosted.check_alive()
        return hosted

    def _check(self, transactional_id: str) -> None:
        self._check_running()
        if not transactional_id:
            raise Rejected(f"{transactional_id!r} is no transactional id")
        check_text("transactional id", transactional_id)
        self._topic.check(transactional_id)
        if self._topic.loading and self.partition_of(transactional_id) in self._topic.loading:
            raise CoordinatorLoading(self.partition_of(transactional_id))

    def _check_running(self) -> None:
        if self._stopped:
            raise CoordinatorStopped

    def describe(self, transactional_id: str) -> Transaction:
        """One transactional id; TransactionalIdUnknown if there is none."""
        self._check(transactional_id)
        hosted = self._hosted.get(transactional_id)
        if hosted is None:
            raise TransactionalIdUnknown(transactional_id)
        return hosted.value

    def all(self) -> list[Transaction]:
        """All transactional ids but those in quarantine."""
        self._check_running()
        return [hosted.value for hosted in self._hosted.values()]

    @property
    def left_count(self) -> int:
        """How many ends wait for a partition that cannot be written to before it is repaired."""
        return sum(len(hosted.left) for hosted in self._hosted.values())

    # Retention

    def _expire_ids(self, now: int) -> None:
        """Forget the ids that nobody has used for long."""
        before_ms = self._clock.now_ms() - self._settings.id_expiration_ms
        try:
            for transactional_id, hosted in list(self._hosted.items()):
                if hosted.value.state.is_idle and hosted.value.changed_at_ms <= before_ms:
                    log.info("transactional id %s was not used for long: it is forgotten", transactional_id)
                    hosted.forget()
                    del self._hosted[transactional_id]
        except HoldfastError as failure:
            log.warning("transactional ids could not be forgotten: %s", failure)
        self.timers.call_at(now + self._settings.expiration_check_ms, self._expire_ids)
