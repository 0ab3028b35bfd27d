"""What can be wrong with a request to a partition.

Rejected
├── OutOfRange             the offset is below log start: the range is in the error
├── PartitionDeleted       the topic is deleted
├── SequenceGap            an idempotent producer's batch does not follow its last one, and is none that is remembered
├── ProducerEpochOld       another producer with the same id and a higher epoch has written
├── TransactionMismatch    a marker or a batch does not fit the producer's open transaction
├── TooManyPartitions      the write-ahead log could not remember the marks of so many
├── WrongStore             the write-ahead log and the store do not belong together
├── NewLog                 the write-ahead log is new, and the store is not
├── NotTheOwner            another write-ahead log was used with the store after this one
├── LogInStore             the write-ahead log is in the store, and this start asks for one on disk
├── LogOnDisk              the write-ahead log is on a disk, and this start asks for one in the store
└── OwnerAlive             the broker that has the store is running
Unavailable
├── ColdReadFailed         the store did not give the data: try again
├── StoreUnknown           the store that the write-ahead log was used with is not there: mount it
├── TooMuchToKeep          the write-ahead log can remember no more of this before some of it is done
├── DiskFull               the disk's free space is down to the reserve: free some, then try again
└── CommitOvertaken        the manifest has moved on since the change was made: look again, then try again
Fenced
├── LedElsewhere           another broker leads the partition: ask there
└── OwnerChanged           another process has taken the store over: stop
Stopped
└── LogsStopped            the write-ahead log has failed, or the logs are closed
Corrupt
├── Diverged               another leader has written the offsets that the write-ahead log holds records for
├── StoreBehind            the store lacks records that it once had: it is older than the write-ahead log
├── SetBack                the write-ahead log is older than the store: told, not raised
├── TookOver               the store is taken over from a log that is not here: told, not raised
├── WrongEverywhere        a batch has changed since it was acknowledged, in memory and in the write-ahead log
└── Quarantined            the partition's records are in quarantine until somebody repairs it
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from holdfast.errors import Corrupt, Fenced, Rejected, Stopped, Unavailable

_ROWS_MAX = 5  # Of ranges in one line.


class OutOfRange(Rejected):
    """There is nothing at this offset any more, and never will be."""

    def __init__(self, offset: int, log_start: int, log_end: int) -> None:
        super().__init__(f"offset {offset} is out of range: the log has [{log_start}, {log_end})")
        self.offset = offset
        self.log_start = log_start
        self.log_end = log_end


class PartitionDeleted(Rejected):
    """The topic was deleted."""

    def __init__(self, path: str) -> None:
        super().__init__(f"partition {path} is deleted")
        self.path = path


class LedElsewhere(Fenced):
    """Another broker of the cluster leads this partition, or nobody does for now."""

    def __init__(self, path: str, broker: int = -1, epoch: int = -1) -> None:
        super().__init__(f"partition {path} is led elsewhere" + (f", by broker {broker}" if broker >= 0 else ""))
        self.path = path
        self.broker = broker  # -1: nobody.
        self.epoch = epoch


NotOpen: TypeAlias = Corrupt | LedElsewhere  # Why a partition is not open here.


class WalLimitTooLow(Rejected, ValueError):
    """The open chunk stays: with a limit below two chunks there would never be room."""

    def __init__(self, limit: int, needed: int) -> None:
        super().__init__(
            f"wal_size_max must be at least {needed} bytes, two chunks, not {limit}: raise it, or lower chunk_size_max "
            "of the write-ahead log"
        )
        self.limit = limit
        self.needed = needed


class TooManyPartitions(Rejected):
    """So many partitions' marks do not fit into the write-ahead log."""

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(
            f"{count} partitions are too many for one broker with this write-ahead log: {limit} are allowed"
        )
        self.count = count
        self.limit = limit


class TooMuchToKeep(Unavailable):
    """A table that the write-ahead log keeps is full."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"there are {limit} {what}, and no more can be remembered: try again when some are gone")
        self.what = what
        self.limit = limit


class _Sequence(Rejected):
    sentence = ""

    def __init__(self, producer_id: int, expected: int, found: int) -> None:
        super().__init__(self.sentence.format(producer_id=producer_id, expected=expected, found=found))
        self.producer_id = producer_id
        self.expected = expected
        self.found = found


class SequenceGap(_Sequence):
    """This batch does not follow the producer's last one, and is none of those that are remembered."""

    sentence = "producer {producer_id}: sequence {found} where {expected} is expected"


