"""Whether a stream goes on where it stopped, and what to say and do where it cannot.

a partition is new               it is read from offset 0: what expired before it was seen is lost
its topic is gone                all that was not read is lost
its topic was made again         the same, and the new one is read from offset 0
log start has passed us          what lies between is lost
our epoch ended below us         the log was cut there and written on: what was read from there on is void
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.catalog.errors import DataLost, OutOfRange
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.progress import Progress, Reached, end_of_epoch
from holdfast.spark.source.ranges import after_loss
from holdfast.spark.source.view import View, ends_of_epochs
from holdfast.types import OffsetRange, TopicPartition

Cuts = dict[TopicPartition, int]


@dataclass(frozen=True)
class Continuity:
    """Holds how far a stream has come against what is there now."""

    view: View
    options: ReadOptions

    def first(self, where: TopicPartition, offset: int) -> int:
        """Where a stream that has read nothing yet starts."""
        marks = self.view.marks[where]
        if offset > marks.end:
            raise OutOfRange(str(where), offset, offset, marks.log_start, marks.end)
        return self._from_log_start(where, offset, offset)

    def ranges(self, begun: Progress, ended: Progress) -> dict[TopicPartition, OffsetRange]:
        """What lies between two points, for each partition that the second one knows."""
        for where in sorted(begun.keys() - ended.keys()):
            reached = begun[where]
            after_loss(DataLost(str(where), reached.offset, reached.offset, "the topic is not there"), 0, self.options)
        cuts = self._cuts(begun)
        return {where: self._range(where, begun.get(where), each, cuts) for where, each in sorted(ended.items())}

    def _cuts(self, begun: Progress) -> Cuts:
        """Where the epochs ended in which the stream has read, if others came after them."""
        marks = self.view.marks
        asked = {
            where: each.epoch
            for where, each in begun.items()
            if where in marks and each.offset > marks[where].stored and each.epoch < marks[where].epoch
        }
        known = {
            where: end_of_epoch(self.view.catalog.manifest(where), each.epoch)
            for where, each in begun.items()
            if where in marks
        }
        told = {where: end for where, end in ends_of_epochs(self.options, asked).items() if end >= 0}
        return {where: end for where, end in known.items() if end is not None} | told

    def _range(self, where: TopicPartition, begun: Reached | None, ended: Reached, cuts: Cuts) -> OffsetRange:
        manifest = self.view.catalog.manifests.get(where)
        if manifest is None or manifest.home != ended.home:
            lost = DataLost(str(where), 0 if begun is None else begun.offset, ended.offset, "the topic is not there")
            return OffsetRange(ended.offset, after_loss(lost, ended.offset, self.options))
        start = 0 if begun is None else self._go_on(where, begun, ended, cuts.get(where))
        start = self._from_log_start(where, start, ended.offset)
        return OffsetRange(start, max(start, ended.offset))

    def _go_on(self, where: TopicPartition, begun: Reached, ended: Reached, cut: int | None) -> int:
        if begun.home != ended.home:
            reason = "the topic was deleted, and another one of that name was made"
            return after_loss(DataLost(str(where), begun.offset, begun.offset, reason), 0, self.options)
        if cut is not None and cut < begun.offset:
            reason = f"they were read in leader epoch {begun.epoch}, which ended at {cut}: an unflushed tail was lost"
            return after_loss(DataLost(str(where), cut, begun.offset, reason), cut, self.options)
        if begun.offset > ended.offset and self.options.kafka is not None:  # Without a broker: not flushed yet.
            reason = f"the log ends at {ended.offset}: this is an older state of the cluster"
            return after_loss(DataLost(str(where), ended.offset, begun.offset, reason), ended.offset, self.options)
        return begun.offset

    def _from_log_start(self, where: TopicPartition, start: int, end: int) -> int:
        log_start = self.view.marks[where].log_start if where in self.view.marks else 0
        if start >= log_start:
            return start
        lost = DataLost(str(where), start, min(max(start, end), log_start), f"the log starts at {log_start} now")
        return after_loss(lost, log_start, self.options)
