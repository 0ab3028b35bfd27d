"""A transactional producer of confluent-kafka: commits, aborts, and rivals that take its id over."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaException, Producer
from tests.torture.clients.reports import Reports
from tests.torture.clients.telling import Telling
from tests.torture.facts import value_of
from tests.torture.ground import PARTITIONS, TXN, Ground
from tests.torture.history import History

_CALL_S = 10.0
_PATIENCE_S = 60.0
ABORTED, TAKEN_OVER = 0.25, 0.04  # Of all transactions.


class GoneWrong(Exception):
    """This client cannot go on: another one must take its id over. What was open ends then."""


class MustAbort(Exception):
    """The transaction cannot be committed any more."""


def insist(call: Callable[[], object], patience_s: float = _PATIENCE_S) -> None:
    """Make a call again for as long as the client says that this may help."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            call()
            return
        except KafkaException as failure:
            error = failure.args[0]
            if error.txn_requires_abort():
                raise MustAbort(error.name()) from failure
            if not error.retriable() or time.monotonic() > deadline:
                raise GoneWrong(error.name()) from failure


@dataclass(frozen=True)
class Transactor:
    """Writes transactions until it is told to stop."""

    name: str

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        chance = ground.chance(self.name)
        life = 0
        while not ground.writing.is_set():
            try:
                _Life(self.name, f"{self.name}.{life}", ground, history, chance).run()
            except GoneWrong as failure:
                history.info("client", gone=str(failure), life=life)
            life += 1
        history.close()


def client(ground: Ground, transactional_id: str, **more: str) -> Producer:
    times = {"transaction_timeout_ms": 20_000, "linger_ms": 2}
    telling = ground.telling[transactional_id] = Telling(transactional_id)
    settings = ground.settings(transactional_id=transactional_id, acks="all", **times, **more)
    made = Producer({**settings, **telling.settings})
    try:
        insist(lambda: made.init_transactions(_CALL_S))
    except MustAbort as failure:
        raise GoneWrong(str(failure)) from failure
    return made


class _Life:
    """One client, from its first transaction to its last."""

    def __init__(self, name: str, producer: str, ground: Ground, history: History, chance: random.Random) -> None:
        self._name = name
        self._producer = producer
        self._ground = ground
        self._history = history
        self._chance = chance
        self._number = 0
        self._reports = Reports(history, producer, TXN.name)
        self._client = client(ground, name)

    def run(self) -> None:
        self._history.info("producer", producer=self._producer, once=True)
        txn = 0
        while not self._ground.writing.wait(self._chance.uniform(0, 0.1)):
            self._client.begin_transaction()
            try:
                self._fill(txn)
                self._end(txn)
            except MustAbort:
                self._abort(txn)
            self._reports.write()
            txn += 1

    def _fill(self, txn: int) -> None:
        count = self._chance.randint(1, 12)
        first, self._number = self._number, self._number + count
        facts = {"producer": self._producer, "topic": TXN.name, "txn": txn}
        self._history.invoke("send", first=first, count=count, **facts)
        for number in range(first, first + count):
            value = value_of(self._producer, number, txn, "y" * self._chance.choice([0, 200]))
            told = self._reports.for_number(number)
            try:
                self._client.produce(TXN.name, value, partition=number % PARTITIONS, on_delivery=told)
            except (KafkaException, BufferError) as failure:
                raise MustAbort(str(failure)) from failure
            self._client.poll(0)

    def _end(self, txn: int) -> None:
        drawn = self._chance.random()
        if drawn < TAKEN_OVER:
            self._be_taken_over(txn)
        elif drawn < TAKEN_OVER + ABORTED:
            self._abort(txn)
        else:
            self._commit(txn)

    def _commit(self, txn: int) -> None:
        self._history.invoke("commit", producer=self._producer, txn=txn)
        insist(lambda: self._client.commit_transaction(_CALL_S))
        self._reports.write()
        self._history.ok("commit", producer=self._producer, txn=txn)

    def _abort(self, txn: int) -> None:
        self._history.invoke("abort", producer=self._producer, txn=txn)
        try:
            insist(lambda: self._client.abort_transaction(_CALL_S))
        except MustAbort as failure:
            raise GoneWrong(str(failure)) from failure
        self._history.ok("abort", producer=self._producer, txn=txn)

    def _be_taken_over(self, txn: int) -> None:
        """A rival with the same id begins: it ends what is open with an abort, and nothing can commit it any more."""
        try:
            self._client.flush(_CALL_S)
        except KafkaException as failure:  # It took so long that the broker has ended it already.
            raise GoneWrong(str(failure)) from failure
        self._reports.write()
        self._history.invoke("abort", producer=self._producer, txn=txn)
        client(self._ground, self._name)
        self._history.ok("abort", producer=self._producer, txn=txn)
        try:
            self._client.commit_transaction(_CALL_S)
        except KafkaException as failure:
            raise GoneWrong(f"taken over: {failure.args[0].name()}") from failure
        self._history.info("unfinished", what=f"{self._producer} has committed {txn} after it was taken over")
