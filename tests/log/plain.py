"""The partition log in the plainest way: a list of all batches ever appended, gone through for every question.

Nothing here is fast, and nothing is remembered: every answer comes from the whole history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.record.batch import BatchHeader
from holdfast.segment.manifest.info import Aborted

LAST_KNOWN = 5
SEQUENCES = 1 << 31


@dataclass(frozen=True)
class PlainBatch:
    """One batch, as its producer sent it and where it was put."""

    base: int
    count: int
    data: bytes  # Without the fields that the log stamps.
    producer: int = -1
    epoch: int = -1
    sequence: int = -1
    transactional: bool = False
    marker: str = ""  # "commit", "abort", or "" for records.
    leader_epoch: int = 0
    timestamp: int = 0

    @property
    def end(self) -> int:
        return self.base + self.count

    @property
    def last_sequence(self) -> int:
        return (self.sequence + self.count - 1) % SEQUENCES


def unstamped(header: BatchHeader, data: memoryview) -> bytes:
    """A batch's bytes without base offset and leader epoch, the two fields that a log stamps."""
    del header
    return bytes(data[8:12]) + bytes(data[16:])


def verdict(
    history: Sequence[PlainBatch],
    producer: int,
    epoch: int,
    sequence: int,
    count: int,
    transactional: bool = False,
    *,
    anywhere: bool = False,
) -> str | PlainBatch:
    """What an idempotent producer must be told of its next batch: "append", "gap", "zombie", "mismatch", or its repeat.

    `anywhere`: it may have been known and forgotten, so its first sequence may be any.
    """
    told = _sequenced(history, producer, epoch, sequence, count, anywhere)
    is_open = producer in transactions(history).open
    if told == "append" and is_open:
        current = next(each.epoch for each in reversed(history) if each.producer == producer)
        return "append" if transactional and epoch == current else "mismatch"
    return told


def _sequenced(
    history: Sequence[PlainBatch], producer: int, epoch: int, sequence: int, count: int, anywhere: bool
) -> str | PlainBatch:
    seen = [each for each in history if each.producer == producer]
    if not seen:
        return "append" if anywhere or sequence == 0 else "gap"
    current = seen[-1].epoch
    if epoch < current:
        return "zombie"
    if epoch > current:
        return "append" if sequence == 0 else "gap"
    batches = [each for each in seen if each.epoch == current and not each.marker]
    for each in batches[-LAST_KNOWN:]:
        if (each.sequence, each.count) == (sequence, count):
            return each
    if not batches:
        return "append" if sequence == 0 else "gap"
    return "append" if sequence == (batches[-1].last_sequence + 1) % SEQUENCES else "gap"


@dataclass(frozen=True)
class Decided:
    """The transactions of a history: those without a marker, and those that were aborted."""

    open: dict[int, int]  # Producer → first offset.
    aborted: list[Aborted]


def transactions(history: Iterable[PlainBatch]) -> Decided:
    started: dict[int, int] = {}
    aborted: list[Aborted] = []
    for each in history:
        if not each.marker:
            if each.transactional:
                started.setdefault(each.producer, each.base)
        elif each.producer in started:
            first = started.pop(each.producer)
            if each.marker == "abort":
                stable = min(started.values(), default=each.end)
                aborted.append(Aborted(each.producer, first, each.base, stable))
    return Decided(started, aborted)


def last_stable(history: Sequence[PlainBatch], high_watermark: int) -> int:
    """Below this every transaction has a marker that is readable."""
    readable = [each for each in history if each.end <= high_watermark]
    return min(transactions(readable).open.values(), default=high_watermark)


def aborted(history: Sequence[PlainBatch], start: int, end: int) -> list[Aborted]:
    """The aborted transactions with an offset in `[start, end)`."""
    return [each for each in transactions(history).aborted if each.first_offset < end and each.last_offset >= start]
