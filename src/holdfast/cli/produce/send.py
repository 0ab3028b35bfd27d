"""Records in batches to a topic, each acknowledged before the next goes, and none twice."""

from __future__ import annotations

import sys

from holdfast.cli.produce.json_lines import JsonRecords
from holdfast.cli.produce.lines import LineRecords, read_lines
from holdfast.cli.terminal.broker import staying
from holdfast.cli.terminal.interrupt import CtrlC
from holdfast.client import Client, ClientSettings, ProducerIdentity, TopicInfo, TopicPartition
from holdfast.client.partitioner import RecordPartitioner
from holdfast.errors import Rejected
from holdfast.io.clock import SystemClock
from holdfast.record.build import build
from holdfast.record.layout import SEQUENCE_MASK, Codec
from holdfast.record.records import Record

_QUIET_S = 0.05
_AGE_S_MAX = 0.5  # Of a line that waits for company: a trickle of lines is never quiet.
_BATCH_SIZE = 512 << 10  # Bytes of keys and values; well below what brokers accept.


class RecordSender:
    """One run of the command."""

    def __init__(
        self,
        topic: str,
        records: LineRecords | JsonRecords,
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
        self._producer = ProducerIdentity(-1, -1)  # With its id and epoch, a repeat is known as one.
        self._ctrl_c = CtrlC()
        self.acknowledged = 0
        self.waiting = 0  # Records taken from stdin and not acknowledged.

    def run(self, where: ClientSettings) -> None:
        """From the first line to the last."""
        with staying(where) as client, self._ctrl_c:
            topic = self._ctrl_c.wait(lambda: client.topic(self._topic, create=True))
            self._producer = self._ctrl_c.wait(client.init_producer_id)
            chooser = self._chooser(topic)
            reader = read_lines(_QUIET_S)
            while (lines := self._ctrl_c.wait(lambda: next(reader, None))) is not None:
                if not lines:
                    self._send(client, chooser)
                for each in lines:
                    self._gather(each, chooser)
                    if self._is_full():
                        self._send(client, chooser)
            self._send(client, chooser)

    def _chooser(self, topic: TopicInfo) -> RecordPartitioner:
        if self._partition is not None and self._partition not in topic.numbers:
            raise Rejected(f"topic {topic.name} has no partition {self._partition}: it has {len(topic.partitions)}")
        return RecordPartitioner(topic.numbers, self._partition)

    def _is_full(self) -> bool:
        return (
            self._gathered_count >= self._batch_lines
            or self._gathered_size >= _BATCH_SIZE
            or self._clock.monotonic() - self._gathered_since >= _AGE_S_MAX
        )

    def _gather(self, line: bytes, chooser: RecordPartitioner) -> None:
        if not self._gathered:
            self._gathered_since = self._clock.monotonic()
        self.waiting += 1
        record = self._records.record(line, self._clock.now_ms())
        self._gathered.setdefault(chooser.choose(record.key), []).append(record)
        self._gathered_count += 1
        self._gathered_size += len(line)

    def _send(self, client: Client, chooser: RecordPartitioner) -> None:
        """Send what was gathered, one batch for each partition, and wait until all are acknowledged."""
        gathered, self._gathered = self._gathered, {}
        self._gathered_count = self._gathered_size = 0
        chooser.turn()
        for partition, records in gathered.items():
            sequence = self._sequences.get(partition, 0)
            where = TopicPartition(self._topic, partition)
            wanted = {where: self._batch(records, sequence)}
            offset = self._ctrl_c.wait(lambda wanted=wanted: client.produce(wanted))[where]  # type: ignore[misc]
            self._sequences[partition] = (sequence + len(records)) & SEQUENCE_MASK
            self.acknowledged += len(records)
            self.waiting -= len(records)
            if self._verbose:
                print(f"{self._topic}-{partition}@{offset}")
                sys.stdout.flush()

    def _batch(self, records: list[Record], sequence: int) -> bytearray:
        producer_id, producer_epoch = self._producer
        return build(
            records,
            codec=self._codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=sequence,
        )