class ProducerEpochOld(_Sequence):
    """A producer with the same id and a higher epoch has written: this one is a zombie."""

    sentence = "producer {producer_id}: epoch {found} is fenced by epoch {expected}"


class TransactionMismatch(Rejected):
    """What was sent does not fit the producer's transaction."""

    def __init__(self, producer_id: int, reason: str) -> None:
        super().__init__(f"producer {producer_id}: {reason}")
        self.producer_id = producer_id


class WrongStore(Rejected):
    """The write-ahead log and the store belong to different clusters."""

    def __init__(self, wal_cluster: str, store_cluster: str, store: str) -> None:
        super().__init__(
            f"the write-ahead log belongs to cluster {wal_cluster}, the store {store} to cluster {store_cluster}: "
            "start with the store and the data directory of one cluster"
        )
        self.wal_cluster = wal_cluster
        self.store_cluster = store_cluster


class NewLog(Rejected):
    """Another write-ahead log has been there, and what was acknowledged last may be nowhere else."""

    def __init__(self, store: str, cluster: str) -> None:
        super().__init__(
            f"the write-ahead log is new, but the store {store} holds partitions of cluster {cluster}: what their "
            "broker acknowledged last is in its own log; stop it and start with its data directory, or restore a "
            "backup; if brokers of a cluster share it, start with --cluster; only if that log is lost for good, or its "
            "broker was stopped cleanly, start with --take-over"
        )
        self.store = store
        self.cluster = cluster


class StoreUnknown(Unavailable):
    """What is at the store's place is not the store."""

    def __init__(self, store: str) -> None:
        super().__init__(
            f"the store {store} has no cluster.json, though the write-ahead log was used with it: is its file system "
            "mounted, is it the right place? Nothing is written there"
        )
        self.store = store


class NotTheOwner(Rejected):
    """The log was copied or set back, or another broker has taken over since."""

    def __init__(self, store: str, number: int, owner: str) -> None:
        super().__init__(
            f"the store {store} was last used with another write-ahead log than this one ({owner or 'unnamed'}, claim "
            f"{number}): this data directory is a copy, or was set back to an earlier day, or a broker has taken over "
            "from it; start with the data directory that was used last; only if that one is lost for good, or was "
            "stopped cleanly, start with --take-over"
        )
        self.store = store
        self.number = number
        self.owner = owner


class TookOver(Corrupt):
    """A log that does not know the owner's claim goes on, since an operator said so. Not raised."""

    def __init__(self, owner: str, generation: int) -> None:
        super().__init__(
            f"the store is taken over from another write-ahead log ({owner or 'unnamed'}): what that one acknowledged "
            f"and did not store is not here, and all partitions go on in a new leader epoch, {generation}"
        )
        self.owner = owner
        self.generation = generation


class LogInStore(Rejected):
    """What was acknowledged last is in rounds, which a log on disk would pass over."""

    def __init__(self, store: str, name: str) -> None:
        super().__init__(
            f"the write-ahead log of {store} is in the store, as its last broker ({name}) had it: start with "
            "wal.place=store, or with --cluster if brokers share it (`holdfast cluster status` says so); to move it to "
            "a disk, stop that broker cleanly, then start with --take-over"
        )


class LogOnDisk(Rejected):
    """What was acknowledged last may be on that disk, and nowhere else."""

    def __init__(self, store: str, name: str) -> None:
        super().__init__(
            f"the write-ahead log of {store} is on the disk of its last broker ({name}): stop that one cleanly, so "
            "that everything is flushed, then start with wal.place=store and --take-over"
        )


class OwnerAlive(Rejected):
    """The owner has answered."""

    def __init__(self, store: str, owner: str, *, is_copy: bool) -> None:
        copy = ", and this data directory is a copy of its own" if is_copy else ""
        together = "" if is_copy else "; several share a store with --cluster"
        super().__init__(
            f"the broker that owns the store {store} is running ({owner or 'unnamed'}){copy}: stop it first if this "
            f"one shall go on, or give this one a store of its own{together}"
        )
        self.store = store
        self.owner = owner


class OwnerChanged(Fenced):
    """There is a claim above ours."""

    def __init__(self, owner: str, number: int) -> None:
        by = f"{owner or 'another process'} has taken it over (claim {number})" if number >= 0 else "its claim is gone"
        super().__init__(
            f"this broker does not own the store any more: {by}; what it acknowledged last and had not stored yet is "
            "in its quarantine and its write-ahead log"
        )
        self.owner = owner
        self.number = number


class ColdReadFailed(Unavailable):
    """The store failed; the data is there."""

    def __init__(self, path: str, offset: int, cause: object) -> None:
        super().__init__(f"partition {path}: offset {offset} could not be read from the store: {cause}")
        self.path = path
        self.offset = offset


