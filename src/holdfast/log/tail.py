"""The tail: every batch of a partition from its append until the manifest that holds it is committed.

Buffer and flush window are the same place: a flush reads batches here and lets go of them only when they are in a
committed segment. A batch whose bytes had to leave memory is still listed, and read back from the write-ahead log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from holdfast.record.batch import BatchHeader


class TailBatch:
    """One batch: its offsets, where it is in the write-ahead log, and its bytes unless they were spilled."""

    __slots__ = (
        "appended_at",
        "base",
        "data",
        "end",
        "epoch",
        "index",
        "max_timestamp",
        "record_count",
        "size",
        "start",
    )

    def __init__(
        self, header: BatchHeader, data: memoryview | None, index: int, start: int, appended_at: float
    ) -> None:
        self.base = header.base_offset
        self.end = header.end_offset
        self.size = header.size
        self.epoch = header.leader_epoch
        self.record_count = header.record_count
        self.max_timestamp = header.max_timestamp
        self.data = data
        self.index = index  # Of its entry in the write-ahead log.
        self.start = start  # Its first byte in that entry's content.
        self.appended_at = appended_at  # In the clock's seconds: an age that no change of the time of day touches.


class MemoryUse:
    """How many bytes all tails together hold in memory."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0


class Tail:
    """Batches in the order of their offsets, without a gap."""

    def __init__(self, use: MemoryUse) -> None:
        self._use = use
        self._bases: list[int] = []
        self._batches: list[TailBatch] = []
        self._spilled = 0  # So many at the beginning have no bytes in memory; recovery may leave others behind them.
        self.size = 0
        self.memory_size = 0

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[TailBatch]:
        return iter(self._batches)

    @property
    def first(self) -> TailBatch | None:
        return self._batches[0] if self._batches else None

    @property
    def end(self) -> int | None:
        """Behind its last offset; None when there is none."""
        return self._batches[-1].end if self._batches else None

    def move_from(self, other: Tail) -> None:
        """Take over all batches of another tail, which need not follow ours."""
        self._bases += other._bases
        self._batches += other._batches
        self.size += other.size
        self.memory_size += other.memory_size
        other._bases, other._batches, other._spilled, other.size, other.memory_size = [], [], 0, 0, 0

    def add(self, batch: TailBatch) -> None:
        assert not self._batches or self._batches[-1].end == batch.base, "a tail has no gaps"
        self._bases.append(batch.base)
        self._batches.append(batch)
        self.size += batch.size
        if batch.data is not None:
            self._hold(batch.size)

    def _hold(self, size: int) -> None:
        self.memory_size += size
        self._use.size += size

    def from_offset(self, offset: int) -> Iterator[TailBatch]:
        """The batches from the one that holds `offset` on."""
        number = max(bisect_right(self._bases, offset) - 1, 0)
        while number < len(self._batches):
            yield self._batches[number]
            number += 1

    def release(self, end: int) -> None:
        """Let go of all batches below `end`: they are in a committed segment."""
        count = bisect_right(self._bases, end - 1)
        freed = 0
        for batch in self._batches[:count]:
            assert batch.end <= end, "a segment ends with a batch"
            self.size -= batch.size
            if batch.data is not None:
                freed += batch.size
        del self._batches[:count], self._bases[:count]
        self._spilled = max(self._spilled - count, 0)
        self._hold(-freed)

    def clear(self) -> None:
        """Let go of everything: the partition is deleted."""
        self._hold(-self.memory_size)
        self._bases, self._batches, self._spilled, self.size = [], [], 0, 0

    def spill(self, wanted: int, durable: int) -> int:
        """Drop the bytes of the oldest durable batches, about `wanted` of them; how many it were."""
        freed = 0
        while freed < wanted and self._spilled < len(self._batches):
            batch = self._batches[self._spilled]
            if batch.end > durable:
                break
            if batch.data is not None:
                batch.data = None
                freed += batch.size
            self._spilled += 1
        self._hold(-freed)
        return freed
