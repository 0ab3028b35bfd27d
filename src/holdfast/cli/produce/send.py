"""Records in batches to a topic, each acknowledged before the next goes, and none twice."""

from __future__ import annotations

import sys

from holdfast.cli.client.connection import Client, Line, lined
from holdfast.cli.client.errors import check
from holdfast.cli.client.topics import TopicInfo, find_topic
from holdfast.cli.produce.lines import LineRecords, read_lines
from holdfast.cli.produce.partition import Chooser
from holdfast.errors import Rejected
from holdfast.io.clock import SystemClock
from holdfast.protocol.api import Key
from holdfast.protocol.messages import Message, request_class
from holdfast.record.build import build
from holdfast.record.layout import SEQUENCE_MASK, Codec
from holdfast.record.records import Record

_QUIET_S = 0.05
_AGE_S_MAX = 0.5  # Of a line that waits for company: a trickle of lines is never quiet.
_BATCH_SIZE = 512 << 10  # Bytes of keys and values; well below what brokers accept.
_TIMEOUT_MS = 30_000

_Produce = request_class(Key.PRODUCE)
_Init = request_class(Key.INIT_PRODUCER_ID)


class Sender:
    """One run of the command."""

    def __init__(
        self,
        topic: str,
        records: LineRecords,
        *,
        partition: int | None,
        codec: str,
        batch_lines: int,
        verbose: bool,
    ) -> None:
        self._topic = topic
        self._records = records
        self._partition = partition
        self._codec = Codec[codec.upper()]
        self._batch_lines = batch_lines
        self._verbose = verbose
        self._clock = SystemClock()
        self._gathered: dict[int, list[Record]] = {}
        self._gathered_count = 0
        self._gathered_size = 0
        self._gathered_since = 0.0
        self._sequences: dict[int, int] = {}
        self._producer = (-1, -1)  # Its id and epoch: with them, a repeat is known as one.
        self.acknowledged = 0
        self.waiting = 0  # Records taken from stdin and not acknowledged.

    async def run(self, bootstrap: str) -> None:
        """From the first line to the last."""
        async with lined(bootstrap) as line:
            topic = await line.do(lambda client: find_topic(client, self._topic, create=True))
            self._producer = await line.do(_init_producer)
            chooser = self._chooser(topic)
            async for lines in read_lines(_QUIET_S):
                if not lines:
                    await self._send(line, chooser)
                for each in lines:
                    self._gather(each, chooser)
                    if self._is_full():
                        await self._send(line, chooser)
            await self._send(line, chooser)

    def _chooser(self, topic: TopicInfo) -> Chooser:
        if self._partition is not None and self._partition not in topic.numbers:
            raise Rejected(f"topic {topic.name} has no partition {self._partition}: it has {len(topic.partitions)}")
        return Chooser(topic.numbers, self._partition)

    def _is_full(self) -> bool:
        return (
            self._gathered_count >= self._batch_lines
            or self._gathered_size >= _BATCH_SIZE
            or self._clock.monotonic() - self._gathered_since >= _AGE_S_MAX
        )

    def _gather(self, line: bytes, chooser: Chooser) -> None:
        if not self._gathered:
            self._gathered_since = self._clock.monotonic()
        self.waiting += 1
        record = self._records.record(line, self._clock.now_ms())
        self._gathered.setdefault(chooser.choose(record.key), []).append(record)
        self._gathered_count += 1
        self._gathered_size += len(line)

    async def _send(self, line: Line, chooser: Chooser) -> None:
        """Send what was gathered, one batch for each partition, and wait until all are acknowledged."""
        gathered, self._gathered = self._gathered, {}
        self._gathered_count = self._gathered_size = 0
        chooser.turn()
        for partition, records in gathered.items():
            sequence = self._sequences.get(partition, 0)
            request = self._request(partition, self._batch(records, sequence))
            offset = await line.do(lambda client, request=request: _produce(client, request))  # type: ignore[misc]
            self._sequences[partition] = (sequence + len(records)) & SEQUENCE_MASK
            self.acknowledged += len(records)
            self.waiting -= len(records)
            if self._verbose:
                print(f"{self._topic}-{partition}@{offset}")
                sys.stdout.flush()

    def _batch(self, records: list[Record], sequence: int) -> bytes:
        producer_id, producer_epoch = self._producer
        return bytes(
            build(
                records,
                codec=self._codec,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                base_sequence=sequence,
            )
        )

    def _request(self, partition: int, batch: bytes) -> Message:
        data = _Produce.TopicProduceData
        part = data.PartitionProduceData(index=partition, records=batch)
        topic = data(name=self._topic, partition_data=[part])
        return _Produce(transactional_id=None, acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=[topic])


async def _init_producer(client: Client) -> tuple[int, int]:
    request = _Init(transactional_id=None, transaction_timeout_ms=_TIMEOUT_MS, producer_id=-1, producer_epoch=-1)
    answer = await client.ask(Key.INIT_PRODUCER_ID, request)
    check("a producer's id", answer.error_code)
    return answer.producer_id, answer.producer_epoch


async def _produce(client: Client, request: Message) -> int:
    """Send one batch; its first offset."""
    answer = await client.ask(Key.PRODUCE, request)
    [topic] = answer.responses
    [part] = topic.partition_responses
    check(f"{topic.name}-{part.index}", part.error_code, getattr(part, "error_message", None))
    offset: int = part.base_offset
    return offset
