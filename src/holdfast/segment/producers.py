"""What is remembered of each producer, so that a repeated batch is known again. The rules are in `holdfast.log`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple, TypeAlias

from holdfast.types import Offset

BATCHES_MAX = 5  # As many as a producer may have in flight.


class ProducerBatch(NamedTuple):
    """One of a producer's last batches."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    timestamp: int


@dataclass(slots=True)  # Not frozen, which would double the time of every append; whoever has one only reads it.
class ProducerState:
    """One producer in one partition."""

    producer_id: int
    epoch: int
    batches: tuple[ProducerBatch, ...] = ()  # Oldest first.
    transaction_start: Offset | None = None  # The first offset of its open transaction.
    coordinator_epoch: int = -1  # Of the last marker written for it.
    last_timestamp: int = -1  # Of its last batch or marker, as its client says.
    heard_ms: int = 0  # When that was appended, in the partition's running time: when it may be forgotten.

    def __post_init__(self) -> None:
        if len(self.batches) > BATCHES_MAX:
            raise ValueError(f"producer {self.producer_id} has {len(self.batches)} batches, {BATCHES_MAX} are kept")

    def to_row(self) -> list[Any]:
        batches = [list(each) for each in self.batches]
        start = -1 if self.transaction_start is None else self.transaction_start
        kept = [self.producer_id, self.epoch, start, self.coordinator_epoch, self.last_timestamp, batches]
        return [*kept, self.heard_ms]

    @classmethod
    def from_row(cls, row: list[Any]) -> ProducerState:
        producer_id, epoch, start, coordinator_epoch, last_timestamp, batches = row[:6]
        kept = tuple(ProducerBatch(*each) for each in batches)
        heard_ms = row[6] if len(row) > 6 else 0  # Not in the first format: as if it was heard of when time began.
        start = None if start < 0 else start
        return cls(producer_id, epoch, kept, start, coordinator_epoch, last_timestamp, heard_ms)


Producers: TypeAlias = Mapping[int, ProducerState]  # By id; who was silent for longest comes first.


def to_rows(producers: Producers) -> list[list[Any]]:
    """All producers in a form that JSON knows, by id."""
    return [producers[producer_id].to_row() for producer_id in sorted(producers)]


def from_rows(rows: list[list[Any]]) -> dict[int, ProducerState]:
    """The inverse of `to_rows`: who was silent for longest comes first."""
    return longest_silent_first(ProducerState.from_row(row) for row in rows)


def longest_silent_first(states: Iterable[ProducerState]) -> dict[int, ProducerState]:
    """Producers by id, in the order in which they may be forgotten."""
    return {each.producer_id: each for each in sorted(states, key=lambda each: each.heard_ms)}


def changes(before: Producers, after: Producers) -> tuple[list[list[Any]], list[int]]:
    """What leads from one to the other: rows of those that are new or different, and the ids of those that are gone."""
    # Of many thousands nearly all are the same objects, and are passed over without a line of Python for each.
    other = compress(after, map(is_not, after.values(), map(before.get, after)))
    changed = {number: after[number] for number in other if after[number] != before.get(number)}
    gone = before.keys() - after.keys() if len(before) + len(changed) > len(after) else ()
    return to_rows(changed), sorted(gone)


def with_changes(before: Producers, rows: list[list[Any]], gone: Iterable[int]) -> dict[int, ProducerState]:
    """The inverse of `changes`."""
    merged = {**before, **from_rows(rows)}
    for number in gone:
        del merged[number]
    return longest_silent_first(merged.values())
