"""One transactional id over the log: each step is appended at once, and answers wait until it is durable.

Steps are never held back for an fsync. Everything goes into one write-ahead log, in order, so what is durable is always
a beginning of what was appended: a transaction's end never outlives a part of the transaction, and no part of a
transaction outlives the record that opened it. See docs/decisions for why that is enough.

Partitions that other brokers lead are in other logs. They hear of an end when the decision is durable, and it is
complete when all of them have said that it is durable there. Until then everybody who asks has to wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

from holdfast.coordinator.runtime.timers import Timers
from holdfast.coordinator.transaction import rules
from holdfast.coordinator.transaction.errors import TransactionEnding
from holdfast.coordinator.transaction.records import forgotten_record, transaction_record
from holdfast.coordinator.transaction.transaction import NO_TIME, Producer, Transaction, TransactionState
from holdfast.errors import HoldfastError
from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import read_header
from holdfast.record.build import build
from holdfast.record.errors import TooLarge
from holdfast.record.marker import Marker, MarkerKind
from holdfast.record.records import Record
from holdfast.types import TopicPartition

log = logging.getLogger(__name__)


class ReachedState(Enum):
    """What became of the end of a transaction in one of its partitions."""

    ENDED = "ended"  # Also if it had ended before, or had nothing there.
    GONE = "gone"  # The partition is deleted.
    LATER = "later"  # The partition cannot be written to before it is repaired.
    ELSEWHERE = "elsewhere"  # Another broker has to be told, or it has to be looked who leads the partition.


class Ends(Protocol):
    """Where partitions are told that a transaction has ended."""

    def end(self, partition: TopicPartition, marker: Marker) -> ReachedState:
        """Append a marker where the producer's transaction is open. At once: it waits for nothing."""

    async def end_elsewhere(self, partitions: Sequence[TopicPartition], marker: Marker) -> list[TopicPartition]:
        """Tell those that could not be reached at once. On return all have the marker, durable, or are deleted, but
        those that are returned: they cannot be written to before they are repaired."""


_ENDING_S = 10.0  # So long a producer waits for an end to be carried out; then it asks again.
_REPAIRED_MS = 15_000  # So often partitions that cannot be written to are tried again.


