"""The tail: every batch of a partition from its append until the manifest that holds it is committed.

Buffer and flush window are the same place: a flush reads batches here and lets go of them only when they are in a
committed segment. A batch whose bytes had to leave memory is still listed, in a run, and read back from the write-ahead
log. Runs are older than all batches in memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter

from holdfast.log.partition.run import RUN_COUNT_MAX, Run
from holdfast.log.partition.tail_batch import TailBatch

_BASE = attrgetter("base")


class MemoryUse:
    """How many bytes all tails together hold in memory."""

    __slots__ = ("listed_size", "size")

    def __init__(self) -> None:
        self.size = 0
        self.listed_size = 0  # Of these, so many only list what was spilled: no spill makes them fewer, a flush does.


class Tail:
    """Batches in the order of their offsets, without a gap."""

    def __init__(self, use: MemoryUse) -> None:
        self._use = use
        self.runs: list[Run] = []  # What was spilled.
        self._bases: list[int] = []
        self._batches: list[TailBatch] = []  # What is in memory.
        self._count = 0
        self._first: TailBatch | None = None  # As long as it is known.
        self.size = 0
        self.memory_size = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[TailBatch]:
        for run in self.runs:
            yield from run.batches()
        yield from self._batches

    @property
    def in_memory(self) -> list[TailBatch]:
        """The batches whose bytes are in memory: the newest."""
        return self._batches

    @property
    def first(self) -> TailBatch | None:
        if self._first is None and self._count:
            self._first = next(iter(self))
        return self._first

    @property
    def end(self) -> int | None:
        """Behind its last offset; None when there is none."""
        if self._batches:
            return self._batches[-1].end
        return self.runs[-1].end if self.runs else None

    def move_from(self, other: Tail) -> None:
        """Take over all batches of another tail, which need not follow ours; none of ours may be in memory."""
        other.spill(other.memory_size, other.end or 0)
        assert not self._batches
        self.runs += other.runs
        self._count += other._count
        self.size += other.size
        self.memory_size += other.memory_size
        other.runs, other._count, other._first, other.size, other.memory_size = [], 0, None, 0, 0

    def add(self, batch: TailBatch) -> None:
        """Add a batch whose bytes are in memory."""
        assert (self._batches[-1].end if self._batches else self.end) in (None, batch.base), "a tail has no gaps"
        assert batch.data is not None
        self._bases.append(batch.base)
        self._batches.append(batch)
        self._count += 1
        self.size += batch.size
        memory_size = batch.memory_size
        self.memory_size += memory_size  # As `_hold` does it.
        self._use.size += memory_size

    def _hold(self, size: int, listed: int = 0) -> None:
        self.memory_size += size + listed
        self._use.size += size + listed
        self._use.listed_size += listed

    def from_offset(self, offset: int) -> Iterator[TailBatch]:
        """The batches from the one that holds `offset` on."""
        if not self._batches or offset < self._bases[0]:
            first = max(bisect_right(self.runs, offset, key=_BASE) - 1, 0)
            for run in self.runs[first:]:
                yield from run.batches(offset)
        number = max(bisect_right(self._bases, offset) - 1, 0)
        while number < len(self._batches):
            yield self._batches[number]
            number += 1

    def find_timestamp(self, offset: int, timestamp: int) -> TailBatch | None:
        """The first batch behind `offset`, or holding it, that says it has a record of this time or a later one."""
        found = (run for run in self.runs if run.end > offset and run.max_timestamp >= timestamp)
        listed = (each for run in found for each in run.batches(offset))
        wanted = (each for each in listed if each.end > offset and each.max_timestamp >= timestamp)
        batch = next(wanted, None)
        if batch is not None:
            return batch
        start = max(bisect_right(self._bases, offset) - 1, 0)
        held = (self._batches[number] for number in range(start, len(self._batches)))
        return next((each for each in held if each.end > offset and each.max_timestamp >= timestamp), None)

    def max_timestamps(self, end: int) -> Iterator[int]:
        """The highest timestamps of all batches below `end`."""
        for run in self.runs:
            if run.end <= end:
                yield run.max_timestamp
            else:
                yield from (each.max_timestamp for each in run.batches() if each.end <= end)
        yield from (each.max_timestamp for each in self._batches if each.end <= end)

    def release(self, end: int) -> None:
        """Let go of all batches below `end`: they are in a committed segment."""
        self._first = None
        self._release_runs(end)
        for batch in self._take(bisect_right(self._bases, end - 1)):
            assert batch.end <= end, "a segment ends with a batch"

    def _take(self, count: int) -> list[TailBatch]:
        """Take so many batches out of those in memory."""
        taken = self._batches[:count]
        del self._batches[:count], self._bases[:count]
        self._count -= count
        self.size -= sum(each.size for each in taken)
        self._hold(-sum(each.memory_size for each in taken))
        return taken

    def _release_runs(self, end: int) -> None:
        count = bisect_right(self.runs, end - 1, key=_BASE)
        for run in self.runs[:count]:
            self._note_run(run, -1)
        rest = [each for run in self.runs[max(count - 1, 0) : count] for each in run.batches(end) if each.end > end]
        assert not rest or rest[0].base == end, "a segment ends with a batch"
        self.runs[:count] = [Run(rest)] if rest else []
        if rest:
            self._note_run(self.runs[0])

    def _note_run(self, run: Run, sign: int = 1) -> None:
        self._count += sign * len(run)
        self.size += sign * run.size
        self._hold(0, sign * run.memory_size)

    def clear(self) -> None:
        """Let go of everything: the partition is deleted."""
        for run in self.runs:
            self._note_run(run, -1)
        self._hold(-self.memory_size)
        self.runs, self._bases, self._batches, self._count, self._first, self.size = [], [], [], 0, None, 0

    def spill(self, wanted: int, durable: int) -> int:
        """Drop the bytes of the oldest durable batches, about `wanted` of them; by how much memory use has shrunk."""
        freed = count = 0
        for batch in self._batches:
            if freed >= wanted or batch.end > durable:
                break
            freed += batch.memory_size
            count += 1
        before = self.memory_size
        if count:
            self._first = None
            self._list(self._take(count))
        return before - self.memory_size

    def _list(self, batches: list[TailBatch]) -> None:
        """Put batches that leave memory into runs, the last of which is filled up first."""
        for batch in batches:
            batch.data = None
        if self.runs and len(self.runs[-1]) < RUN_COUNT_MAX:
            last = self.runs.pop()
            self._note_run(last, -1)
            batches = [*last.batches(), *batches]
        for start in range(0, len(batches), RUN_COUNT_MAX):
            run = Run(batches[start : start + RUN_COUNT_MAX])
            self.runs.append(run)
            self._note_run(run)
