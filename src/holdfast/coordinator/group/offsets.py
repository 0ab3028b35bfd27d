"""How far one group has read: committed offsets, those on their way to the disk, and those of open transactions.

A change is shown once it is durable, never before. Changes are applied in the order of the log, so the last one in
the log is the one that holds, also after a restart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.types import TopicPartition

_OFFSET_SIZE: Final = 400  # Bytes of memory, about, besides the texts.

Changes = Mapping[TopicPartition, CommittedOffset | None]  # None: the offset is taken back.


@dataclass(slots=True)
class OffsetsSize:
    """Bytes that the offsets of all groups take, about."""

    size: int = 0


class _Placed(NamedTuple):
    """An offset, and where in the log its record is."""

    at: int
    value: CommittedOffset


class OffsetTable:
    """The offsets of one group."""

    def __init__(self) -> None:
        self._durable: dict[TopicPartition, _Placed] = {}
        self._on_the_way: Counter[TopicPartition] = Counter()  # Changes in the log that are not durable yet.
        self._open: dict[int, dict[TopicPartition, _Placed]] = {}  # By producer id: what its transaction wrote.
        self._counted = OffsetsSize()

    def __len__(self) -> int:
        return len(self._durable)

    @property
    def is_unused(self) -> bool:
        return not self._durable and self.is_settled

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way, and no transaction open."""
        return not self._on_the_way and not self._open

    # Their size

    def count_in(self, counted: OffsetsSize) -> None:
        """From now on they count there, together with those of others."""
        counted.size += self._counted.size
        self._counted = counted

    def growth(self, changes: Mapping[TopicPartition, CommittedOffset]) -> int:
        """By how many bytes a commit would make them more."""
        before = {partition: self._durable.get(partition) for partition in changes}
        return sum(
            _size(partition, value) - _size_placed(partition, before[partition]) for partition, value in changes.items()
        )

    def _put(self, partition: TopicPartition, placed: _Placed) -> None:
        self._counted.size += _size(partition, placed.value) - _size_placed(partition, self._durable.get(partition))
        self._durable[partition] = placed

    def _take(self, partition: TopicPartition) -> None:
        self._counted.size -= _size_placed(partition, self._durable.pop(partition, None))

    # Changes

    def begin(self, partitions: Iterable[TopicPartition]) -> None:
        """A change is in the log, on its way to the disk."""
        for partition in partitions:
            self._on_the_way[partition] += 1

    def finish(self, changes: Changes, at: int) -> None:
        """A change that was begun is durable. `at` is where in the log it is."""
        for partition in changes:
            self._on_the_way[partition] -= 1
            if not self._on_the_way[partition]:
                del self._on_the_way[partition]
        self.apply(changes, at)

    def apply(self, changes: Changes, at: int) -> None:
        """A change is durable."""
        for partition, value in changes.items():
            if value is not None:
                self._put(partition, _Placed(at, value))
                continue
            self._take(partition)
            for pending in self._open.values():
                if partition in pending and pending[partition].at < at:
                    # What was written before the offset was taken back is void.
                    self._counted.size -= _size_placed(partition, pending.pop(partition))
        self._open = {producer_id: pending for producer_id, pending in self._open.items() if pending}

    # Transactions

    def apply_pending(self, producer_id: int, changes: Mapping[TopicPartition, CommittedOffset], at: int) -> None:
        """A transaction's offsets are in the log; they count once it is committed."""
        pending = self._open.setdefault(producer_id, {})
        for partition, value in changes.items():
            self._counted.size += _size(partition, value) - _size_placed(partition, pending.get(partition))
            pending[partition] = _Placed(at, value)

    def decide(self, producer_id: int, *, commit: bool, end: int | None = None) -> None:
        """A transaction has ended: what it wrote, or what it wrote below `end`. Repeating this is harmless."""
        written = self._open.pop(producer_id, {})
        for partition, placed in written.items():
            if end is not None and placed.at >= end:  # The producer's next transaction has begun meanwhile.
                self._open.setdefault(producer_id, {})[partition] = placed
                continue
            self._counted.size -= _size_placed(partition, placed)
            before = self._durable.get(partition)
            if commit and (before is None or before.at < placed.at):  # A later commit outside the transaction holds.
                self._put(partition, placed)

    def is_undecided(self, partition: TopicPartition) -> bool:
        """Whether an open transaction has written this offset."""
        return any(partition in pending for pending in self._open.values())

    # Reading

    def get(self, partition: TopicPartition) -> CommittedOffset | None:
        placed = self._durable.get(partition)
        return None if placed is None else placed.value

    @property
    def partitions(self) -> list[TopicPartition]:
        """All that have an offset to show."""
        return list(self._durable)

    def known(self) -> set[TopicPartition]:
        """All that have, or are about to have, an offset."""
        return {*self._durable, *self._on_the_way, *(each for pending in self._open.values() for each in pending)}

    def expired(
        self, now_ms: int, retention_ms: int, since_ms: int | None, topics: Collection[str] = ()
    ) -> list[TopicPartition]:
        """The offsets that nobody has needed for so long: since their commit, or since a later moment of the group.

        Those of these topics, of open transactions, and those with a change under way are needed.
        """
        return [
            partition
            for partition, (_, value) in self._durable.items()
            if partition.topic not in topics
            and _ends_ms(value, retention_ms, since_ms) <= now_ms
            and not self._on_the_way[partition]
            and not self.is_undecided(partition)
        ]


def _size(partition: TopicPartition, value: CommittedOffset) -> int:
    return _OFFSET_SIZE + len(partition.topic) + len(value.metadata)


def _size_placed(partition: TopicPartition, placed: _Placed | None) -> int:
    return 0 if placed is None else _size(partition, placed.value)


def _ends_ms(value: CommittedOffset, retention_ms: int, since_ms: int | None) -> int:
    if value.expires_at_ms >= 0:
        return value.expires_at_ms
    return max(value.committed_at_ms, since_ms or 0) + retention_ms
