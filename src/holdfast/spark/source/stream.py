"""`readStream.format("holdfast")`: micro-batches between offsets that Spark keeps in its checkpoint.

Everything about a micro-batch is decided by its two offsets, so a batch that is run again reads the same records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from holdfast.errors import Rejected
from holdfast.io.clock import SystemClock
from holdfast.spark.source.continuity import Continuity
from holdfast.spark.source.limits import limited, limited_by_size
from holdfast.spark.source.looks import Looks
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.progress import Progress, Reached, from_json, to_json
from holdfast.spark.source.ranges import resolve
from holdfast.spark.source.source import parts, rows_of
from holdfast.spark.source.view import View
from holdfast.spark.telling import sentence_first
from holdfast.spark.travel import Travelling
from holdfast.types import OffsetRange, TopicPartition


class StreamReader(Travelling, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One stream. It lives on the driver; executors get copies of it that only read."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._looks = Looks(options)
        self._target: Progress | None = None  # For available-now: nothing above this is read.

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_looks": Looks(self._options)}  # Open connections do not travel.

    @sentence_first()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        view = self._looks.anew()
        starts = resolve(view, self._options.starting, self._options, SystemClock())
        continuity = Continuity(view, self._options)
        checked = {where: continuity.first(where, offset) for where, offset in starts.items()}
        return to_json({where: _reached(view, where, offset) for where, offset in checked.items()})

    @sentence_first()
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        view = self._looks.for_trigger()
        begun = from_json(start)
        ranges = Continuity(view, self._options).ranges(begun, self._ends(view, begun))
        ends = self._limited(view, ranges, limit)
        return to_json({where: _moved(view, where, end, begun.get(where)) for where, end in ends.items()})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        count_max, size_max = self._options.max_offsets_per_trigger, self._options.max_bytes_per_trigger
        if count_max is not None:
            return ReadMaxRows(count_max)  # Spark has no word for both of them: `_limited` keeps the other, too.
        return ReadAllAvailable() if size_max is None else ReadMaxBytes(size_max)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None if self._looks.view is None else to_json(self._ends(self._looks.view, {}))

    @sentence_first()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        view = self._looks.anew()
        self._target = {where: _reached(view, where, marks.end) for where, marks in view.marks.items()}

    @sentence_first()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a micro-batch. After a restart it is planned again, by another process."""
        begun, ended = from_json(start), from_json(end)
        if begun == ended:
            return []
        view = self._look_for(ended)
        return list(parts(view, Continuity(view, self._options).ranges(begun, ended), self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows_of(partition, self._schema, self._options)

    def commit(self, end: dict[str, Any]) -> None:
        """Spark keeps how far it has come; nothing is kept here."""

    def stop(self) -> None:
        self._looks.close()

    def _ends(self, view: View, begun: Progress) -> Progress:
        """How far the stream may read now. What came after the target was taken stays where it is."""
        ends = {where: _reached(view, where, marks.end) for where, marks in view.marks.items()}
        target = self._target
        if target is None:
            return ends
        known = {where: min(each, target[where], key=_offset) for where, each in ends.items() if where in target}
        return {where: each for where, each in begun.items() if where in ends} | known

    def _limited(
        self, view: View, ranges: Mapping[TopicPartition, OffsetRange], limit: ReadLimit
    ) -> dict[TopicPartition, int]:
        """Where the next micro-batch ends, by all limits that were given. Whoever wants all has none."""
        if isinstance(limit, ReadAllAvailable):
            return {where: each.end for where, each in ranges.items()}
        count_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        size_max = limit.max_bytes if isinstance(limit, ReadMaxBytes) else self._options.max_bytes_per_trigger
        if not isinstance(limit, ReadMaxRows | ReadMaxBytes):
            words = "maxOffsetsPerTrigger or maxBytesPerTrigger"
            raise Rejected(f"the source cannot limit a micro-batch by {type(limit).__name__}: use {words}")
        if size_max is not None:
            ends = limited_by_size(ranges, view.catalog.manifests, size_max)
            ranges = {where: OffsetRange(each.start, ends[where]) for where, each in ranges.items()}
        if count_max is not None:
            return limited(ranges, count_max)
        return {where: each.end for where, each in ranges.items()}

    def _look_for(self, ended: Progress) -> View:
        """The last look, if it has seen as far as that; otherwise a new one."""
        view = self._looks.view
        if view is not None and all(
            where in view.marks and view.marks[where].stored >= each.offset for where, each in ended.items()
        ):
            return view
        return self._looks.anew()


def _reached(view: View, where: TopicPartition, offset: int) -> Reached:
    return Reached(view.catalog.manifest(where).home, offset, view.marks[where].epoch)


def _moved(view: View, where: TopicPartition, offset: int, before: Reached | None) -> Reached:
    """A partition that has not moved is told in the same words, whatever was forgotten of its history meanwhile."""
    if before is not None and (before.home, before.offset) == (view.catalog.manifest(where).home, offset):
        return before
    return _reached(view, where, offset)


def _offset(reached: Reached) -> int:
    return reached.offset
