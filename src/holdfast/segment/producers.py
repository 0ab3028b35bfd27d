"""What is remembered of each producer, so that a repeated batch is known again. The rules are in `holdfast.log`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from holdfast.types import Offset

BATCHES_MAX = 5  # As many as a producer may have in flight.


class ProducerBatch(NamedTuple):
    """One of a producer's last batches."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    """One producer in one partition."""

    producer_id: int
    epoch: int
    batches: tuple[ProducerBatch, ...] = ()  # Oldest first.
    transaction_start: Offset | None = None  # The first offset of its open transaction.
    coordinator_epoch: int = -1  # Of the last marker written for it.
    last_timestamp: int = -1  # Of its last batch or marker: when it may be forgotten.

    def __post_init__(self) -> None:
        if len(self.batches) > BATCHES_MAX:
            raise ValueError(f"producer {self.producer_id} has {len(self.batches)} batches, {BATCHES_MAX} are kept")

    def to_row(self) -> list[Any]:
        batches = [list(each) for each in self.batches]
        start = -1 if self.transaction_start is None else self.transaction_start
        return [self.producer_id, self.epoch, start, self.coordinator_epoch, self.last_timestamp, batches]

    @classmethod
    def from_row(cls, row: list[Any]) -> ProducerState:
        producer_id, epoch, start, coordinator_epoch, last_timestamp, batches = row
        kept = tuple(ProducerBatch(*each) for each in batches)
        return cls(producer_id, epoch, kept, None if start < 0 else start, coordinator_epoch, last_timestamp)


Producers: TypeAlias = Mapping[int, ProducerState]


def to_rows(producers: Producers) -> list[list[Any]]:
    """All producers in a form that JSON knows, by id."""
    return [producers[producer_id].to_row() for producer_id in sorted(producers)]


def from_rows(rows: list[list[Any]]) -> dict[int, ProducerState]:
    """The inverse of `to_rows`."""
    return {row[0]: ProducerState.from_row(row) for row in rows}
