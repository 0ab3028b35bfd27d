"""Delivery reports, gathered into few lines of a history."""

from __future__ import annotations

import threading
from typing import Any

from tests.torture.history import History


class Reports:
    """Of one producer and one topic. Reports come while the producer is polled; `write` puts them down."""

    def __init__(self, history: History, producer: str, topic: str) -> None:
        self._history = history
        self._producer = producer
        self._topic = topic
        self._acks: list[list[int]] = []
        self._errors: dict[str, list[int]] = {}
        self._lock = threading.Lock()
        self.is_fatal = False
        self.acked = 0

    def for_number(self, number: int) -> Any:
        """The callback of one record, for confluent-kafka."""

        def told(error: Any, message: Any) -> None:
            if error is None:
                self.stored(number, message.partition(), message.offset())
                return
            self.refused(number, error.name())
            self.is_fatal |= error.fatal()

        return told

    def stored(self, number: int, partition: int, offset: int) -> None:
        with self._lock:
            self._acks.append([number, partition, offset])

    def refused(self, number: int, error: str) -> None:
        with self._lock:
            self._errors.setdefault(error, []).append(number)

    def write(self) -> None:
        with self._lock:
            acks, self._acks = self._acks, []
            errors, self._errors = self._errors, {}
        self.acked += len(acks)
        if acks:
            self._history.ok("send", producer=self._producer, topic=self._topic, acks=acks)
        for error, numbers in errors.items():
            self._history.fail("send", producer=self._producer, topic=self._topic, numbers=numbers, error=error)
