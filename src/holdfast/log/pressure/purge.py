"""How far the write-ahead log may be let go, and what it has to remember beside its entries when it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from holdfast.log.background.backlog import Oldest
from holdfast.log.background.deletions import Deletions
from holdfast.log.context import LogContext
from holdfast.log.flushed_marks import FlushedMarks
from holdfast.log.metadata import MARKS_MAX, UNDECIDED_MAX, LogMetadata, at_most
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.tail import Tail
from holdfast.log.recovery.opening import Openings
from holdfast.types import PartitionId


class LogPurge:
    """Knows which tail needs the oldest entry, and purges below it. Belongs to one event loop."""

    def __init__(
        self,
        ground: LogContext,
        partitions: Mapping[PartitionId, PartitionLog],
        openings: Openings,
        deletions: Deletions,
    ) -> None:
        self._journal = ground.journal
        self._partitions = partitions  # Those that are open; the logs' own, which changes.
        self._openings = openings
        self._deletions = deletions
        self._pins = Oldest(_first_index)  # All tails, also of partitions nobody has opened.
        for tail in openings.tails:
            self._pins.add(tail)
        self._moved: dict[PartitionLog, None] = {}  # Whose flushed marks are not saved, as far as we know.
        self._transactional: dict[PartitionId, None] = {}  # Where a transaction is open.
        self._purged_below = 0
        self._keep_due = self._journal.kept.unclean  # What the log keeps is to be saved, purge or not.

    def note(self, partition: PartitionLog) -> None:
        """A partition has changed: what the log has to remember of it is noted, so that a purge looks at no others."""
        self._pins.add(partition.tail)
        flushed, is_open = now = partition.marks.flushed, partition.transactions.open_count > 0
        before, partition.noted = partition.noted, now
        if now == before:
            return
        if flushed != before[0]:
            self._moved[partition] = None
        if is_open:
            self._transactional[partition.home] = None
        else:
            self._transactional.pop(partition.home, None)

    def needed(self) -> int:
        """The oldest entry of the write-ahead log that anything still needs."""
        lowest = self._pins.lowest()
        return self._journal.next_index if lowest is None else lowest

    def who_needs_most(self) -> tuple[str, PartitionLog | None]:
        """What keeps the oldest entry of the write-ahead log, in words, and the partition if it is an open one."""
        tail, needed = self._pins.first(), self.needed()
        size = self._journal.size_from(needed)
        if tail is None or _first_index(tail) != needed:
            return f"{size} bytes of it are kept for topics that are being deleted, or for nobody any more", None
        owner = next((each for each in self._partitions.values() if each.tail is tail), None)
        if owner is None:
            home = next((home for home in self._openings.homes if self._openings.tail(home) is tail), None)
            where = f"{home.path if home else 'a partition'}, not open yet,"
            return f"{size} bytes of it from the oldest entry of {where} on", None
        return f"{size} bytes of it from the oldest entry of {owner.home.path} on", owner

    def purge(self, *, chunks_only: bool) -> None:
        """Let the write-ahead log go below the oldest entry that anything still needs.

        With `chunks_only` only if that frees a chunk: each purge saves the marks of all partitions.
        """
        journal, needed = self._journal, self.needed()
        if journal.has_stopped:
            return
        if self._keep_due and journal.keep(self._to_keep):
            self._keep_due = False
        if needed <= self._purged_below:
            return
        if chunks_only and not journal.frees_a_chunk(needed):
            return
        if journal.purge_below(needed, self._to_keep):
            self._purged_below = needed
            self._deletions.forget_gone()

    def _to_keep(self, before: LogMetadata) -> LogMetadata:
        """What the write-ahead log has to remember when entries go. Of deleted topics only that they are."""
        deleted = self._deletions
        flushed = FlushedMarks.of(before.flushed)
        for partition in [each for each in self._moved if flushed.get(each.home) == each.marks.flushed]:
            del self._moved[partition]  # It was saved the last time.
        moved = {each.home: each.marks.flushed for each in self._moved if each.home.topic_id not in deleted}
        flushed = flushed.changed(moved, without=[each for each in deleted if each in flushed.topics])
        quarantined = {home: each for home, each in before.quarantined.items() if home.topic_id not in deleted}
        marks = at_most(flushed, MARKS_MAX)
        undecided = self._undecided(before, marks)
        return replace(
            before,
            flushed=marks,
            quarantined=quarantined,
            deleted=deleted.under_way,
            undecided=undecided,
            unclean=False,
        )

    def _undecided(self, before: LogMetadata, marks: FlushedMarks) -> frozenset[PartitionId] | None:
        """Where a transaction is open, or may be: nobody has looked. None if these are too many to be kept."""
        known, partitions = before.undecided, self._partitions
        unopened = [home for home in (marks if known is None else known) if home not in partitions and home in marks]
        found = [home for home in self._transactional if home in partitions]
        return frozenset(unopened + found) if len(unopened) + len(found) <= UNDECIDED_MAX else None


def _first_index(tail: Tail) -> int | None:
    return None if tail.first is None else tail.first.index
