"""One partition of a direction: what was read of the source becomes batches for the target, in order."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np

from holdfast.client import Client, FetchedBatches
from holdfast.client.errors import Refused
from holdfast.protocol.codes import Code
from holdfast.record.columnar.columns import Columns
from holdfast.record.columnar.decode import Decoder
from holdfast.record.unreadable import Unreadable, telling
from holdfast.sync.carry.committed import committed, end_of
from holdfast.sync.carry.piece import Cutting, Pieces, SyncPiece, cut
from holdfast.sync.carry.winners import Winners
from holdfast.sync.errors import RecordRefused, SourceChanged, SourceWentBack
from holdfast.sync.origin.marking import NONE, Numbers, OriginMarks, Truths
from holdfast.sync.origin.proof import Copy, Seen, is_copy, is_still, same, seen
from holdfast.sync.origin.scan import bounds, find_applied
from holdfast.sync.progress import SyncCounts
from holdfast.sync.state.checkpoint import SyncPoint
from holdfast.sync.state.fence import FencedWriter
from holdfast.types import ClusterPartition, TopicPartition

log = logging.getLogger(__name__)

_GROUP_COUNT = 50_000  # Records that are decoded at once, and
_GROUP_SIZE = 16 << 20  # bytes.


@dataclass
class CopyLane:
    """Belongs to one worker's thread; others read `point`, which is replaced whole, and the figures."""

    where: TopicPartition
    home: ClusterPartition  # In the source.
    back: ClusterPartition  # The same partition of the target.
    writer: FencedWriter
    batch_size_max: int
    own_only: bool  # Leave out what the source itself has from elsewhere.
    sets_aside: bool  # What the target refuses goes to a topic of its own, and the lane goes on.
    point: SyncPoint
    counts: SyncCounts
    applied: int = 0  # Records below it are in the target already.
    end: int = 0  # Of the source, as far as known.
    last_timestamp: int = -1  # Of the last record that was read.
    has_begun: bool = False  # An earlier attempt, or an earlier sync, has looked at this partition already.
    resumed: bool = False
    winners: Winners | None = None  # Where the last writer wins.
    settled: bool = False  # The target's log holds the winners behind all others.
    is_drained: bool = False  # The source has had nothing more, though it may end later: transactions are open there.
    held: RecordRefused | None = None  # Why nothing is copied until the target takes more.
    aside: int | None = None  # The highest offset that was set aside, if that was looked up.
    # Held while batches are on their way. Not given back after a failure: nobody knows then whether they arrived.
    moving: threading.Lock = field(default_factory=threading.Lock)
    _is_stuck: bool = False  # It holds `moving` until it is released.
    _target_end: int = 0
    _copy: Copy | None = None  # The last one that this process has written.

    @property
    def target_id(self) -> UUID:
        return self.back.topic_id

    @property
    def lag(self) -> int:
        """Offsets of the source that are still to be read."""
        return max(self.end - self.point.position, 0)

    @property
    def has_caught_up(self) -> bool:
        """Whether there is nothing to copy now, or nothing that can be."""
        return self.resumed and (self.is_drained or not self.lag or self.held is not None)

    def resume(self, source: Client, target: Client) -> None:
        """Find what is applied already. What the point says may be older than the target, and never newer."""
        low, high = bounds(target, self.where)
        self._check_past(source, target, high)
        start = max(self.point.target_offset, low)
        found = find_applied(target, self.where, self.home, start, high)
        if found.of >= self.point.position and not same(source, target, self.where, found):
            raise SourceChanged(str(self.where), found.of)
        if found.of > self.point.copy.of:
            self.point = replace(self.point, copy=found)  # Whoever wrote it: it must not be lost unnoticed.
        self.applied = max(self.point.position, found.of + 1)
        if self.point.position >= self.applied:
            self.point = replace(self.point, target_offset=high)
        self._check_source(*bounds(source, self.where))
        self.settled = self.winners is None
        self.has_begun = self.resumed = True

    def hold(self, why: RecordRefused) -> None:
        """Stop here, until `release`. What was written before the record stays, and is found again then."""
        if str(why) != str(self.held):
            log.warning("%s; the partition waits for that, all others go on", why)
        self.held = why

    def release(self, source: Client, target: Client) -> None:
        """Go on after a hold, as after a failure: from what is found in the target."""
        self.winners = self.winners and self.winners.anew()
        self.resume(source, target)
        if self._is_stuck:
            self._is_stuck = False
            self.moving.release()
        self.held = None

    def _check_past(self, source: Client, target: Client, end: int) -> None:
        """Whether both sides still are what the point speaks of."""
        if not is_still(source, self.where, self.point.seen):
            raise SourceChanged(str(self.where), self.point.seen.offset)
        is_there = self.point.copy.at < end and is_copy(target, self.where, self.home, self.point.copy)
        if self.point.target_offset > end or not is_there:
            log.warning(
                "%s: the target has lost records that were copied to it: it is searched from its start", self.where
            )
            self.point = SyncPoint()

    def _check_source(self, start: int, end: int) -> None:
        """What was copied must still be the source's past."""
        if self.applied > end:
            raise SourceWentBack(str(self.where), self.applied, end)
        self.end = end
        if self.point.position < start:
            known = max(self.point.position, self.applied)
            if start > known and (self.has_begun or known):  # What was gone before the first start is nobody's loss.
                self.counts.expired += start - known
                log.warning(
                    "%s: %d offsets had expired at the source before they were copied", self.where, start - known
                )
            self.point = replace(self.point, position=start)

    def pieces(self, fetched: FetchedBatches, source: Client) -> Pieces:
        """The batches to send. When the next one is asked for, the last one was written: see `wrote`."""
        self.is_drained = False
        if fetched.error is not None:
            if not isinstance(fetched.error, Refused) or fetched.error.code != Code.OFFSET_OUT_OF_RANGE:
                raise fetched.error
            self._check_source(*bounds(source, self.where))
            return
        self.end = max(self.end, fetched.last_stable_offset)
        skip = telling(self._step_over, self.point.position, fetched.last_stable_offset)
        decoder = Decoder(place=f"{self.where} of cluster {self.home.cluster_id}", skip=skip)
        for columns in decoder.groups(committed(fetched), _GROUP_COUNT, _GROUP_SIZE):
            self.moving.acquire()
            try:
                yield from self._group(columns)
            except RecordRefused:
                self._is_stuck = True  # What was written before the record lies behind the point: nobody moves that.
                raise
            self.moving.release()
        self._reached(end_of(fetched, self.point.position), self.point.echoed)

    def _step_over(self, one: Unreadable) -> None:
        """What nobody can read cannot be marked either: it is not copied."""
        self.counts.unreadable += one.end - one.start
        log.warning("%s of cluster %s: %s", self.where, self.home.cluster_id, one)

    def again(self, target: Client) -> Pieces:
        """Where the last writer wins: what must be written behind others once more."""
        if self.winners is None:
            return
        is_settled = True
        with self.moving:
            for columns, rows in self.winners.follow(target):
                is_settled = False
                yield from cut(columns, rows, self._cutting(sets_aside=False), is_copy=False)
        self.settled = is_settled

    def _cutting(self, *, sets_aside: bool) -> Cutting:
        sequence = self.writer.sequence(self.where)
        return Cutting(self.where, self.writer.producer, sequence, lambda: self.batch_size_max, sets_aside)

    def _group(self, columns: Columns) -> Pieces:
        new = columns.offset >= self.point.position  # The first batch may begin before it.
        marks = OriginMarks.of(columns)
        echoes, echoed = self._echoes(marks, new)
        rows = self._chosen(columns, marks, new & ~echoes)
        self._target_end = self.point.target_offset
        if len(rows):
            codec = columns.batches[-1].codec
            marked = marks.with_hop(self.home)
            yield from cut(marked, rows, self._cutting(sets_aside=self.sets_aside), codec=codec)
        self.counts.echoes += int(np.count_nonzero(new & echoes))
        last = len(columns) - 1
        if last >= 0:  # Compaction may have emptied all batches.
            self.last_timestamp = int(columns.timestamp[last])
        self._reached(columns.batches[-1].end_offset, echoed, seen(columns, last) if last >= 0 else None)

    def _echoes(self, marks: OriginMarks, new: Truths) -> tuple[Truths, int]:
        """Which records the target has sent itself, and the highest offset that they had there.

        The other direction writes each record once, in order. A mark whose offset does not rise was put there by an
        application that copies headers: what it wrote is new.
        """
        sent = np.where(new, marks.offsets_from(self.back), NONE)
        before = np.maximum.accumulate(np.concatenate(([self.point.echoed], sent)))
        through, _ = marks.came_through(self.back)
        return (sent > before[:-1]) | through, int(before[-1])

    def _chosen(self, columns: Columns, marks: OriginMarks, wanted: Truths) -> Numbers:
        """The rows to send."""
        wanted = wanted & (columns.offset >= self.applied)
        if self.own_only:
            wanted = wanted & (marks.found == NONE)
        if self.winners is not None:
            before = np.count_nonzero(wanted)
            wanted = self.winners.choose(columns, wanted)
            self.counts.lost += int(before - np.count_nonzero(wanted))
        return np.flatnonzero(wanted)

    def wrote(self, piece: SyncPiece, base_offset: int) -> None:
        """The target has acknowledged a batch."""
        self.writer.wrote(self.where, piece.count)
        self.settled = self.winners is None
        if not piece.is_copy:
            self.counts.again += piece.count
            return
        self._target_end = base_offset + piece.count
        self._copy = Copy(self._target_end - 1, int(piece.offsets[-1]))
        self.counts.records += piece.count
        self.counts.bytes += len(piece.batch)

    def _reached(self, position: int, echoed: int, last: Seen | None = None) -> None:
        if position <= self.point.position:
            return
        target_offset = self._target_end if position > self.applied else self.point.target_offset
        target_offset = max(target_offset, self.point.target_offset)
        self.point = SyncPoint(position, target_offset, echoed, last or self.point.seen, self._copy or self.point.copy)

    def has_moved_without_writing(self, before: SyncPoint | None) -> bool:
        """Whether the target was given nothing since an earlier point, though the source was read on."""
        if before is None or not self.resumed or self.point.position < self.applied:
            return False
        return before.position < self.point.position and before.target_offset == self.point.target_offset

    def drained(self, stable: int) -> None:
        """No partition has anything more to read now: what lies below `stable` are holes."""
        self.end = max(self.end, stable)
        self._target_end = self.point.target_offset
        self._reached(stable, self.point.echoed)
        self.is_drained = True
