"""Producers without transactions, idempotent and plain, of confluent-kafka."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from confluent_kafka import KafkaException, Producer
from tests.torture.clients.reports import Reports
from tests.torture.facts import NO_TXN, value_of
from tests.torture.ground import Ground, Topic
from tests.torture.history import History
from tests.torture.rules.acked import key_of

_FLUSH_S = 90.0
_LOCKED_OUT_S = 2.0
_LOOK_S = 0.5  # How often a client that waits looks whether it still knows the password.
WAITS = 0.3  # Of all bursts.
IN_FLIGHT = 5
DAY_MS = 86_400_000
SECURED = "secured"


@dataclass(frozen=True)
class Sender:
    """Writes bursts of records until it is told to stop; one whose client has failed for good goes on with another."""

    name: str
    topic: Topic
    once: bool
    secured: bool = False  # Logs in, over TLS; with another password it begins again.
    stamps: str = ""  # Of its records: now; "old", of days ago; "future", as somebody who counts microseconds.

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        chance = ground.chance(self.name)
        life = 0
        while not ground.writing.is_set():
            _Life(self, ground, history, chance, f"{self.name}.{life}").run()
            life += 1
        history.close()


class _Life:
    """One client, from its first record to its last."""

    def __init__(self, sender: Sender, ground: Ground, history: History, chance: random.Random, producer: str) -> None:
        self._sender = sender
        self._ground = ground
        self._history = history
        self._chance = chance
        self._producer = producer
        self._reports = Reports(history, producer, sender.topic.name)
        secured = ground.secured if sender.secured else None
        self._password = None if secured is None else secured.password
        settings = ground.settings(
            enable_idempotence=sender.once,
            acks="all",
            linger_ms=chance.choice([0, 2, 20]),
            message_timeout_ms=120_000,
            queue_buffering_max_messages=1000,
            compression_type=chance.choice(["none", "lz4", "zstd"]),
            max_in_flight=IN_FLIGHT,
        )
        self._client = Producer(settings | ({} if secured is None else secured.client()))

    @property
    def _is_over(self) -> bool:
        return self._reports.is_fatal or self._is_locked_out

    @property
    def _is_locked_out(self) -> bool:
        """Whether the password is another one by now."""
        return self._password is not None and self._password != self._ground.password

    def run(self) -> None:
        self._history.info("producer", producer=self._producer, once=self._sender.once, in_flight=IN_FLIGHT)
        number = 0
        while not self._ground.writing.wait(self._chance.uniform(0, 0.15)) and not self._is_over:
            count = self._chance.randint(1, 40)
            facts = {"producer": self._producer, "topic": self._sender.topic.name, "txn": NO_TXN}
            self._history.invoke("send", first=number, count=count, **facts)
            for each in range(number, number + count):
                self._produce(each)
            number += count
            if self._chance.random() < WAITS:
                self._wait_for_acks()  # The next burst is sent after the acks of this one.
            self._client.poll(0)
            self._reports.write()
        if self._is_locked_out:  # What it has not sent by the end of its session is not sent any more.
            self._flush(_LOCKED_OUT_S)
            self._client.purge()
        left = self._flush(_FLUSH_S)
        self._reports.write()
        if left and not self._reports.is_fatal:
            self._history.info("unfinished", what=f"{left} records of {self._producer} have no answer")

    def _wait_for_acks(self) -> None:
        deadline = time.monotonic() + _FLUSH_S
        while time.monotonic() < deadline and not self._is_over and self._flush(_LOOK_S):
            pass

    def _flush(self, seconds: float) -> int:
        """How many records are left; a client that has failed for good says so here, too."""
        try:
            return self._client.flush(seconds)
        except KafkaException:  # As one that may write nothing any more: it gets no producer id.
            self._reports.is_fatal = True
            return 0

    def _stamp(self) -> int:
        """0 is the client's own."""
        if not self._sender.stamps:
            return 0
        now_ms = int(time.time() * 1000)
        return now_ms * 1000 if self._sender.stamps == "future" else now_ms - self._chance.randint(2, 6) * DAY_MS

    def _produce(self, number: int) -> None:
        key = key_of(number)
        keyed = self._sender.topic.like == "compacted"
        padding = "x" * self._chance.choice([0, 10, 100, 1000])
        while not self._ground.writing.is_set():
            try:
                self._client.produce(
                    self._sender.topic.name,
                    value_of(self._producer, number, padding=padding),
                    str(key),
                    partition=(key if keyed else number) % self._sender.topic.partitions,
                    timestamp=self._stamp(),
                    on_delivery=self._reports.for_number(number),
                )
                return
            except BufferError:
                self._client.poll(0.1)
                self._reports.write()
            except KafkaException:  # It has failed for good, or does not know the topic, which is being made again.
                self._client.poll(0.1)
                if self._reports.is_fatal:
                    return
