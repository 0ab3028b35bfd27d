"""Transactional producers of three clients with one face: some records, all of them or none.

Every failure is an exception; whoever gets one gives the client up, and does not know how its transaction ended.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from types import MappingProxyType
from typing import Protocol

from aiokafka import AIOKafkaProducer
from confluent_kafka import KafkaException, Producer
from kafka import KafkaProducer
from kafka.errors import KafkaError
from tests.kill.numbers import QUIET

_TIMEOUT_MS = 20_000  # What nobody ends is aborted after so long.
_STEP_S = 30
_STUCK_S = 10
Records = list[tuple[int, bytes]]  # Partitions and values.


class Transactor(Protocol):
    """One transactional producer."""

    def transact(self, topic: str, records: Records, *, commit: bool) -> None:
        """Begin, write, and end."""

    def close(self) -> None:
        """Give it up; an open transaction stays open."""


def persist(step: Callable[[float], object]) -> None:
    """librdkafka says which calls may be made again."""
    for _ in range(5):
        try:
            step(_STEP_S)
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise
        else:
            return
    raise TimeoutError("librdkafka tried often enough")


class Librdkafka:
    """Through confluent-kafka."""

    def __init__(self, address: str, transactional_id: str, more: Mapping[str, object] = MappingProxyType({})) -> None:
        fixed = {"transactional.id": transactional_id, "transaction.timeout.ms": _TIMEOUT_MS, "linger.ms": 0}
        self.producer = Producer({**QUIET, "bootstrap.servers": address, "retry.backoff.ms": 20, **fixed, **more})
        persist(self.producer.init_transactions)

    def transact(self, topic: str, records: Records, *, commit: bool) -> None:
        self.producer.begin_transaction()
        for partition, value in records:
            self.producer.produce(topic, value, partition=partition)
        if not commit:
            self.producer.flush(_STEP_S)  # Or it would throw away what it has not sent.
        persist(self.producer.commit_transaction if commit else self.producer.abort_transaction)

    def close(self) -> None:
        self.producer.purge()


def within(seconds: float, step: Callable[[], object]) -> None:
    """For calls without a time limit of their own. One that is late is left behind."""
    done: Future[object] = Future()

    def run() -> None:
        try:
            done.set_result(step())
        except BaseException as failure:
            done.set_exception(failure)

    threading.Thread(target=run, daemon=True).start()
    done.result(seconds)


class KafkaPython:
    """kafka-python. When its connection breaks at the wrong moment, an end of a transaction may wait for ever."""

    def __init__(self, address: str, transactional_id: str) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=address,
            transactional_id=transactional_id,
            transaction_timeout_ms=_TIMEOUT_MS,
            reconnect_backoff_max_ms=200,
        )
        try:
            within(_STUCK_S, self._producer.init_transactions)
        except BaseException:
            self.close()
            raise

    def transact(self, topic: str, records: Records, *, commit: bool) -> None:
        within(_STUCK_S, lambda: self._transact(topic, records, commit))

    def _transact(self, topic: str, records: Records, commit: bool) -> None:
        self._producer.begin_transaction()
        sent = [self._producer.send(topic, value, partition=partition) for partition, value in records]
        for each in sent:
            each.get(_STUCK_S)
        if commit:
            self._producer.commit_transaction()
        else:
            self._producer.abort_transaction()

    def close(self) -> None:
        with suppress(KafkaError):  # Its broker may be gone: then it cannot flush.
            self._producer.close(timeout=0.5)


class Aiokafka:
    """aiokafka, on an event loop of its own that runs while it is asked for something."""

    def __init__(self, address: str, transactional_id: str) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self._producer = self._loop.run_until_complete(self._start(address, transactional_id))
        except BaseException:
            self._loop.close()
            raise

    @staticmethod
    async def _start(address: str, transactional_id: str) -> AIOKafkaProducer:
        fixed = {"transactional_id": transactional_id, "transaction_timeout_ms": _TIMEOUT_MS}
        producer = AIOKafkaProducer(bootstrap_servers=address, **fixed)
        try:
            await asyncio.wait_for(producer.start(), _STEP_S)
        except BaseException:
            await producer.stop()
            raise
        return producer

    def transact(self, topic: str, records: Records, *, commit: bool) -> None:
        self._loop.run_until_complete(asyncio.wait_for(self._transact(topic, records, commit), _STEP_S))

    async def _transact(self, topic: str, records: Records, commit: bool) -> None:
        await self._producer.begin_transaction()
        for each in [await self._producer.send(topic, value, partition=partition) for partition, value in records]:
            await each
        await (self._producer.commit_transaction() if commit else self._producer.abort_transaction())

    def close(self) -> None:
        with suppress(Exception):  # It is given up: whatever it still complains of has been told before.
            self._loop.run_until_complete(asyncio.wait_for(self._producer.stop(), 1))
        self._loop.close()


CLIENTS: dict[str, Callable[[str, str], Transactor]] = {
    "librdkafka": Librdkafka,
    "kafka-python": KafkaPython,
    "aiokafka": Aiokafka,
}
