"""Where the partitions of a topic end, as columns: a reader of thousands that stands at the end of nearly all of them
costs a comparison of columns, and not a look at each.

A row is filled in when somebody asks for it, and holds until its partition moves: that tells each row once, like every
listener of a partition, and the row tells all fetches that wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from holdfast.broker.fetch.watch import FetchWatch, PartitionKey
from holdfast.io.turns import Pace
from holdfast.log.errors import NotOpen
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.hot.fetch import FetchPartition
from holdfast.protocol.hot.fetch_many import AskedRows, Numbers, answer_rows


class TopicEnds:
    """The columns of one topic; they are made by the first who asks."""

    __slots__ = ("_listeners", "_logs", "_marks", "epochs", "high_watermarks", "known", "waiting")

    def __init__(self) -> None:
        self._logs: Sequence[PartitionLog | NotOpen] = ()
        self._listeners: dict[int, Callable[[], None]] = {}
        self._make(0)
        self.waiting: set[ReadersAtEnd] = set()

    def _make(self, count: int) -> None:
        self.known = np.zeros(count, np.bool_)
        self.epochs: Numbers = np.zeros(count, np.int64)
        self._marks: Numbers = np.zeros((3, count), np.int64)
        self.high_watermarks: Numbers = self._marks[0]

    def marks(self, numbers: Numbers) -> Numbers:
        """High watermark, last stable offset and log start of these partitions, a row each."""
        found: Numbers = self._marks[:, numbers]
        return found

    async def refresh(self, logs: Sequence[PartitionLog | NotOpen], numbers: Numbers, pace: Pace) -> None:
        """Fill in what has moved since it was last looked at, or never was."""
        if len(logs) != len(self.known):
            self._logs = logs
            self._make(len(logs))
        async for number in pace.through(numbers[~self.known[numbers]].tolist()):
            self._fill(number)

    def _fill(self, number: int) -> None:
        log = self._logs[number]
        if isinstance(log, PartitionLog) and log.is_alive:
            marks = log.marks
            self._marks[:, number] = marks.high_watermark, log.last_stable, marks.log_start
            self.epochs[number] = log.epochs.current
            self.known[number] = True
            log.listeners.add(self._listeners.setdefault(number, partial(self._moved, number)))

    def _moved(self, number: int) -> None:
        self.known[number] = False
        for each in tuple(self.waiting):
            each.note(number)


class ReadersAtEnd:
    """The partitions of one topic in one fetch that have nothing new; those that move go to the fetch's watch."""

    __slots__ = ("_asked", "_ends", "_others", "_places", "_wanted", "_watch")

    def __init__(
        self, ends: TopicEnds, asked: AskedRows, wanted: dict[PartitionKey, FetchPartition], watch: FetchWatch
    ) -> None:
        self._ends = ends
        self._asked = asked
        self._wanted = wanted
        self._watch = watch
        self._places = np.full(len(ends.known), -1, np.int64)  # Of each partition, its row, while it is at its end.
        self._others: Numbers = np.arange(len(asked.numbers))
        ends.waiting.add(self)

    def look(self) -> None:
        """Find those that are at their end. From here on their movements are heard of."""
        asked, ends, numbers = self._asked, self._ends, self._asked.numbers
        at_end = ends.known[numbers] & (asked.offsets == ends.high_watermarks[numbers])
        at_end &= (asked.epochs < 0) | (asked.epochs == ends.epochs[numbers])
        if asked.last_epochs is not None:
            at_end &= asked.last_epochs < 0
        self._places[numbers[at_end]] = np.flatnonzero(at_end)
        self._others = np.flatnonzero(~at_end)

    async def want_others(self, pace: Pace) -> None:
        """All that have something new, or may have, are to be read."""
        async for number, partition in pace.through(self._asked.some(self._others)):
            self._want(number, partition)

    def _want(self, number: int, partition: FetchPartition) -> None:
        key = self._asked.topic, number
        self._wanted[key] = partition
        self._watch.note(key)

    def note(self, number: int) -> None:
        """A partition has moved."""
        place = self._places[number]
        if place >= 0 and (self._asked.topic, number) not in self._wanted:
            for each in self._asked.some(place):
                self._want(*each)

    def answered(self, number: int) -> None:
        """It has an answer of its own."""
        self._places[number] = -1

    def rows(self, version: int, *, committed: bool) -> tuple[bytes, int]:
        """The answers of all others, and how many they are."""
        numbers = np.flatnonzero(self._places >= 0)
        high_watermarks, stables, starts = self._ends.marks(numbers)
        return answer_rows(version, numbers, high_watermarks, stables, starts, committed=committed), len(numbers)

    def close(self) -> None:
        self._ends.waiting.discard(self)
