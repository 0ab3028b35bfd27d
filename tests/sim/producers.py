"""Simulated producers: what they send, and what they believe about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.sim.broker_life import BrokerLife, Held
from tests.sim.model import PartitionModel, TopicModel

from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.record.build import build
from holdfast.record.records import Record

HOUR_MS = 3_600_000
PENDING_MAX = 5  # As many batches of a producer as a partition remembers.
DELETED = (Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID)
LOST = (  # Whether it happened is not known.
    Code.KAFKA_STORAGE_ERROR,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.OUT_OF_ORDER_SEQUENCE_NUMBER,  # One before it did not.
)


def check_refusal(life: BrokerLife, code: int, topic: TopicModel | None, what: str) -> None:
    """Is this a refusal that a client has to expect?"""
    if life.is_usurped:
        return
    if code in DELETED and topic is not None and (topic.leaving or topic.gone):
        return
    if code == Code.INVALID_TIMESTAMP and life.clock.off_ms < -HOUR_MS:
        return  # By the broker's clock it is from a time to come.
    assert code in LOST, f"{what} was refused with {Code(code).name}"
    assert life.may_fail, f"{what} was refused with {Code(code).name} although nothing had failed"


def produce_fields(version: int, parts: list[tuple[TopicModel, int, bytes]], acks: int) -> dict[str, Any]:
    by_topic: dict[UUID, dict[str, Any]] = {}
    for topic, partition, batch in parts:
        named = {"topic_id": topic.topic_id} if version >= 13 else {"name": topic.name}
        data = by_topic.setdefault(topic.topic_id, {**named, "partition_data": []})["partition_data"]
        data.append({"index": partition, "records": batch})
    return {"transactional_id": None, "acks": acks, "timeout_ms": 1000, "topic_data": list(by_topic.values())}


def answers(answer: Any) -> list[Any]:
    return [part for topic in answer.responses for part in topic.partition_responses]


@dataclass
class Batch:
    """A batch that is not acknowledged yet."""

    sequence: int
    values: list[bytes]
    in_flight: bool = False


@dataclass
class Lane:
    """What one producer sends to one partition."""

    next_sequence: int = 0
    waiting: list[Batch] = field(default_factory=list)


class IdempotentProducer:
    """Sends each batch until it is acknowledged, up to five at a time, always in order."""

    def __init__(self, number: int) -> None:
        self._name = b"i%d" % number
        self._count = 0
        self._producer_id: int | None = None
        self._asking = False
        self._lanes: dict[tuple[UUID, int], Lane] = {}
        self._held = Held()

    def begin(self) -> None:
        """Another life of the broker: what was under way is not any more."""
        self._asking = False
        self._held = Held()
        for lane in self._lanes.values():
            for batch in lane.waiting:
                batch.in_flight = False

    def act(self, life: BrokerLife) -> None:
        if self._held or not life.model.live():
            return
        if self._producer_id is None:
            if not self._asking:
                self._asking = True
                life.start(self._init(life))
            return
        topic = life.random.choice(life.model.live())
        partition = life.random.randrange(topic.count)
        lane = self._lanes.setdefault((topic.topic_id, partition), Lane())
        stalled = [batch for batch in lane.waiting if not batch.in_flight]
        if not stalled and len(lane.waiting) < PENDING_MAX:
            stalled = [self._new_batch(life, lane, topic.partition(partition))]
        for batch in stalled:
            if not self._held:
                self._send(life, topic, partition, lane, batch)

    async def _init(self, life: BrokerLife) -> None:
        fields = {"transactional_id": None, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1}
        answer = await life.ask(Key.INIT_PRODUCER_ID, 4, fields)
        self._asking = False
        if answer.error_code:
            check_refusal(life, answer.error_code, None, "a producer's id")
            return
        life.model.new_producer(answer.producer_id)
        self._producer_id = answer.producer_id
        life.counts["producer ids"] += 1

    def _new_batch(self, life: BrokerLife, lane: Lane, partition: PartitionModel) -> Batch:
        values = []
        for _ in range(life.random.choice((1, 1, 2, 5))):
            values.append(b"%s:%d" % (self._name, self._count))
            self._count += 1
        partition.sent.update(values)
        batch = Batch(lane.next_sequence, values)
        lane.next_sequence += len(values)
        lane.waiting.append(batch)
        return batch

    def _send(self, life: BrokerLife, topic: TopicModel, partition: int, lane: Lane, batch: Batch) -> None:
        records = [Record(None, value, life.stamp()) for value in batch.values]
        assert self._producer_id is not None
        data = build(records, producer_id=self._producer_id, producer_epoch=0, base_sequence=batch.sequence)
        version = life.version(9, 12, 13)
        batch.in_flight = True

        def tell(answer: Any) -> None:
            [part] = answers(answer)
            if life.is_usurped:  # What was durable before, the other has, too: a word of it that comes late is true.
                if not part.error_code:
                    topic.partition(partition).acknowledge(part.base_offset, batch.values)
                    life.counts["acknowledged late"] += 1
                return
            batch.in_flight = False
            if part.error_code:
                check_refusal(life, part.error_code, topic, f"{batch.values[0]!r}")
                return
            topic.partition(partition).acknowledge(part.base_offset, batch.values)
            lane.waiting.remove(batch)
            life.counts["acknowledged"] += 1

        life.produce(version, produce_fields(version, [(topic, partition, bytes(data))], -1), tell, self._held)


class PlainProducer:
    """Sends each record once, and never again; often to several partitions at the same time."""

    def __init__(self, number: int) -> None:
        self._name = b"n%d" % number
        self._count = 0
        self._held = Held()

    def begin(self) -> None:
        self._held = Held()

    def act(self, life: BrokerLife) -> None:
        topics = life.model.live()
        if self._held or not topics:
            return
        parts: dict[tuple[UUID, int], tuple[TopicModel, int, list[bytes]]] = {}
        for _ in range(life.random.choice((1, 1, 3))):
            topic = life.random.choice(topics)
            partition = life.random.randrange(topic.count)
            parts.setdefault((topic.topic_id, partition), (topic, partition, [self._value(life)]))
        version = life.version(7, 9, 13)
        acks = life.random.choice((-1, -1, 1, 0))
        wanted = [(topic, partition, self._batch(life, values)) for topic, partition, values in parts.values()]
        for topic, partition, values in parts.values():
            topic.partition(partition).sent.update(values)

        def tell(answer: Any) -> None:
            if acks != 0:
                self._told(life, answer, [*parts.values()], by_id=version >= 13)

        life.produce(version, produce_fields(version, wanted, acks), tell, self._held)

    def _value(self, life: BrokerLife) -> bytes:
        self._count += 1
        width = life.random.choice((0, 0, 0, 0, 300, 2000))  # Zeros before the number: chunks and segments fill up.
        return b"%s:%0*d" % (self._name, width, self._count)

    @staticmethod
    def _batch(life: BrokerLife, values: list[bytes]) -> bytes:
        return bytes(build([Record(None, value, life.stamp()) for value in values]))

    @staticmethod
    def _told(life: BrokerLife, answer: Any, parts: list[tuple[TopicModel, int, list[bytes]]], *, by_id: bool) -> None:
        codes = {
            (topic.topic_id if by_id else topic.name, part.index): part
            for topic in answer.responses
            for part in topic.partition_responses
        }
        for topic, partition, values in parts:
            part = codes[topic.topic_id if by_id else topic.name, partition]
            if part.error_code:
                check_refusal(life, part.error_code, topic, f"{values[0]!r}")
            else:
                topic.partition(partition).acknowledge(part.base_offset, values)
                life.counts["acknowledged"] += 1
