"""A copy loop, exactly once: reads a topic in a group, and writes copies and its offsets in one transaction."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from tests.torture.clients.reports import Reports
from tests.torture.clients.transacting import GoneWrong, MustAbort, client, insist
from tests.torture.facts import value_of
from tests.torture.ground import COPIES, ONE, PARTITIONS, Ground
from tests.torture.history import History
from tests.torture.rules.transactions import copier_of

_CALL_S = 10.0
_BATCH = 100
# By default librdkafka makes a broker anew that was away, and may then wait for ever for the old one when it sends
# offsets: beside Apache Kafka, too, as `proofs/offsets_hang.py` shows.
KEEP = {"metadata_recovery_strategy": "none"}


@dataclass(frozen=True)
class Copier:
    """Copies until writers are told to stop. After any failure it begins again from what its group has committed."""

    name: str = "copier"

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        history.info("copy", source=ONE.name, target=COPIES.name, group=self.name)
        for partition in range(PARTITIONS):
            history.info("producer", producer=copier_of(self.name, partition), once=True)
        txn = 0
        while not ground.writing.is_set():
            try:
                producer = client(ground, self.name, **KEEP)
            except GoneWrong as failure:
                history.info("client", gone=str(failure))
                continue
            txn = _Copying(self.name, ground, history, producer, txn).run()
        history.close()


class _Copying:
    """One pair of clients, for as long as it works."""

    def __init__(self, name: str, ground: Ground, history: History, producer: Producer, txn: int) -> None:
        self._name = name
        self._ground = ground
        self._history = history
        self._producer = producer
        self._txn = txn
        self._consumer = Consumer(
            ground.settings(
                group_id=name,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                isolation_level="read_committed",
                session_timeout_ms=6000,
                fetch_wait_max_ms=100,
            )
        )
        self._consumer.subscribe([ONE.name])

    def run(self) -> int:
        """The number of the next transaction."""
        try:
            while not self._ground.writing.is_set():
                messages = [each for each in self._consumer.consume(_BATCH, 0.2) if each.error() is None]
                if messages:
                    self._txn += 1
                    self._copy(messages)
        except (GoneWrong, KafkaException) as failure:
            self._history.info("client", gone=str(failure)[:200])
        finally:
            self._consumer.close()
        return self._txn

    def _copy(self, messages: list[Message]) -> None:
        producers = sorted({copier_of(self._name, message.partition()) for message in messages})
        self._producer.begin_transaction()
        try:
            self._fill(messages)
            self._tell("invoke", "commit", producers)
            insist(lambda: self._producer.commit_transaction(_CALL_S))
            self._tell("ok", "commit", producers)
        except MustAbort as failure:
            try:
                insist(lambda: self._producer.abort_transaction(_CALL_S))
            except MustAbort as again:
                raise GoneWrong(str(again)) from again
            self._tell("ok", "abort", producers)
            raise GoneWrong(str(failure)) from failure  # The consumer stands behind what was not copied.

    def _tell(self, kind: str, op: str, producers: list[str]) -> None:
        for producer in producers:
            getattr(self._history, kind)(op, producer=producer, txn=self._txn)

    def _fill(self, messages: list[Message]) -> None:
        by_partition: dict[int, list[Message]] = defaultdict(list)
        for message in messages:
            by_partition[message.partition()].append(message)
        for partition, some in by_partition.items():
            producer = copier_of(self._name, partition)
            reports = Reports(self._history, producer, COPIES.name)
            for message in some:
                number = message.offset()
                what = {"producer": producer, "topic": COPIES.name, "txn": self._txn}
                self._history.invoke("send", first=number, count=1, **what)
                told = reports.for_number(number)
                self._send(value_of(producer, number, self._txn), partition, told)
            insist(lambda: self._producer.flush(_CALL_S))
            reports.write()
        ends = [TopicPartition(ONE.name, each, some[-1].offset() + 1) for each, some in by_partition.items()]
        member = self._consumer.consumer_group_metadata()
        insist(lambda: self._producer.send_offsets_to_transaction(ends, member, _CALL_S))

    def _send(self, value: str, partition: int, told: object) -> None:
        try:
            self._producer.produce(COPIES.name, value, partition=partition, on_delivery=told)
        except (KafkaException, BufferError) as failure:
            raise MustAbort(str(failure)) from failure
