"""The log's settings: values only, units in the names."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.wal.format.frame import BODY_SIZE_MAX

MIB = 1 << 20
USER_DATA_SIZE_MAX = 16 * MIB  # Bytes that a log's user may keep besides entries: they are in every chunk's head.


@dataclass(frozen=True, slots=True, kw_only=True)
class WalSettings:
    """How large things may get, and how long they may wait."""

    chunk_size_max: int = 64 * MIB  # Bytes. A record larger than this has a chunk to itself.
    chunk_entries_max: int = 1 << 20  # Entries of one chunk.
    cache_size_max: int = 64 * MIB  # Bytes of payloads of closed chunks kept in memory.
    cache_entries_max: int = 1 << 17  # Payloads of closed chunks kept in memory.
    cache_open_chunk: bool = True  # False: also the open chunk's entries leave the cache once they are durable.
    queue_size_max: int = 256 * MIB  # Bytes that may wait to be written; past it `append` raises Overloaded.
    payload_size_max: int = 256 * MIB  # Bytes of one entry.
    shared_frame_size_max: int = 4096  # Bytes of a frame of small entries; a bad byte on disk takes its whole frame.
    spares_max: int = 2  # Purged chunk files kept for reuse.
    keep_pages: bool = True  # False: the system's memory lets go of what is durable; a start reads it from the disk.
    zero_ahead_size: int = 2 * MIB  # Bytes of a new file written ahead, so that most fsyncs change no file size.
    marker_delay_ms: int = 50  # Idle this long: a marker proves that all before it is durable.

    def __post_init__(self) -> None:
        if self.chunk_size_max < 4096 or self.chunk_size_max > BODY_SIZE_MAX:
            raise ValueError(f"chunk_size_max must be 4096 to {BODY_SIZE_MAX} bytes, not {self.chunk_size_max}")
        if self.chunk_entries_max < 1:
            raise ValueError("chunk_entries_max must be at least 1")
        if not 0 < self.payload_size_max <= BODY_SIZE_MAX // 2:
            raise ValueError(f"payload_size_max must be 1 to {BODY_SIZE_MAX // 2} bytes, not {self.payload_size_max}")
        if self.queue_size_max < 1:
            raise ValueError("queue_size_max must be at least 1")
        if not 0 <= self.shared_frame_size_max <= MIB:
            raise ValueError(f"shared_frame_size_max must be 0 to {MIB} bytes, not {self.shared_frame_size_max}")
        if self.spares_max < 0 or self.zero_ahead_size < 0:
            raise ValueError("spares_max and zero_ahead_size must not be negative")
