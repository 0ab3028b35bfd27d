"""One partition of the model test: the plain history beside the real log, and what must always hold between them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from tests.log import plain
from tests.log.plain import PlainBatch, unstamped

from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.read import Read
from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import split
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import PartitionId


def by_hand(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that waits for nothing but its turn, without the loop: nothing else happens meanwhile."""
    try:
        while True:
            work.send(None)
    except StopIteration as stop:
        return stop.value


class Slot:
    """What was appended to one partition, and how much of it was promised to whom."""

    def __init__(self, home: PartitionId, settings: PartitionSettings) -> None:
        self.home = home
        self.settings = settings
        self.history: list[PlainBatch] = []
        self.log_start = 0
        self.flushed = 0
        self.durable = 0  # The highest durable mark seen: no crash may take anything below.
        self.shown = 0  # The highest watermark seen.
        self.lost: list[PlainBatch] = []  # Shown once, then lost by a crash: readers must be told.
        self.partition: PartitionLog | None = None

    @property
    def end(self) -> int:
        return self.history[-1].end if self.history else 0

    def holding(self, offset: int) -> PlainBatch:
        return next(each for each in self.history if each.base <= offset < each.end)

    # After a crash

    def reopened(self, partition: PartitionLog, *, clean: bool) -> None:
        """Take the log as it was found; what it lost must not have been durable."""
        end = partition.marks.log_end
        assert end >= self.durable, "An acknowledged record was lost."
        assert end == self.end or not clean, "A clean stop lost a record."
        kept = [each for each in self.history if each.end <= end]
        assert (kept[-1].end if kept else 0) == end, "A ghost came back, or half a batch."
        epochs = [each.leader_epoch for each in self.history]
        if not clean:
            assert partition.epochs.current > max(epochs, default=0), "An unclean open went unnoticed."
        self.lost += [each for each in self.history if each.base >= end and each.base < self.shown]
        self.history, self.shown = kept, min(self.shown, end)
        self.partition = partition

    # At any moment

    def check(self, newest: Manifest, offset: int, max_bytes: int) -> None:
        """Hold the log against the history. `newest` is the manifest in the store; offset and limit are any."""
        partition = self.partition
        assert partition is not None
        self._check_marks(partition, newest)
        self._check_all(partition, max_bytes)
        self._check_transactions(partition, offset, max_bytes)
        self._check_tail(partition)
        for each in self.lost:
            told = partition.end_of_epoch(each.leader_epoch)
            assert told is None or told[1] <= each.base, "A reader that saw a lost record is not told."

    def _check_marks(self, partition: PartitionLog, newest: Manifest) -> None:
        marks = partition.marks
        assert marks.log_end == self.end
        assert marks.high_watermark == (self.end if self.settings.durability == "memory" else marks.durable)
        assert marks.durable >= self.durable, "The durable mark went back."
        assert marks.flushed >= self.flushed, "The flushed mark went back."
        assert marks.log_start >= self.log_start, "Log start went back."
        assert marks.flushed <= newest.flushed <= marks.durable, "What is flushed is in the store, and durable."
        assert marks.log_start <= newest.log_start
        self.log_start, self.flushed, self.durable = marks.log_start, marks.flushed, marks.durable
        self.shown = max(self.shown, marks.high_watermark)

    def _check_all(self, partition: PartitionLog, max_bytes: int) -> None:
        """Every offset in [log start, high watermark) can be read, once, with its own bytes."""
        at, end = partition.marks.log_start, partition.marks.high_watermark
        while at < end:
            read = by_hand(partition.read(at, None, max_bytes))
            assert read.next_offset > at, "A read made no progress."
            self.check_read(read, at)
            at = read.next_offset
        assert at == end, "There is data past the watermark."

    def check_read(self, read: Read, offset: int) -> None:
        """Whatever a read gave: the batches of the history from the one that holds the offset on, none left out."""
        found = [(header, unstamped(header, data)) for buffer in read.buffers for header, data in split(buffer)]
        at = offset
        for header, data in found:
            expected = self.holding(at)
            assert header.base_offset == expected.base, "A batch is missing, or came twice."
            assert data == expected.data, "A batch has the bytes of another."
            assert header.leader_epoch == expected.leader_epoch
            at = expected.end
        assert read.next_offset == at

    def _check_transactions(self, partition: PartitionLog, offset: int, max_bytes: int) -> None:
        stable = plain.last_stable(self.history, partition.marks.high_watermark)
        assert partition.last_stable == stable, "The last stable offset is wrong."
        if not partition.marks.log_start <= offset <= partition.marks.high_watermark:
            return
        read = by_hand(partition.read(offset, None, max_bytes, committed=True))
        self.check_read(read, offset)
        assert read.next_offset <= max(stable, offset), "A committed read went past the last stable offset."
        assert read.buffers or offset >= stable
        expected = plain.aborted(self.history, offset, read.next_offset) if read.buffers else []
        assert read.aborted == expected, "The list of aborted transactions is wrong."

    def _check_tail(self, partition: PartitionLog) -> None:
        """The tail goes on at `flushed`, and the write-ahead log still has all of it."""
        wal = partition.ground.journal._wal
        expected = [each.base for each in self.history if each.base >= partition.marks.flushed]
        assert [each.base for each in partition.tail] == expected
        assert all(each.index >= wal.state.first_index for each in partition.tail), "Purged too far."
