"""From what was asked for to offsets: where each partition's read starts and ends."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from holdfast.catalog.errors import DataLost, OutOfRange
from holdfast.errors import Rejected
from holdfast.io.clock import Clock
from holdfast.spark.source.bounds import EARLIEST_NUMBER, LATEST_NUMBER, Ago, At, Bound, Earliest, Last, Latest, Since
from holdfast.spark.source.lookup import offsets_at
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.view import PartitionBounds, View
from holdfast.types import OffsetRange, TopicPartition

_log = logging.getLogger(__name__)


class NoRecordSoLate(Rejected):
    """A read is to start at a time that no record has reached."""

    def __init__(self, where: TopicPartition, time_ms: int) -> None:
        super().__init__(
            f"{where} has no record at or after {time_ms} ms since 1970; "
            "set startingOffsetsByTimestampStrategy to latest to start at its end"
        )
        self.where = where
        self.time_ms = time_ms


def ranges_of(view: View, options: ReadOptions, clock: Clock) -> dict[TopicPartition, OffsetRange]:
    """What a batch read reads: for each partition where it starts and ends, inside what can be read."""
    if isinstance(options.starting, Latest):
        raise Rejected("startingOffsets latest reads nothing in a batch: use earliest, offsets or a time")
    if isinstance(options.ending, Earliest | Last | Ago):
        raise Rejected("a batch ends at latest, at offsets, or at a time")
    starts = resolve(view, options.starting, options, clock)
    ends = resolve(view, options.ending, options, clock)
    return {
        where: _checked(where, OffsetRange(starts[where], ends[where]), view.marks[where], options) for where in starts
    }


def resolve(view: View, bound: Bound, options: ReadOptions, clock: Clock) -> dict[TopicPartition, int]:
    """The offset of each partition that a bound means, whether it can be read or not."""
    marks = view.marks
    if isinstance(bound, Earliest):
        return {where: each.log_start for where, each in marks.items()}
    if isinstance(bound, Latest):
        return {where: each.end for where, each in marks.items()}
    if isinstance(bound, Last):
        return {where: max(each.log_start, each.end - bound.offset_count) for where, each in marks.items()}
    if isinstance(bound, At):
        return _given(marks, bound.offsets)
    if isinstance(bound, Ago):
        bound = Since(clock.now_ms() - bound.milliseconds, lenient=True)
    return _at_times(view, bound, options)


def _given(
    marks: Mapping[TopicPartition, PartitionBounds], offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    _check_all_there(marks, offsets)
    return {where: _number(offsets[where], each) for where, each in marks.items()}


def _number(offset: int, marks: PartitionBounds) -> int:
    if offset == LATEST_NUMBER:
        return marks.end
    return marks.log_start if offset == EARLIEST_NUMBER else offset


def _at_times(view: View, bound: Since, options: ReadOptions) -> dict[TopicPartition, int]:
    if bound.times_ms is not None:
        _check_all_there(view.marks, bound.times_ms)
        wanted = {where: bound.times_ms[where] for where in view.marks}
    else:
        wanted = dict.fromkeys(view.marks, bound.time_ms or 0)
    found = offsets_at(view, wanted, options)
    starts = {}
    for where, offset in found.items():
        if offset is None and not bound.lenient:
            raise NoRecordSoLate(where, wanted[where])
        starts[where] = view.marks[where].end if offset is None else offset
    return starts


def _check_all_there(marks: Mapping[TopicPartition, PartitionBounds], given: Mapping[TopicPartition, int]) -> None:
    """As in Spark's own source: offsets are given for all partitions that are read, and for no others."""
    absent, foreign = sorted(marks.keys() - given.keys()), sorted(given.keys() - marks.keys())
    if absent or foreign:
        parts = [f"{', '.join(map(str, absent))} missing"] if absent else []
        parts += [f"{', '.join(map(str, foreign))} not read"] if foreign else []
        raise Rejected(f"offsets or times must be given for each partition that is read: {'; '.join(parts)}")


def _checked(where: TopicPartition, wanted: OffsetRange, marks: PartitionBounds, options: ReadOptions) -> OffsetRange:
    start, end = wanted
    in_order = start <= end or not isinstance(options.starting, At)  # A time may be later than all there is.
    if end > marks.end or not in_order:
        raise OutOfRange(str(where), start, end, marks.log_start, marks.end)
    if start < min(marks.log_start, end):
        lost = DataLost(str(where), start, min(end, marks.log_start), f"the log starts at {marks.log_start}")
        start = after_loss(lost, marks.log_start, options)
    return OffsetRange(min(start, end), end)


def after_loss(lost: DataLost, go_on: int, options: ReadOptions) -> int:
    """Data is lost: an error, or a warning and the offset to go on at, as the options say."""
    if options.fail_on_data_loss:
        raise lost
    _log.warning("%s", lost)
    return go_on
