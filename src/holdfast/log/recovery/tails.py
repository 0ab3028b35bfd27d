"""What can be read of the write-ahead log alone, while the store has not answered since the start.

The batches that the log brings back were acknowledged here, or will be served by the whole broker all the same: none of
them is cut off again. What the store would say besides is not known, so this much is told and no more:

- Offsets from the first batch of a partition to its last. What lies before is in the store; what a reader has seen
  behind it is for the store to explain, too.
- No batch that somebody has deleted: the log knows of every deletion of records in it from the entry `deletes_from` on
  (`log.partition.manifest_committer`), and batches before that one are not served.
- The end, as high watermark: a log that has a batch of a partition has all that came behind it. That another broker has
  taken over, or that the directory was set back, is not known before the store answers; the batches' own epochs then
  tell readers.
- The last stable offset where no transaction can be open or aborted: none was when entries were last purged, or nothing
  was ever purged of the partition, and no batch in the log belongs to one.

A partition that another leader had in between, or that is in quarantine, is not served.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.log.journal import read_back
from holdfast.log.metadata import LogMetadata, read_kept
from holdfast.log.partition.tail import Tail
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.recovery.begin import LocalLog
from holdfast.record.batch import read_header
from holdfast.types import PartitionId


class KnownTail(NamedTuple):
    """What is certain of one partition."""

    start: int  # From here on every batch is in the log.
    end: int  # The high watermark: nothing is accepted meanwhile.
    log_start: int  # Where the partition begins; -1 where only the store knows.
    is_stable: bool  # No transaction is undecided, and none in the log was aborted.
    tail: Tail


class Tails:
    """The partitions of which something is certain. What it reads belongs to the logs once the log `is_taken`."""

    def __init__(self, local: LocalLog) -> None:
        """Looks at every batch in memory."""
        self._local = local
        kept = read_kept(local.wal)
        self.cluster = kept.identity.cluster if kept is not None else ""
        self.generation = kept.identity.generation if kept is not None else 0  # No epoch of ours is above it.
        self.deleted = frozenset(local.replayed.deleted)  # Topics.
        self._known = dict(_all_known(local, kept)) if kept is not None else {}

    def find(self, home: PartitionId) -> KnownTail | None:
        """What is certain of a partition; None: nothing."""
        return None if self._local.is_taken else self._known.get(home)

    def __iter__(self) -> Iterator[PartitionId]:
        yield from () if self._local.is_taken else self._known

    def __len__(self) -> int:
        return 0 if self._local.is_taken else len(self._known)

    def read_back(self, batches: list[TailBatch]) -> list[memoryview]:
        """The bytes of batches that are not in memory. Blocks."""
        return read_back(self._local.wal, [(each.index, each.start, each.size) for each in batches])


def batches_of(known: KnownTail, offset: int, size_max: int) -> list[TailBatch]:
    """Batches from the one that holds `offset` on: as many as fit, and always the first."""
    taken: list[TailBatch] = []
    for batch in known.tail.from_offset(offset):
        size_max -= batch.size
        if taken and size_max < 0:
            break
        taken.append(batch)
    return taken


def is_own_history(known: KnownTail, offset: int, last_epoch: int) -> bool:
    """Whether a reader that is at `offset`, behind a batch of `last_epoch`, has read what is in this log."""
    first = known.tail.first
    assert first is not None
    if offset > first.base:
        return next(known.tail.from_offset(offset - 1)).epoch == last_epoch
    return last_epoch <= first.epoch


def _all_known(local: LocalLog, kept: LogMetadata) -> Iterator[tuple[PartitionId, KnownTail]]:
    replayed = local.replayed
    if kept.deletes_from is None:  # Of an earlier release: what was deleted is not known.
        return
    for home, tail in replayed.tails.items():
        if home in replayed.strays or home in kept.quarantined or tail.first is None or tail.end is None:
            continue
        deleted = replayed.deleted_below.get(home, 0)
        told = next((each.base for each in tail if each.index >= kept.deletes_from), tail.end)
        start = max(told, deleted)
        if start >= tail.end:
            continue
        is_whole = told == tail.first.base and start in (0, deleted)  # The log begins in it.
        yield home, KnownTail(start, tail.end, start if is_whole else -1, _is_stable(home, tail, kept), tail)


def _is_stable(home: PartitionId, tail: Tail, kept: LogMetadata) -> bool:
    if tail.first is None or (tail.first.base > 0 and (home not in kept.flushed or _may_be_open(home, kept))):
        return False
    if not all(run.plain for run in tail.runs):
        return False  # It would have to be read back to be known.
    return not any(_is_of_transaction(each) for each in tail.in_memory)


def _may_be_open(home: PartitionId, kept: LogMetadata) -> bool:
    return kept.undecided is None or home in kept.undecided


def _is_of_transaction(batch: TailBatch) -> bool:
    if batch.plain:
        return False
    assert batch.data is not None
    header = read_header(batch.data)
    return header.is_transactional or header.is_control
