"""Produce: look into batches, append them, and answer when they are durable.

Everything of a request is checked before anything of it is appended. What can be checked quickly is, on the event loop;
a request with a batch that takes longer waits for a thread, and so do the later ones of its connection: until it is
appended, not until it is durable.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial

from holdfast.broker.api.produce_errors import (
    OWN_CODES,
    BadAcks,
    NothingSent,
    NotTransactional,
    ProduceRefused,
    UnknownId,
    WrittenByBroker,
)
from holdfast.broker.api.produce_look import Look, Looked, Quickly, Sound, TakesLonger, look
from holdfast.broker.api.produce_together import Together
from holdfast.broker.codes import code_of
from holdfast.broker.elsewhere import Others, endpoints_of, nobody_else
from holdfast.broker.guard.gate import Gate
from holdfast.broker.guard.rights import WRITE_TOPIC, WRITE_TRANSACTION, Right
from holdfast.broker.net.one_batch import OneBatch
from holdfast.broker.net.request import Done, Request
from holdfast.broker.net.slices import Slices
from holdfast.broker.peers.permits import Permit, Permits
from holdfast.broker.topics import INTERNAL, Topics
from holdfast.coordinator.transaction.coordinator import TransactionCoordinator
from holdfast.coordinator.transaction.errors import NotInTransaction
from holdfast.coordinator.transaction.transaction import Producer
from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.log.errors import LedElsewhere
from holdfast.log.logs import Logs
from holdfast.log.partition.admission import admit
from holdfast.log.partition.partition import Appended, PartitionLog
from holdfast.measure import ErrorCounts
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.header import frame_response
from holdfast.protocol.hot.leaders import CurrentLeader, LeaderAddress
from holdfast.protocol.hot.produce import ProducePartition, ProduceRequest, ProduceTopic, decode_request
from holdfast.protocol.hot.produce_response import (
    LEADERS_FROM,
    Produced,
    ProducedElsewhere,
    ProducedTopic,
    encode_response,
    frame_one,
)
from holdfast.record.batch import BatchHeader
from holdfast.record.errors import RecordsWithoutKey
from holdfast.record.validate import Records, Validator, is_slow
from holdfast.types import Buffer, TopicPartition

_ACKS = (-1, 0, 1)
_ABORTABLE_FROM = 11  # From this version on clients know that a transaction can be aborted, and tried again.
_MANY = 500  # Topics or partitions of one request.
_ONE = 2  # One topic with one partition.
_IMPLICIT_FROM = 12  # From this version on a partition is part of a transaction by being produced to.
_VALIDATED_MAX = 2  # Batches that are looked at in threads at the same time: each may expand to much.


_new_produced = partial(tuple.__new__, Produced)


def _tell_nobody(_answer: Sequence[Buffer]) -> None:
    """Nothing is appended, so nothing is answered."""


class Produce:
    """The produce path of all connections."""

    def __init__(
        self,
        topics: Topics,
        logs: Logs,
        transactions: TransactionCoordinator,
        clock: Clock,
        heavy: BlockingCalls,
        gate: Gate,
        permits: Permits | None = None,
        others: Others = nobody_else,
    ) -> None:
        self.topics = topics
        self.logs = logs
        self.transactions = transactions
        self.clock = clock
        self._heavy = heavy
        self.gate = gate
        self.others = others  # Brokers that may lead what we do not.
        self.permits = permits  # Where coordinators of transactions may be other brokers.
        self._validator = Validator()
        self._together = Together(logs, self._find, self._refuse, self._alone)
        self.errors: ErrorCounts = Counter()
        self._looking = asyncio.Semaphore(_VALIDATED_MAX)

    def start(self, request: Request, done: Done) -> bool:
        """Append now and call back with the answer; False when the producer has to wait: for room, or for a thread.

        On a full disk it does not wait: it is refused, and tries again when it likes.
        """
        if not self.logs.has_room and not self.logs.is_disk_low:
            return False
        header, one = request.header, request.one
        if one is not None and self._together.join(request, done, is_gated=self.gate.is_on):
            return True
        self._together.run()  # They came first.
        if one is not None:
            if self.is_asked(one[1].transactional_id):
                return False
            return _Answering(self, request, one[1], done).start_one(self._validator)
        message = decode_request(header.api_version, request.frame[header.body :])
        count = len(message.topics) + len(message.topics[0].partitions) if message.topics else 0
        if self.is_asked(message.transactional_id):
            return False  # Its coordinator has to be asked.
        if count > _MANY:
            return False  # Too many to be appended in one go: `handle` lets others go on in between.
        answering = _Answering(self, request, message, done)
        if count == _ONE:
            return answering.start_one(self._validator)
        return answering.check(self._validator, self.clock) and answering.start()

    def is_asked(self, transactional_id: str | None) -> bool:
        """Whether another broker has to be asked about batches of an id."""
        if transactional_id is None or self.permits is None:
            return False
        return not self.transactions.serves(transactional_id)

    async def handle(self, request: Request) -> Sequence[Buffer]:
        """The same, once there is room."""
        answer: asyncio.Future[Sequence[Buffer]] = asyncio.get_running_loop().create_future()

        def done(buffers: Sequence[Buffer]) -> None:
            if not answer.done():
                answer.set_result(buffers)

        self._together.run()
        if not self.logs.is_disk_low:
            await self.logs.room()
        message = decode_request(request.version, request.body)
        answering, pace = _Answering(self, request, message, done), Slices(self.clock)
        if self.is_asked(message.transactional_id):
            await answering.start_permitted(pace, self._check_slowly)
        else:
            await answering.start_in_slices(pace, self._check_slowly)
        if request.appended is not None:
            request.appended()
        return await answer

    # For those that come together

    def _find(self, request: Request) -> PartitionLog:
        assert request.one is not None
        message = request.one[1]
        topic = message.topics[0]
        return _Answering(self, request, message, _tell_nobody)._find(topic, topic.partitions[0].partition)

    def _alone(self, request: Request, done: Done) -> bool:
        assert request.one is not None
        return _Answering(self, request, request.one[1], done).start_one(self._validator)

    def _refuse(self, request: Request, done: Done, failure: BaseException) -> None:
        assert request.one is not None
        _Answering(self, request, request.one[1], done).refuse_one(failure)

    async def _check_slowly(self, partition: PartitionLog, records: memoryview) -> list[Looked]:
        async with self._looking:
            return await self._heavy.local(look, partition, records)


class _Answering:
    """One produce request, from its appends to its answer."""

    __slots__ = ("_checked", "_done", "_left", "_message", "_permits", "_produce", "_request", "_results")

    def __init__(self, produce: Produce, request: Request, message: ProduceRequest, done: Done) -> None:
        self._produce = produce
        self._request = request
        self._message = message
        self._done = done
        self._left = 1  # Partitions that are not acknowledged yet, and the start itself.
        self._results: list[list[Produced]] = []
        self._checked: list[Sound | HoldfastError] = []  # One for each partition, in their order.
        self._permits: dict[tuple[PartitionLog, int], Permit] = {}  # By producer id.

    def start_one(self, validator: Validator) -> bool:
        """What `check` and `start` do, for a request for one partition, as nearly all are: without their lists."""
        topic = self._message.topics[0]
        wanted = topic.partitions[0]
        try:
            partition = self._find(topic, wanted.partition)
            self._produce.logs.check_disk()
            one = self._request.one
            if one is None:
                batches = self._check_batches(partition, wanted)
                if len(batches) > 1:
                    self._checked = [self._look_at(partition, batches, Quickly(validator, self._produce.clock))]
                    return self.start()
                (header, batch), records = batches[0], None
            else:
                header, batch, records = self._check_one(partition, wanted, one)
            if records is None and partition.settings.validates_records:
                records = validator.quick(header, batch)
                if records is None:
                    return False
            header = self._admit_one(partition, partition.ground.time.stamp_ms(), header, batch, records)
            place = self._append_one(partition, header, batch, topic, wanted.partition)
        except TakesLonger:
            return False
        except HoldfastError as failure:
            self._results = [[self._failed(topic, wanted.partition, failure)]]
            self._finish_one()
            return True
        start = partition.marks.log_start
        found = _new_produced((wanted.partition, 0, place.base_offset, place.append_time_ms, start, None, ()))
        self._results = [[found]]
        waits = self._message.acks != 0 and partition.settings.durability != "memory"
        if not waits or not partition.durable.when(place.end_offset, self._durable_one):
            self._finish_one()
        return True

    def _durable_one(self, failure: Exception | None) -> None:
        if failure is not None:
            self.refuse_one(failure)
        else:
            self._finish_one()

    def refuse_one(self, failure: BaseException) -> None:
        """Answer a request for one partition with an error."""
        topic = self._message.topics[0]
        self._results = [[self._failed(topic, topic.partitions[0].partition, failure)]]
        self._finish_one()

    def check(self, validator: Validator, clock: Clock) -> bool:
        """Hold everything against the rules; False, with nothing changed, when that takes too long to be done here."""
        look, checked = Quickly(validator, clock), self._checked
        try:
            for topic in self._message.topics:
                for wanted in topic.partitions:
                    checked.append(self._check(topic, wanted, look))
        except TakesLonger:
            return False
        return True

    def start(self) -> bool:
        """Append what `check` has found to be sound."""
        checked = iter(self._checked)
        for topic in self._message.topics:
            results: list[Produced] = []
            self._results.append(results)
            for wanted in topic.partitions:
                results.append(Produced(wanted.partition))
                self._append(topic, wanted, next(checked), results, len(results) - 1)
        self._finish_one()
        return True

    async def start_in_slices(self, pace: Slices, look: Look) -> None:
        """The same for very many partitions, or slow ones. No other request of the connection begins meanwhile."""
        async for topic in pace.through(self._message.topics):
            results: list[Produced] = []
            self._results.append(results)
            async for wanted in pace.through(topic.partitions):
                results.append(Produced(wanted.partition))
                checked = await self._check_slowly(topic, wanted, look)
                self._append(topic, wanted, checked, results, len(results) - 1)
        self._finish_one()

    async def start_permitted(self, pace: Slices, look: Look) -> None:
        """The same, once the transaction's coordinator on another broker has been asked about all partitions."""
        try:
            async for topic in pace.through(self._message.topics):
                async for wanted in pace.through(topic.partitions):
                    self._checked.append(await self._check_slowly(topic, wanted, look))
            found = [(topic, wanted) for topic in self._message.topics for wanted in topic.partitions]
            asked = zip(self._checked, found, strict=True)
            self._checked = await asyncio.gather(*(self._permitted(each, *place) for each, place in asked))
            self.start()
        finally:
            for permit in self._permits.values():
                permit.release()

    async def _permitted(
        self, checked: Sound | HoldfastError, topic: ProduceTopic, wanted: ProducePartition
    ) -> Sound | HoldfastError:
        """What is to be appended, if the coordinator lets it in."""
        permits, transactional_id = self._produce.permits, self._message.transactional_id
        if isinstance(checked, HoldfastError):
            return checked
        assert permits is not None
        assert transactional_id is not None
        partition, version = checked.partition, self._request.version
        try:
            for header, _ in checked.batches:
                producer = Producer(header.producer_id, header.producer_epoch)
                is_first = header.is_transactional and not partition.producers.is_open(*producer)
                if is_first and (partition, header.producer_id) not in self._permits:
                    if version >= _IMPLICIT_FROM:
                        partition.producers.check_begins(header)
                    place = TopicPartition(self._name_of(topic), wanted.partition)
                    implicit = version >= _IMPLICIT_FROM
                    permit = await permits.ask(transactional_id, producer, place, partition, implicit=implicit)
                    self._permits[partition, header.producer_id] = permit
        except HoldfastError as failure:
            return failure
        return checked

    def _name_of(self, topic: ProduceTopic) -> str:
        opened = None if topic.topic_id is None else self._produce.topics.find_raw_id(topic.topic_id)
        return topic.name or "" if opened is None else opened.topic.name

    def _check(self, topic: ProduceTopic, wanted: ProducePartition, look: Quickly) -> Sound | HoldfastError:
        try:
            partition = self._find(topic, wanted.partition)
            self._produce.logs.check_disk()
            return self._look_at(partition, self._check_batches(partition, wanted), look)
        except HoldfastError as failure:
            return failure

    def _look_at(self, partition: PartitionLog, batches: list[tuple[BatchHeader, memoryview]], look: Quickly) -> Sound:
        validates = partition.settings.validates_records
        return self._admit(partition, [Looked(*each, look.into(*each) if validates else None) for each in batches])

    def _check_batches(self, partition: PartitionLog, wanted: ProducePartition) -> list[tuple[BatchHeader, memoryview]]:
        """Hold the batches for a partition against the rules that need no look at their records."""
        if not wanted.records:
            raise NothingSent("the request has no records")
        settings = partition.settings
        if settings.validates_records and is_slow(wanted.records):
            raise TakesLonger
        batches = partition.check_batches(wanted.records)
        if settings.codec is not None and any(header.codec != settings.codec for header, _ in batches):
            raise TakesLonger  # They cannot be stored as they are.
        return batches

    def _check_one(
        self, partition: PartitionLog, wanted: ProducePartition, one: OneBatch
    ) -> tuple[BatchHeader, memoryview, Records | None]:
        """The same for a batch that was held against all rules but those of its partition."""
        _, _, header, records = one
        batch, settings = wanted.records, partition.settings
        assert batch is not None
        if settings.codec is not None and header.codec != settings.codec:
            raise TakesLonger
        if records is None and settings.validates_records and is_slow(batch):
            raise TakesLonger
        partition.check_one(header)
        return header, batch, records if settings.validates_records else None

    async def _check_slowly(self, topic: ProduceTopic, wanted: ProducePartition, look: Look) -> Sound | HoldfastError:
        try:
            partition = self._find(topic, wanted.partition)
            self._produce.logs.check_disk()
            if not wanted.records:
                raise NothingSent("the request has no records")
            if partition.settings.validates_records or partition.settings.codec is not None:
                return self._admit(partition, await look(partition, wanted.records))
            return self._admit(partition, [Looked(*each, None) for each in partition.check_batches(wanted.records)])
        except HoldfastError as failure:
            return failure

    def _admit(self, partition: PartitionLog, looked: list[Looked]) -> Sound:
        now_ms = partition.ground.time.stamp_ms()
        return Sound(partition, [(self._admit_one(partition, now_ms, *each), each.batch) for each in looked])

    def _admit_one(
        self, partition: PartitionLog, now_ms: int, header: BatchHeader, batch: memoryview, records: Records | None
    ) -> BatchHeader:
        if header.is_transactional and self._message.transactional_id is None:
            raise NotTransactional("a transactional batch in a request without a transactional id")
        return admit(partition.settings, now_ms, header, batch, records)

    def _append(
        self,
        topic: ProduceTopic,
        wanted: ProducePartition,
        checked: Sound | HoldfastError,
        results: list[Produced],
        number: int,
    ) -> None:
        try:
            if isinstance(checked, HoldfastError):
                raise checked
            partition = checked.partition
            place = self._append_to(checked, topic, wanted)
        except HoldfastError as failure:
            results[number] = self._failed(topic, wanted.partition, failure)
            return
        start = partition.marks.log_start
        results[number] = Produced(wanted.partition, 0, place.base_offset, place.append_time_ms, start)
        if partition.settings.durability == "memory" or self._message.acks == 0:
            return
        self._left += 1
        waits = partition.durable.when(
            place.end_offset, lambda failure: self._durable(failure, topic, wanted.partition, results, number)
        )
        if not waits:
            self._left -= 1

    def _find(self, topic: ProduceTopic, index: int) -> PartitionLog:
        opened = None
        if topic.topic_id is not None:
            opened = self._produce.topics.find_raw_id(topic.topic_id)
            if opened is None:
                raise UnknownId("there is no topic with this id")
        if self._produce.gate.is_on:
            self._check_rights(opened.topic.name if opened is not None else topic.name or "", topic)
        if self._message.acks not in _ACKS:
            raise BadAcks(f"acks {self._message.acks} is not -1, 0 or 1")
        found = opened or self._produce.topics.get(topic.name or "")
        if found.topic.name in INTERNAL:
            raise WrittenByBroker(f"{found.topic.name} is written by the broker itself")
        return found.partition(index)

    def _check_rights(self, name: str, topic: ProduceTopic) -> None:
        transactional_id = self._message.transactional_id
        if transactional_id is not None:
            self._need(WRITE_TRANSACTION, transactional_id)
        self._need(WRITE_TOPIC, name, called=topic.name or str(topic.topic_id))

    def _need(self, right: Right, name: str, called: str = "") -> None:
        self._produce.gate.need(self._request.session, right, name, "Produce", called)

    def _append_to(self, sound: Sound, topic: ProduceTopic, wanted: ProducePartition) -> Appended:
        partition, index = sound.partition, wanted.partition
        places = [self._append_one(partition, *each, topic, index) for each in sound.batches]
        if len(places) == 1:
            return places[0]
        end = max(place.end_offset for place in places)  # A repeat may come last, and lie far below.
        return Appended(places[0].base_offset, end, *places[0][2:])

    def _append_one(
        self, partition: PartitionLog, header: BatchHeader, batch: memoryview, topic: ProduceTopic, index: int
    ) -> Appended:
        if header.is_transactional and not partition.producers.is_open(header.producer_id, header.producer_epoch):
            if self._request.version >= _IMPLICIT_FROM:
                partition.producers.check_begins(header)
            permit = self._permits.get((partition, header.producer_id)) if self._permits else None
            if permit is None:
                self._enlist(topic, index, header)
            else:
                permit.check(Producer(header.producer_id, header.producer_epoch))
        return partition.append_one(header, batch)

    def _enlist(self, topic: ProduceTopic, index: int, header: BatchHeader) -> None:
        """The first batch of a transaction in a partition: the coordinator has to know of it, and to let it in."""
        assert self._message.transactional_id is not None  # Or it would not have been admitted.
        self._produce.transactions.enlist(
            self._message.transactional_id,
            Producer(header.producer_id, header.producer_epoch),
            TopicPartition(self._name_of(topic), index),
            implicit=self._request.version >= _IMPLICIT_FROM,
        )

    def _failed(self, topic: ProduceTopic, index: int, failure: BaseException) -> Produced:
        if self._message.acks == 0:
            raise ProduceRefused(f"{topic.name or 'a topic'}-{index}: {failure}") from failure
        code = OWN_CODES.get(type(failure)) or code_of(failure)
        if isinstance(failure, NotInTransaction) and self._request.version < _ABORTABLE_FROM:
            code = Code.INVALID_TXN_STATE
        self._produce.errors["Produce", code] += 1
        wrong = failure.indices if isinstance(failure, RecordsWithoutKey) else ()
        if isinstance(failure, LedElsewhere) and failure.broker >= 0:
            moved = ProducedElsewhere(index, code, error_message=str(failure))
            moved.leader = CurrentLeader(failure.broker, failure.epoch)
            return moved
        return Produced(index, code, error_message=str(failure), wrong_records=wrong)

    def _durable(
        self, failure: Exception | None, topic: ProduceTopic, index: int, results: list[Produced], number: int
    ) -> None:
        if failure is not None:
            results[number] = self._failed(topic, index, failure)
        self._finish_one()

    def _finish_one(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._done(() if self._message.acks == 0 else self._answer())

    def _answer(self) -> Sequence[Buffer]:
        header = self._request.header
        version = header.api_version
        topics = self._message.topics
        if version >= LEADERS_FROM and self._produce.others is not nobody_else:
            endpoints = self._endpoints()
        else:
            endpoints = ()
        if len(topics) == 1 and len(topics[0].partitions) == 1 and not endpoints:
            name = topics[0].topic_id or topics[0].name or ""
            return [frame_one(version, header.correlation_id, name, self._results[0][0])]
        answers = [
            ProducedTopic(topic.topic_id or topic.name or "", results)
            for topic, results in zip(topics, self._results, strict=True)
        ]
        body = encode_response(version, answers, 0, endpoints)
        return frame_response(Key.PRODUCE, version, header.correlation_id, [body])

    def _endpoints(self) -> Sequence[LeaderAddress]:
        """Where those are that lead what was sent here."""
        found = (each.leader for results in self._results for each in results if isinstance(each, ProducedElsewhere))
        wanted = {leader.leader_id for leader in found if leader is not None}
        return endpoints_of(wanted, self._produce.others, self._request.session.listener) if wanted else ()
