"""`format("holdfast")` with an archive, or with values as columns: one read over all places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from holdfast.catalog.plan import Task
from holdfast.catalog.read import read
from holdfast.catalog.store import Store
from holdfast.errors import Rejected
from holdfast.spark.places.read import ArchivedTask, decoded, log_columns, packed, read_archived
from holdfast.spark.places.shape import TableShape
from holdfast.spark.places.split import Ranges, TableSplit, look_at, split
from holdfast.spark.source.filters import EVERYTHING, wanted_by
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.source import SourcePart, parts
from holdfast.spark.source.tail import read_tail
from holdfast.spark.telling import sentence_first


class ArchivedPart(InputPartition):
    """What one Spark task reads of an archive."""

    def __init__(self, task: ArchivedTask, store: Store) -> None:
        super().__init__(None)
        self.task = task
        self.store = store


class LivePart(InputPartition):
    """What one Spark task reads of the log, with how its values become columns."""

    def __init__(self, part: SourcePart, decoding: Any) -> None:
        super().__init__(None)
        self.part = part
        self.decoding = decoding


def table_schema(options: ReadOptions) -> StructType:
    """All columns of the table, as Spark calls them."""
    return spark_schema(look_at(options).shape.columns)


def spark_schema(types: Mapping[str, Any]) -> StructType:
    return StructType([StructField(name, spark_type(name, kind)) for name, kind in types.items()])


def check_table(schema: StructType, shape: TableShape) -> None:
    """Raise unless the table can be read with this schema: some of its columns, with their own types."""
    types = shape.types(schema.fieldNames())
    for each in schema.fields:
        has = spark_type(each.name, types[each.name])
        if _bare(each.dataType) != _bare(has):
            raise Rejected(
                f"column {each.name} is {has.simpleString()}, not {each.dataType.simpleString()}: read it as it is, "
                "then cast it"
            )


def _bare(kind: Any) -> str:
    """A type without what may be null in it."""
    return str(kind.simpleString())


def spark_type(name: str, kind: Any) -> Any:
    try:
        return from_arrow_type(kind)
    except Exception:
        raise Rejected(
            f"column {name} is {kind}, for which Spark has no type: name the columns that are wanted"
        ) from None


class TableReader(DataSourceReader):
    """One batch read of a table."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._wanted = EVERYTHING

    def partitions(self) -> list[InputPartition]:
        with sentence_first():
            names = self._schema.fieldNames()
            found = split(self._options, names)
            check_table(self._schema, found.look.shape)
            return [*self._archived(found), *self._live(found, names)]

    def _archived(self, found: TableSplit) -> Iterator[InputPartition]:
        archive, wanted = found.look.archive, self._narrowed(found.archived)
        if archive is None or not wanted:
            return
        ranges = {(where.topic, where.partition): each for where, each in wanted.items()}
        topics = {topic for topic, _ in ranges}
        files = [each for each in found.look.state.files if each.topic in topics]
        for some in packed(files, self._options.split_size):
            yield ArchivedPart(ArchivedTask(some, ranges, self._wanted.times), archive.store)

    def _live(self, found: TableSplit, names: list[str]) -> Iterator[InputPartition]:
        decoding = found.look.shape.decoding_of(names)
        for part in parts(found.view, self._narrowed(found.live), self._options, self._wanted):
            assert isinstance(part, SourcePart)
            yield LivePart(part, decoding)

    def _narrowed(self, ranges: Ranges) -> Ranges:
        return {where: self._wanted.of(each) for where, each in ranges.items() if self._wanted.has(where)}

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        names = self._schema.fieldNames()
        target: Any = to_arrow_schema(self._schema, timezone="UTC")
        if isinstance(partition, ArchivedPart):
            yield from read_archived(partition.task, names, target, partition.store)
        elif isinstance(partition, LivePart):
            part, decoding = partition.part, partition.decoding
            columns = log_columns(names, decoding)
            keep_going = {"fail_on_data_loss": self._options.fail_on_data_loss}
            if isinstance(part.task, Task):
                batches = read(part.task, columns, part.store, **keep_going)
            else:
                batches = read_tail(part.task, columns, part.store, **keep_going)
            if decoding is not None:
                yield from decoded(batches, names, target, decoding)
                return
            for batch in batches:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=target)


class PruningTableReader(TableReader):
    """Reads less where filters allow it; only for who asks, as with every read."""

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802
        self._wanted = wanted_by(filters)
        return filters


def table_reader(options: ReadOptions, schema: StructType) -> TableReader:
    return PruningTableReader(options, schema) if options.push_filters else TableReader(options, schema)
