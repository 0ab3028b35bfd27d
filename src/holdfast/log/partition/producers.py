"""What a partition remembers of its producers: repeats are known again, gaps and zombies refused, transactions tracked.

The table is a pure function of the batches and of when they came: rebuilt from a snapshot and the batches behind it, it
is the same, but that whoever wrote those counts as heard of later. So nobody is forgotten early.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from typing import NamedTuple

from holdfast.log.errors import ProducerEpochOld, SequenceGap, TransactionMismatch
from holdfast.record.batch import BatchHeader
from holdfast.record.layout import NO_PRODUCER, SEQUENCE_MASK
from holdfast.record.marker import Marker, MarkerKind, read_marker
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.producers import BATCHES_MAX, ProducerBatch, Producers, ProducerState
from holdfast.types import Offset

_new_batch = partial(tuple.__new__, ProducerBatch)


class Ended(NamedTuple):
    """A transaction that a marker has ended."""

    producer_id: int
    first_offset: int
    marker_offset: int
    aborted: bool


class ProducerTable:
    """The producers of one partition."""

    def __init__(self, producers: Producers | None = None, forgotten_below: int = 0) -> None:
        self._states: dict[int, ProducerState] = dict(producers or {})  # Who was silent for longest comes first.
        self.forgotten_below = forgotten_below  # Producers with lower ids may have been known here, or elsewhere.
        self.let_go = 0  # How many were forgotten because there were too many.

    def __len__(self) -> int:
        return len(self._states)

    def of(self, producer_ids: Iterable[int]) -> dict[int, ProducerState]:
        """The states of those among these that are known."""
        return {number: self._states[number] for number in producer_ids if number in self._states}

    def snapshot(self) -> dict[int, ProducerState]:
        return dict(self._states)

    def state(self, producer_id: int) -> ProducerState | None:
        return self._states.get(producer_id)

    def find_repeat(self, header: BatchHeader) -> ProducerBatch | None:
        """The batch that this one repeats, if it is one of the last five. Raises for a zombie,
        and for whatever does not follow: of an older repeat nobody knows whether it was ever appended."""
        state = self._states.get(header.producer_id)
        if state is not None and _is_next(state, header):
            return None  # As nearly all.
        _check_whole(header)
        if header.producer_id == NO_PRODUCER:
            return None
        if state is None:
            if header.base_sequence > 0 and header.producer_id >= self.forgotten_below:
                raise SequenceGap(header.producer_id, 0, header.base_sequence)  # Nothing of it was ever here.
            return None
        if header.producer_epoch < state.epoch:
            raise ProducerEpochOld(header.producer_id, state.epoch, header.producer_epoch)
        if header.base_sequence < 0:
            return None  # A marker: it has no sequence.
        if header.producer_epoch > state.epoch:
            if header.base_sequence != 0:
                raise SequenceGap(header.producer_id, 0, header.base_sequence)
            _check_fits(state, header)
            return None
        for batch in state.batches:
            if (batch.base_sequence, batch.last_sequence) == (header.base_sequence, header.last_sequence):
                return batch
        self._check_follows(state, header)
        _check_fits(state, header)
        return None

    def is_open(self, producer_id: int, epoch: int) -> bool:
        """Whether a producer, in this very epoch, has a transaction open here."""
        state = self._states.get(producer_id)
        return state is not None and state.epoch == epoch and state.transaction_start is not None

    @staticmethod
    def _check_follows(state: ProducerState, header: BatchHeader) -> None:
        if not state.batches:  # A marker has begun this epoch. Were any sequence let in, an earlier one would be lost.
            if header.base_sequence != 0:
                raise SequenceGap(header.producer_id, 0, header.base_sequence)
            return
        expected = (state.batches[-1].last_sequence + 1) & SEQUENCE_MASK
        if header.base_sequence == expected:
            return
        raise SequenceGap(header.producer_id, expected, header.base_sequence)

    def check_begins(self, header: BatchHeader) -> None:
        """Raise for a producer that begins in the middle, whoever it is: where each transaction begins at 0."""
        if header.base_sequence > 0 and header.producer_id not in self._states:
            raise SequenceGap(header.producer_id, 0, header.base_sequence)

    def apply(self, header: BatchHeader, batch: memoryview, now_ms: int) -> Ended | None:
        """Note an appended batch; the transaction that it ends, if it is a marker.

        `now_ms` is the partition's running time, which never goes back: what records say of the time does not count.
        """
        if header.producer_id == NO_PRODUCER:
            return None
        if header.is_control:
            return self._apply_marker(header.base_offset, read_marker(batch), now_ms)
        state = self._states.pop(header.producer_id, None)  # It comes back at the end, as the last that was heard of.
        if state is None or header.producer_epoch > state.epoch:
            start = state.transaction_start if state else None
            state = ProducerState(header.producer_id, header.producer_epoch, transaction_start=start)
        noted = _new_batch((header.base_sequence, header.last_sequence, header.base_offset, header.max_timestamp))
        start = state.transaction_start
        if header.is_transactional and start is None:
            start = Offset(header.base_offset)
        self._states[header.producer_id] = (
            ProducerState(  # Not `replace`: every batch of every such producer comes by here.
                header.producer_id,
                state.epoch,
                (*state.batches, noted)[-BATCHES_MAX:],
                start,
                state.coordinator_epoch,
                header.max_timestamp,
                now_ms,
            )
        )
        return None

    def _apply_marker(self, offset: int, marker: Marker, now_ms: int) -> Ended | None:
        state = self._states.pop(marker.producer_id, None)
        if state is None or marker.producer_epoch > state.epoch:
            start = state.transaction_start if state else None
            state = ProducerState(marker.producer_id, marker.producer_epoch, transaction_start=start)
        first = state.transaction_start
        self._states[marker.producer_id] = replace(
            state,
            transaction_start=None,
            coordinator_epoch=max(marker.coordinator_epoch, state.coordinator_epoch),
            last_timestamp=marker.timestamp,
            heard_ms=now_ms,
        )
        if first is None:
            return None  # A repeated marker is harmless.
        return Ended(marker.producer_id, first, offset, marker.kind == MarkerKind.ABORT)

    def check_marker(self, marker: Marker) -> None:
        """A marker from an older coordinator, or for an older epoch, must not end anything."""
        state = self._states.get(marker.producer_id)
        if state is None:
            return
        if marker.producer_epoch < state.epoch:
            raise ProducerEpochOld(marker.producer_id, state.epoch, marker.producer_epoch)
        if marker.coordinator_epoch < state.coordinator_epoch:
            reason = f"coordinator epoch {marker.coordinator_epoch} is older than {state.coordinator_epoch}"
            raise TransactionMismatch(marker.producer_id, reason)

    def expire(self, before_ms: int) -> int:
        """Forget the producers that were silent since `before_ms` and have no open transaction; how many."""
        return self._forget(takewhile(lambda each: each.heard_ms < before_ms, self._states.values()))

    def limit(self, count_max: int) -> int:
        """When there are too many, forget those that were silent for longest, a sixteenth at a time; how many."""
        if len(self._states) <= count_max:
            return 0
        keep = count_max - count_max // 16
        forgotten = self._forget(islice(self._idle(), len(self._states) - keep))
        self.let_go += forgotten
        return forgotten

    def _idle(self) -> Iterator[ProducerState]:
        return (each for each in self._states.values() if each.transaction_start is None)

    def _forget(self, states: Iterable[ProducerState]) -> int:
        numbers = [each.producer_id for each in states if each.transaction_start is None]
        for number in numbers:
            del self._states[number]
        self.forgotten_below = max(self.forgotten_below, max(numbers, default=-1) + 1)
        return len(numbers)

    def open_transactions(self) -> dict[int, int]:
        """Producer id → first offset of its open transaction."""
        return {
            each.producer_id: each.transaction_start
            for each in self._states.values()
            if each.transaction_start is not None
        }


def _is_next(state: ProducerState, header: BatchHeader) -> bool:
    """Whether a batch follows its producer's last one, in the same epoch, and in its transaction if one is open."""
    if header.producer_epoch != state.epoch or not state.batches:
        return False
    if header.base_sequence != (state.batches[-1].last_sequence + 1) & SEQUENCE_MASK:
        return False
    return state.transaction_start is None or header.is_transactional