class DiskFull(Unavailable):
    """What is left of the disk is kept for the way back: reads, deletes and the log's own records."""

    def __init__(self, path: str, free_size: int, reserve_size: int) -> None:
        super().__init__(
            f"the disk of {path} has {free_size} bytes free, and {reserve_size} are kept in reserve: free some space, "
            "or delete topics"
        )
        self.path = path
        self.free_size = free_size
        self.reserve_size = reserve_size


class DiskUnknown(Unavailable):
    """Nobody can tell whether what is written there would stay."""

    def __init__(self, path: str, cause: OSError) -> None:
        super().__init__(
            f"{path} cannot be looked at ({cause.strerror}), producers are refused: if the data directory was removed "
            "or moved, stop the broker, put it back, and start again"
        )
        self.path = path


class CommitOvertaken(Unavailable):
    """The manifest is not the one that a change was made for."""

    def __init__(self, path: str, cause: object) -> None:
        super().__init__(f"partition {path}: the manifest has moved on meanwhile: {cause}")
        self.path = path


class LogsStopped(Stopped):
    """Nothing can be appended any more; reopen."""

    def __init__(self, cause: object) -> None:
        super().__init__(f"the logs have stopped: {cause}")
        self.cause = cause


class Diverged(Corrupt):
    """Acknowledged records are in the write-ahead log only, and another leader has used their offsets."""

    def __init__(self, path: str, start: int, end: int, epoch: int) -> None:
        super().__init__(
            f"partition {path}: the write-ahead log holds offsets [{start}, {end}), which another leader has written "
            f"in epoch {epoch}: its records are in the store, those in this log are in nobody's"
        )
        self.path = path
        self.start = start
        self.end = end
        self.epoch = epoch


class StoreBehind(Corrupt):
    """The store was set back, or lost objects: what the write-ahead log has let go of is not there."""

    def __init__(self, path: str, start: int, end: int) -> None:
        super().__init__(
            f"partition {path}: offsets [{start}, {end}) are neither in the store nor in the write-ahead log: "
            "the store is older than the log's purge point; put the newer store back, or let `holdfast repair` accept "
            "the loss"
        )
        self.path = path
        self.start = start
        self.end = end


class SetBack(Corrupt):
    """The data directory is an older one than the broker has had. Not raised: what is in the store is served."""

    def __init__(self, path: str, known: int, flushed: int) -> None:
        super().__init__(
            f"partition {path}: the store has records up to offset {flushed}, which this broker has written, and its "
            f"write-ahead log knows only of those below {known}: the data directory was set back to an earlier day; "
            "what was acknowledged since and not stored is lost, and all partitions go on in a new leader epoch"
        )
        self.path = path
        self.known = known
        self.flushed = flushed


class WrongEverywhere(Corrupt):
    """No copy of a batch is what was acknowledged."""

    def __init__(self, path: str, start: int, end: int) -> None:
        super().__init__(
            f"partition {path}: the batch of offsets [{start}, {end}) is not what was acknowledged, neither in memory "
            "nor in the write-ahead log"
        )
        self.path = path
        self.start = start
        self.end = end


class Lost(NamedTuple):
    """Batches of which no copy is sound, and the file with what was found in their place."""

    spans: list[tuple[int, int]]
    file: str

    def __str__(self) -> str:
        rows: list[tuple[int, int]] = []
        for start, end in sorted(self.spans):
            if rows and rows[-1][1] == start:
                rows[-1] = rows[-1][0], end
            else:
                rows.append((start, end))
        more = f" and {len(rows) - _ROWS_MAX} more ranges" if len(rows) > _ROWS_MAX else ""
        told = ", ".join(f"[{start}, {end})" for start, end in rows[:_ROWS_MAX]) + more
        return f"{told}, of which no copy is sound; the bytes found in their place are in {self.file}"


class Quarantined(Corrupt):
    """Acknowledged records of the partition are in a quarantine file, and not in its log."""

    def __init__(self, path: str, start: int, end: int, file: str, why: object = "", lost: Lost | None = None) -> None:
        reason = f"{why}; " if why else ""
        whole = f"what can be saved of its offsets [{start}, {end}) of the write-ahead log is in {file}"
        but = f", all but {lost}" if lost is not None else ""
        what = f"{reason}{whole}{but}"
        super().__init__(f"partition {path} is in quarantine: {what}: run `holdfast repair` on the data directory")
        self.path = path
        self.start = start
        self.end = end
        self.file = file
        self.lost = lost
