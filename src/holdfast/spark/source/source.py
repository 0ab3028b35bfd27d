"""`format("holdfast")`: the data source that Spark loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from holdfast.catalog.errors import OutOfRange
from holdfast.catalog.plan import Task, plan
from holdfast.catalog.read import read
from holdfast.catalog.store import Store
from holdfast.io.clock import SystemClock
from holdfast.spark.places.options import is_table
from holdfast.spark.source.filters import EVERYTHING, WantedRows, wanted_by
from holdfast.spark.source.options import ReadOptions, parse
from holdfast.spark.source.ranges import ranges_of
from holdfast.spark.source.schema import check_schema, full_schema
from holdfast.spark.source.tail import TailTask, read_tail
from holdfast.spark.source.view import View, whole_view
from holdfast.spark.telling import sentence_first
from holdfast.spark.travel import Travelling
from holdfast.types import OffsetRange, TopicPartition


class SourcePart(InputPartition):
    """What one Spark task reads: pieces of segments, or the tail of a partition."""

    def __init__(self, task: Task | TailTask, store: Store) -> None:
        super().__init__(None)
        self.task = task
        self.store = store


class HoldfastSource(DataSource):
    """Topics of a Holdfast cluster, read from its stored segments; written in transactions (`sink`)."""

    @classmethod
    def name(cls) -> str:
        return "holdfast"

    def schema(self) -> StructType:
        if is_table(self.options):
            from holdfast.spark.places.source import table_schema

            with sentence_first():
                return table_schema(parse(dict(self.options), stream=False))
        return full_schema(include_headers=str(self.options.get("includeHeaders", "false")).lower() == "true")

    def reader(self, schema: StructType) -> DataSourceReader:
        with sentence_first():
            options = parse(dict(self.options), stream=False)
            if options.table is not None:
                from holdfast.spark.places.source import table_reader

                return table_reader(options, schema)
            check_schema(schema)
            return PruningReader(options, schema) if options.push_filters else BatchReader(options, schema)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802
        from holdfast.spark.source.stream import StreamReader

        with sentence_first():
            check_schema(schema)
            return StreamReader(parse(dict(self.options), stream=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:  # noqa: FBT001 - Spark calls it so.
        from holdfast.spark.sink.sink import batch_writer

        with sentence_first():
            return batch_writer(dict(self.options), schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802, FBT001
        from holdfast.spark.sink.sink import stream_writer

        with sentence_first():
            return stream_writer(dict(self.options), schema, overwrite=overwrite)


class BatchReader(Travelling, DataSourceReader):
    """One batch read: planned on the driver, carried out by executors."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._wanted = EVERYTHING

    def partitions(self) -> list[InputPartition]:
        with sentence_first():
            view = whole_view(self._options)
            ranges = ranges_of(view, self._options, SystemClock())
            wanted = {where: self._wanted.of(each) for where, each in ranges.items() if self._wanted.has(where)}
            return list(parts(view, wanted, self._options, self._wanted))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows_of(partition, self._schema, self._options, self._wanted)


class PruningReader(BatchReader):
    """Reads less where filters allow it. Only for who asks: Spark keeps one plan for each DataFrame, with the filters
    that came last, and takes it for every other query on the same DataFrame, whose rows would then be missing."""

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802
        """Take from the filters what need not be read; Spark applies them to the rows again."""
        self._wanted = wanted_by(filters)
        return filters


def parts(
    view: View, ranges: dict[TopicPartition, OffsetRange], options: ReadOptions, wanted: WantedRows = EVERYTHING
) -> Iterator[InputPartition]:
    """One part for each task: what is stored in even ones, then one for each tail."""
    catalog = view.catalog
    stored = {where: OffsetRange(start, min(end, view.marks[where].stored)) for where, (start, end) in ranges.items()}
    for task in plan(
        catalog,
        stored,
        times=wanted.times,
        committed=options.committed,
        min_partitions=options.min_partitions,
        split_size=options.split_size,
        count_max=options.max_records_per_partition,
    ):
        yield SourcePart(task, catalog.store)
    for where, (start, end) in ranges.items():
        start = max(start, view.marks[where].stored)
        if start < end:
            if options.kafka is None:
                raise OutOfRange(str(where), start, end, *view.marks[where][:2])
            home, step = catalog.manifest(where).home, options.max_records_per_partition or end - start
            for first in range(start, end, step):
                last = min(first + step, end)
                tail = TailTask(where, home, first, last, options.kafka, options.committed, wanted.times)
                yield SourcePart(tail, catalog.store)


def rows_of(
    part: InputPartition, schema: StructType, options: ReadOptions, wanted: WantedRows = EVERYTHING
) -> Iterator[pa.RecordBatch]:
    """The rows of a part in just the columns of a schema. Spark makes a part of its own where there is none."""
    if not isinstance(part, SourcePart):
        return
    names: Sequence[str] = schema.fieldNames()
    target: Any = to_arrow_schema(schema, timezone="UTC")
    keep_going = {"fail_on_data_loss": options.fail_on_data_loss}
    if isinstance(part.task, Task):
        batches = read(part.task, names, part.store, **keep_going)
    else:
        batches = read_tail(part.task, names, part.store, **keep_going)
    with sentence_first():
        for batch in batches:
            yield wanted.sifted(pa.RecordBatch.from_arrays(batch.columns, schema=target))
