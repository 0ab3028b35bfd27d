"""Delivery reports, gathered into few lines of a history."""

from __future__ import annotations

from collections import deque
from typing import Any

from tests.torture.history import History


class Reports:
    """Of one producer and one topic. Reports come while the producer is polled; `write` puts them down."""

    def __init__(self, history: History, producer: str, topic: str) -> None:
        self._history = history
        self._producer = producer
        self._topic = topic
        # Without a lock: a report may come in the middle of anything, and one that waits for a lock waits for ever.
        self._told: deque[tuple[list[int], str]] = deque()
        self.is_fatal = False
        self.acked = 0

    def for_number(self, number: int) -> Any:
        """The callback of one record, for confluent-kafka."""

        def told(error: Any, message: Any) -> None:
            if error is None:
                offset = message.offset()  # None: a repeat, which the broker knows without knowing where it is.
                self.stored(number, message.partition(), -1 if offset is None else offset)
                return
            self.refused(number, error.name())
            self.is_fatal |= error.fatal()

        return told

    def stored(self, number: int, partition: int, offset: int) -> None:
        self._told.append(([number, partition, offset], ""))

    def refused(self, number: int, error: str) -> None:
        self._told.append(([number], error))

    def write(self) -> None:
        acks: list[list[int]] = []
        errors: dict[str, list[int]] = {}
        while self._told:
            what, error = self._told.popleft()
            if error:
                errors.setdefault(error, []).append(what[0])
            else:
                acks.append(what)
        self.acked += len(acks)
        if acks:
            self._history.ok("send", producer=self._producer, topic=self._topic, acks=acks)
        for error, numbers in errors.items():
            self._history.fail("send", producer=self._producer, topic=self._topic, numbers=numbers, error=error)
