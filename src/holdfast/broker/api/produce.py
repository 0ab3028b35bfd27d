"""Produce: append batches and answer when they are durable. Nothing here looks into a record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from holdfast.broker.codes import Code, code_of
from holdfast.broker.request import Done, Request
from holdfast.broker.topics import INTERNAL, Topics
from holdfast.errors import HoldfastError, Rejected
from holdfast.log.logs import Logs
from holdfast.log.partition import Appended, PartitionLog
from holdfast.protocol.api import Key
from holdfast.protocol.header import frame_response
from holdfast.protocol.produce import ProducePartition, ProduceRequest, ProduceTopic, decode_request
from holdfast.protocol.produce_response import Produced, ProducedTopic, encode_response, frame_one
from holdfast.types import Buffer

_ACKS = (-1, 0, 1)


class ProduceRefused(Rejected):
    """A producer that wants no answers has sent something wrong: all it can be told is that the connection closes."""


class Produce:
    """The produce path of all connections."""

    def __init__(self, topics: Topics, logs: Logs) -> None:
        self._topics = topics
        self._logs = logs

    def start(self, request: Request, done: Done) -> bool:
        """Append now and call back with the answer; False when there is no room and the producer has to wait.

        On a full disk it does not wait: it is refused, and tries again when it likes.
        """
        if not self._logs.has_room and not self._logs.is_disk_low:
            return False
        message = decode_request(request.version, request.body)
        _Answering(self._topics, self._logs, request, message, done).start()
        return True

    async def handle(self, request: Request) -> Sequence[Buffer]:
        """The same, once there is room."""
        answer: asyncio.Future[Sequence[Buffer]] = asyncio.get_running_loop().create_future()

        def done(buffers: Sequence[Buffer]) -> None:
            if not answer.done():
                answer.set_result(buffers)

        while not self.start(request, done):
            await self._logs.room()
        return await answer


class _Answering:
    """One produce request, from its appends to its answer."""

    __slots__ = ("_done", "_left", "_logs", "_message", "_request", "_results", "_topics")

    def __init__(self, topics: Topics, logs: Logs, request: Request, message: ProduceRequest, done: Done) -> None:
        self._topics = topics
        self._logs = logs
        self._request = request
        self._message = message
        self._done = done
        self._left = 1  # Partitions that are not acknowledged yet, and the start itself.
        self._results: list[list[Produced]] = []

    def start(self) -> None:
        for topic in self._message.topics:
            results: list[Produced] = []
            self._results.append(results)
            for wanted in topic.partitions:
                results.append(Produced(wanted.partition))
                self._append(topic, wanted, results, len(results) - 1)
        self._finish_one()

    def _append(self, topic: ProduceTopic, wanted: ProducePartition, results: list[Produced], number: int) -> None:
        try:
            partition = self._find(topic, wanted.partition)
            self._logs.check_disk()
            place = self._append_to(partition, wanted)
        except HoldfastError as failure:
            results[number] = self._failed(topic, wanted.partition, failure)
            return
        start = partition.marks.log_start
        results[number] = Produced(wanted.partition, 0, place.base_offset, place.append_time_ms, start)
        if partition.settings.durability == "memory" or self._message.acks == 0:
            return
        durable = partition.durable.reached(place.end_offset)
        if durable.done() and durable.exception() is None:
            return
        self._left += 1
        durable.add_done_callback(lambda future: self._durable(future, topic, wanted.partition, results, number))

    def _find(self, topic: ProduceTopic, index: int) -> PartitionLog:
        if self._message.acks not in _ACKS:
            raise _BadAcks(f"acks {self._message.acks} is not -1, 0 or 1")
        if topic.topic_id is not None:
            found = self._topics.find_raw_id(topic.topic_id)
            if found is None:
                raise _UnknownId("there is no topic with this id")
        else:
            found = self._topics.get(topic.name or "")
        if found.topic.name in INTERNAL:
            raise _Internal(f"{found.topic.name} is written by the broker itself")
        return found.partition(index)

    @staticmethod
    def _append_to(partition: PartitionLog, wanted: ProducePartition) -> Appended:
        if not wanted.records:
            raise _NoRecords("the request has no records")
        places = [partition.append_one(header, batch) for header, batch in partition.check_batches(wanted.records)]
        if len(places) == 1:
            return places[0]
        end = max(place.end_offset for place in places)  # A repeat may come last, and lie far below.
        return Appended(places[0].base_offset, end, *places[0][2:])

    def _failed(self, topic: ProduceTopic, index: int, failure: BaseException) -> Produced:
        if self._message.acks == 0:
            raise ProduceRefused(f"{topic.name or 'a topic'}-{index}: {failure}") from failure
        return Produced(index, _OWN_CODES.get(type(failure)) or code_of(failure), error_message=str(failure))

    def _durable(
        self, future: asyncio.Future[None], topic: ProduceTopic, index: int, results: list[Produced], number: int
    ) -> None:
        failure = None if future.cancelled() else future.exception()
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
        if len(topics) == 1 and len(topics[0].partitions) == 1:
            name = topics[0].topic_id or topics[0].name or ""
            return [frame_one(version, header.correlation_id, name, self._results[0][0])]
        answers = [
            ProducedTopic(topic.topic_id or topic.name or "", results)
            for topic, results in zip(topics, self._results, strict=True)
        ]
        return frame_response(Key.PRODUCE, version, header.correlation_id, [encode_response(version, answers)])


class _BadAcks(Rejected):
    pass


class _UnknownId(Rejected):
    pass


class _NoRecords(Rejected):
    pass


class _Internal(Rejected):
    pass


_OWN_CODES: dict[type[BaseException], Code] = {
    _BadAcks: Code.INVALID_REQUIRED_ACKS,
    _UnknownId: Code.UNKNOWN_TOPIC_ID,
    _NoRecords: Code.INVALID_RECORD,
    _Internal: Code.INVALID_TOPIC_EXCEPTION,
}
