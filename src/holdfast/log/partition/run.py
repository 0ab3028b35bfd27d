"""Batches whose bytes have left memory: what must be known of them, a few bytes each.

A batch of one small record would cost eight times its own size as an object. A run holds some hundred batches as
columns of numbers; whoever needs one gets it as an object again, and its bytes from the write-ahead log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from holdfast.log.partition.tail_batch import TailBatch
from holdfast.wal.chunks import columns

RUN_COUNT_MAX = 256
_RUN_SIZE = 512  # Bytes of a run as an object, without its columns: measured, and rounded up.


class Run:
    """Batches that follow each other without a gap."""

    __slots__ = (
        "_count",
        "_packed",
        "appended_at",
        "base",
        "end",
        "epoch_max",
        "epoch_min",
        "index",
        "max_timestamp",
        "plain",
        "size",
    )

    def __init__(self, batches: Sequence[TailBatch]) -> None:
        assert 0 < len(batches) <= RUN_COUNT_MAX
        first = batches[0]
        self._count = len(batches)
        self.base = first.base
        self.end = batches[-1].end
        self.index = first.index
        self.appended_at = first.appended_at  # Of the oldest, for all: an age is never understated.
        sizes = [each.size for each in batches]
        epochs = [each.epoch for each in batches]
        timestamps = [each.max_timestamp for each in batches]
        plain = [each.plain for each in batches]
        self.size = sum(sizes)
        self.epoch_min, self.epoch_max = min(epochs), max(epochs)
        self.max_timestamp = max(timestamps)
        self.plain = all(plain)
        indexes = [each.index for each in batches]
        self._packed = columns.pack(
            (
                [each.end - each.base for each in batches],
                [index - before for index, before in zip(indexes, [first.index, *indexes], strict=False)],
                [each.start for each in batches],
                sizes,
                [each.record_count for each in batches],
                timestamps,
                epochs,
                plain,
            )
        )

    def __len__(self) -> int:
        return self._count

    @property
    def memory_size(self) -> int:
        """Bytes that it takes in memory, about."""
        return _RUN_SIZE + len(self._packed)

    def batches(self, offset: int = 0) -> Iterator[TailBatch]:
        """Its batches as objects, from the one that holds `offset` on; all when that lies before them."""
        spans, steps, starts, sizes, counts, timestamps, epochs, plain = columns.unpack(self._packed, len(self))
        bounds = list(accumulate(spans, initial=self.base))
        indexes = list(accumulate(steps, initial=self.index))[1:]
        for number in range(max(bisect_right(bounds, offset, hi=len(self)) - 1, 0), len(self)):
            batch = TailBatch.__new__(TailBatch)
            batch.base, batch.end = bounds[number], bounds[number + 1]
            batch.size, batch.record_count = sizes[number], counts[number]
            batch.epoch, batch.max_timestamp = epochs[number], timestamps[number]
            batch.index, batch.start = indexes[number], starts[number]
            batch.plain, batch.appended_at = bool(plain[number]), self.appended_at
            batch.data = None
            yield batch
