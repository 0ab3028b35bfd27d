"""One batch of a tail, as an object."""

from __future__ import annotations

from holdfast.record.batch import BatchHeader
from holdfast.record.layout import NO_PRODUCER

BATCH_SIZE = 512  # Bytes that a batch takes as an object besides its own bytes: measured, and rounded up.


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
        "plain",
        "record_count",
        "size",
        "start",
    )

    def __init__(
        self, header: BatchHeader, data: memoryview | None, index: int, start: int, appended_at: float
    ) -> None:
        self.base = header.base_offset
        self.end = header.base_offset + header.last_offset_delta + 1
        self.size = header.size
        self.epoch = header.leader_epoch
        self.record_count = header.record_count
        self.max_timestamp = header.max_timestamp
        self.plain = header.producer_id == NO_PRODUCER  # No producer's sequence and no transaction depends on it.
        self.data = data
        self.index = index  # Of its entry in the write-ahead log.
        self.start = start  # Its first byte in that entry's content.
        self.appended_at = appended_at  # In the clock's seconds: an age that no change of the time of day touches.

    @property
    def memory_size(self) -> int:
        """Bytes that it takes in memory, about, as long as its own are there."""
        return BATCH_SIZE + self.size