class DurableTransaction:
    """One transactional id. Belongs to one event loop."""

    __slots__ = ("_clock", "_ended", "_ending", "_ends", "_log", "_on_due", "_timers", "end_offset", "left", "value")

    def __init__(
        self,
        value: Transaction,
        log: PartitionLog,
        ends: Ends,
        timers: Timers,
        clock: Clock,
        on_due: Callable[[DurableTransaction], None],
        ended: Counter[TransactionState],
    ) -> None:
        self.value = value
        self.end_offset = 0  # Behind the newest of its records.
        self.left: tuple[TopicPartition, ...] = ()  # Where what is decided has to wait until they are repaired.
        self._log = log
        self._ends = ends
        self._timers = timers
        self._clock = clock
        self._on_due = on_due
        self._ended = ended  # How many have ended, and how.
        self._ending: asyncio.Future[None] | None = None  # Other brokers are being told of an end.

    def durable(self) -> asyncio.Future[None]:
        """Done once everything that this id has done so far is durable."""
        return self._log.durable.reached(self.end_offset)

    def check_alive(self) -> None:
        """Raise once the internal partition is given to another broker: what is known of the id here is past."""
        self._log.check_alive()

    def move(self, to: Transaction) -> None:
        """Take a step."""
        if to is self.value:
            return
        self._append(transaction_record(to, to.changed_at_ms))
        self.value = to
        if to.state is TransactionState.ONGOING:
            self.set_timer()

    def say_again(self) -> None:
        """Append the same once more: if that becomes durable, nobody else was the coordinator when this was called."""
        self._append(transaction_record(self.value, self.value.changed_at_ms))

    def _append(self, record: Record) -> None:
        batch = memoryview(build([record]))
        if len(batch) > self._log.settings.batch_size_max:
            raise TooLarge(len(batch), self._log.settings.batch_size_max)
        self.end_offset = self._log.append_one(read_header(batch), batch).end_offset

    def carry_out(self, prepared: Transaction) -> None:
        """Prepare an end, put it into all partitions, and complete it: in this order, and in one go."""
        self.move(prepared)
        self.complete()

    def complete(self) -> None:
        """Put a prepared end into the partitions that do not have it yet."""
        now_ms = self._clock.now_ms()
        kind = MarkerKind.COMMIT if self.value.state is TransactionState.PREPARE_COMMIT else MarkerKind.ABORT
        marker = Marker(kind, self.value.producer_id, self.value.epoch, self._log.epochs.current, now_ms)
        reached = {each: self._ends.end(each, marker) for each in sorted(self.value.partitions)}
        elsewhere = [each for each, state in reached.items() if state is ReachedState.ELSEWHERE]
        left = [each for each, state in reached.items() if state is ReachedState.LATER]
        if elsewhere:
            self._ending = asyncio.ensure_future(self._complete_elsewhere(elsewhere, left, marker))
        else:
            self._finish_but(left)

    async def _complete_elsewhere(
        self, partitions: Sequence[TopicPartition], left: Sequence[TopicPartition], marker: Marker
    ) -> None:
        try:
            await self.durable()  # Before it is, nobody else may hear of the decision: another might decide otherwise.
            self._finish_but([*left, *await self._ends.end_elsewhere(partitions, marker)])
        except HoldfastError as failure:  # Whoever reads these records next goes on with it.
            transactional_id, state = self.value.transactional_id, self.value.state.title
            log.info("transactional id %s: %s is left to the next coordinator: %s", transactional_id, state, failure)
        self._ending = None

    def _finish_but(self, left: Sequence[TopicPartition]) -> None:
        """It is complete where it can be. For the rest it stays decided, and is tried again: then no partition that is
        repaired shows a part of what comes later as a part of this."""
        before, self.left = self.left, tuple(left)
        if not left:
            self._finish()
            return
        self._timers.call_at(self._timers.now() + _REPAIRED_MS, self._try_again)
        if self.left != before:
            transactional_id, state = self.value.transactional_id, self.value.state.title
            places = ", ".join(f"{topic}-{number}" for topic, number in left)
            facts = {"event": "transaction_left", "transactional_id": transactional_id, "partitions": places}
            said = "transactional id %s: %s cannot be carried out in %s, and waits until it is repaired"
            log.error(said, transactional_id, state, places, extra={"facts": facts})

    def _try_again(self, now: int) -> None:
        del now
        if self.value.state.is_prepared and self._ending is None:
            try:
                self.complete()
            except HoldfastError as failure:  # The logs have stopped, or are others'.
                log.info("transactional id %s: its end is left as it is: %s", self.value.transactional_id, failure)

    def _finish(self) -> None:
        self.move(rules.complete(self.value, self._clock.now_ms()))
        self._ended[self.value.state] += 1

    async def ended(self) -> None:
        """Wait until what was prepared is carried out everywhere but in what is broken, and durable.

        TransactionEnding: ask again."""
        if self._ending is not None:
            await asyncio.wait([self._ending], timeout=_ENDING_S)
            if self.value.state.is_prepared and not self.left:
                raise TransactionEnding(self.value.transactional_id, self.value.state)
        await self.durable()

    @property
    def producer_after(self) -> Producer:
        """Who the producer is once what is prepared has been carried out."""
        value = self.value
        return rules.complete(value, value.changed_at_ms).producer if value.state.is_prepared else value.producer

    def stop(self) -> None:
        """Another broker has the id, or this one ends."""
        self._timers.forget(self.tick)
        self._timers.forget(self._try_again)
        if self._ending is not None:
            self._ending.cancel()

    def forget(self) -> None:
        """Take the id back."""
        self._append(forgotten_record(self.value.transactional_id, self._clock.now_ms()))
        self._timers.forget(self.tick)

    # Time

    def set_timer(self) -> None:
        """Call when the open transaction has to end. One that was set before is left alone: it asks again."""
        assert self.value.started_at_ms != NO_TIME
        left_ms = max(self.value.deadline_ms - self._clock.now_ms(), 0)
        self._timers.call_at(self._timers.now() + left_ms, self.tick)

    def tick(self, now: int) -> None:
        """Look whether the open transaction has had its time."""
        del now
        if self.value.state is not TransactionState.ONGOING:
            return
        if self.is_late:
            self._on_due(self)
        else:
            self.set_timer()

    @property
    def is_late(self) -> bool:
        is_open = self.value.state is TransactionState.ONGOING
        return is_open and self.value.deadline_ms <= self._clock.now_ms()