def _check_whole(header: BatchHeader) -> None:
    """A transaction has a producer, and a producer an epoch and a sequence: otherwise nothing could ever end it."""
    if header.producer_id == NO_PRODUCER:
        if header.is_transactional:
            raise TransactionMismatch(header.producer_id, "a transactional batch without a producer")
    elif header.producer_epoch < 0:
        raise ProducerEpochOld(header.producer_id, 0, header.producer_epoch)
    elif header.base_sequence < 0 and not header.is_control:
        raise SequenceGap(header.producer_id, 0, header.base_sequence)


def _check_fits(state: ProducerState, header: BatchHeader) -> None:
    """What is not of a producer's open transaction must not get into it: it would be committed or aborted with it."""
    if state.transaction_start is None:
        return
    if not header.is_transactional:
        raise TransactionMismatch(header.producer_id, "a batch outside of the transaction that is open here")
    if header.producer_epoch > state.epoch:
        reason = f"a batch in epoch {header.producer_epoch} where a transaction of epoch {state.epoch} is open"
        raise TransactionMismatch(header.producer_id, reason)


class Transactions:
    """Which transactions are open, which were aborted, and where everything below is decided."""

    def __init__(self, open_: dict[int, int]) -> None:
        self._open = dict(open_)
        self._ending: list[Ended] = []  # Their markers are appended but not below the high watermark yet.
        self._aborted: list[Aborted] = []  # Of transactions whose marker is in the tail.

    @property
    def open_count(self) -> int:
        return len(self._open)

    @property
    def open(self) -> dict[int, int]:
        """Producer id → first offset of its open transaction."""
        return dict(self._open)

    def begin(self, producer_id: int, offset: int) -> None:
        self._open.setdefault(producer_id, offset)

    def end(self, ended: Ended) -> None:
        self._open.pop(ended.producer_id, None)
        self._ending.append(ended)
        if ended.aborted:
            stable = self._first_open(ended.marker_offset + 1)
            aborted = Aborted(ended.producer_id, ended.first_offset, ended.marker_offset, stable)
            self._aborted.append(aborted)

    def _first_open(self, default: int) -> int:
        return min(self._open.values(), default=default)

    def last_stable(self, high_watermark: int) -> int:
        """Below this every transaction is decided, and its marker is readable."""
        if not self._open and not self._ending:
            return high_watermark
        if self._ending:
            self._ending = [each for each in self._ending if each.marker_offset >= high_watermark]
        undecided = min((each.first_offset for each in self._ending), default=high_watermark)
        return min(self._first_open(high_watermark), undecided, high_watermark)

    def aborted(self, start: int, end: int) -> list[Aborted]:
        """Aborted transactions with an offset in `[start, end)` whose marker is in the tail."""
        return [each for each in self._aborted if each.first_offset < end and each.last_offset >= start]

    def aborted_with_marker_in(self, start: int, end: int) -> list[Aborted]:
        return [each for each in self._aborted if start <= each.last_offset < end]

    def release(self, end: int) -> None:
        """The markers below `end` are in a committed segment."""
        self._aborted = [each for each in self._aborted if each.last_offset >= end]
