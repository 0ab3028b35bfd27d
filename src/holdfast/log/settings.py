"""Settings of partitions and of all logs together: values only, units in the names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from holdfast.wal.settings import WalSettings

MIB = 1 << 20
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSettings:
    """How one topic's partitions are kept. No limit is -1."""

    durability: Literal["fsync", "memory"] = "fsync"  # What an ack waits for.
    timestamp_type: Literal["create", "log_append"] = "create"
    batch_size_max: int = 1_048_588  # Bytes.
    cleanup: frozenset[Literal["delete", "compact"]] = frozenset({"delete"})
    retention_ms: int = 7 * DAY_MS
    retention_size: int = -1  # Bytes.
    tombstone_retention_ms: int = DAY_MS
    segment_size_max: int = -1  # Bytes: a tail of this size is flushed, if the broker's own limit is not less.
    segment_age_ms_max: int = -1  # The same for its age.
    dirty_ratio_min: float = 0.5  # Of the bytes that compaction may touch: below it a run is not worth it.
    compaction_lag_ms_min: int = 0  # So long every record can be read, and
    compaction_lag_ms_max: int = -1  # so late it is compacted, however little is dirty.
    codec: int | None = None  # That all batches are stored in; None: each in that of its producer.
    validates_records: bool = True  # Whether clients' records are looked at before they are acknowledged.
    timestamp_before_ms_max: int = -1  # How far a client's record may be behind the broker's time,
    timestamp_after_ms_max: int = -1  # and ahead of it.

    @property
    def flush_age_ms(self) -> int:
        """How old a tail may become, by the topic's own settings; -1 if they do not say."""
        age, lag = self.segment_age_ms_max, self.compaction_lag_ms_max
        return lag if lag >= 0 and (lag < age or age < 0) and "compact" in self.cleanup else age


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSettings(WalSettings):
    """Where the write-ahead log is. What is said of chunks is about the one on disk, the rest about rounds."""

    keep_pages: bool = False  # Whether the system's memory keeps what is durable: for tails beyond log.tail_size_max.
    place: str = "disk"  # disk: an ack means fsync; store: it means that the records are there. Then no disk is needed.
    store: str = ""  # Where rounds go, such as a bucket nearer by; empty: where segments go.
    interval_ms: int = 100  # A round is put so long after the one before; the first after a silence at once.
    round_size_max: int = 4 * MIB  # Bytes: a round of this size does not wait.
    rounds_in_flight_max: int = 8  # Rounds that are put at the same time.

    def __post_init__(self) -> None:
        WalSettings.__post_init__(self)
        if self.place not in ("disk", "store"):
            raise ValueError("place must be disk or store")
        if self.store and self.place != "store":
            raise ValueError("store is where rounds go: it needs place=store")
        if self.interval_ms < 0:
            raise ValueError("interval_ms must not be negative")
        if not 1 <= self.rounds_in_flight_max <= 64:
            raise ValueError("rounds_in_flight_max must be 1 to 64")
        if self.round_size_max < 1:
            raise ValueError("round_size_max must be at least 1 byte")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """How all partitions of one broker share memory, disk and store."""

    segment_size_max: int = 64 * MIB  # Bytes; a tail of this size is flushed.
    flush_age_ms_max: int = 300_000  # A tail older than this is flushed, also when its partition is quiet.
    tail_size_max: int = 256 * MIB  # Bytes of tails in memory, lists included; the rest is in the write-ahead log.
    wal_size_max: int = 4096 * MIB  # Bytes; past it producers are held back until a flush has made room.
    cache_size_max: int = 128 * MIB  # Bytes of segment blocks in memory.
    flushes_max: int = 4  # Flushes at the same time.
    flush_retry_ms: int = 100  # How long a flush waits after a failure; doubled each time, up to flush_retry_ms_max.
    flush_retry_ms_max: int = 10_000  # The longest that a flush waits after a failure.
    retention_check_ms: int = 60_000  # How often records are looked for that need be kept no longer.
    compaction_check_ms: int = 60_000  # How often topics that are compacted are looked at.
    garbage_check_ms: int = 600_000  # How often objects in the store are looked for that nothing refers to.
    close_timeout_ms: int = 8_000  # What is not flushed by then comes back from the write-ahead log.
    clock_trust_ms: int = DAY_MS  # A clock that has jumped is believed by retention when it has stood for this long.
    owner_check_ms: int = 1_000  # How often a broker looks whether another has taken the store over.
    producer_expiry_ms: int = DAY_MS  # A producer silent for this long is forgotten: of the broker's running time.
    batch_expanded_size_max: int = 128 * MIB  # Bytes of one compressed batch's records; a batch of more is refused.
    producer_ids_max: int = 50_000  # In one partition; past it those that were silent for longest are forgotten.

    def __post_init__(self) -> None:
        if self.cache_size_max < 4 * MIB:
            raise ValueError(f"cache_size_max must be at least {4 * MIB} bytes, not {self.cache_size_max}")
        if self.segment_size_max < 1:
            raise ValueError("segment_size_max must be at least 1 byte")
        if self.producer_ids_max < 1:
            raise ValueError("producer_ids_max must be at least 1")
        if self.flushes_max < 1:
            raise ValueError("flushes_max must be at least 1")
        if self.owner_check_ms < 10:
            raise ValueError("owner_check_ms must be at least 10")
