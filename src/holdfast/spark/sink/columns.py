"""The columns of a data frame as those of records: what they are called, which types they have, and where rows go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.record.columnar.columns import Columns
from holdfast.record.columnar.cut import row_sizes
from holdfast.record.columnar.key_hash import partitions_of
from holdfast.spark.sink.errors import BadColumns, HeaderWithoutKey, NoSuchPartition, NoTopic
from holdfast.spark.sink.json_texts import json_texts

Numbers: TypeAlias = NDArray[np.int64]

_TEXT = ("string", "binary")
_TYPES = {"key": _TEXT, "value": _TEXT, "topic": ("string",), "partition": ("integer",)}
_HEADERS = "array<struct<key:string,value:binary>>"


class RowTarget(NamedTuple):
    """What must be known of a topic to write to it."""

    topic: str
    partitions: int
    batch_size_max: int


def check_schema(schema: Any, topic: str | None, *, include_timestamp: bool, json_values: bool = False) -> None:
    """Is this a data frame that can be written? Columns of other names are left out, as Spark's own sink does."""
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    kinds = {name: _kind(text) for name, text in types.items()}
    if "value" not in types:
        raise BadColumns("the data frame has no column value")
    if topic is None and "topic" not in types:
        raise BadColumns("the data frame has no column topic, and the option topic is not given")
    for name, allowed in _TYPES.items():
        if name in kinds and kinds[name] not in allowed and not (json_values and name == "value"):
            hint = "; valueFormat=json writes it as JSON" if name == "value" else ""
            raise BadColumns(f"column {name} is of type {types[name]}, not {' or '.join(allowed)}{hint}")
    if "headers" in types and types["headers"] != _HEADERS:
        raise BadColumns(f"column headers is of type {types['headers']}, not {_HEADERS}")
    if include_timestamp and kinds.get("timestamp") != "timestamp":
        raise BadColumns("includeTimestamp is set, but there is no column timestamp of type timestamp")


def _kind(text: str) -> str:
    if text in ("tinyint", "smallint", "int", "bigint"):
        return "integer"
    return "string" if text.startswith(("string", "varchar", "char")) else text


def record_columns(batch: pa.RecordBatch, *, include_timestamp: bool, json_values: bool = False) -> pa.RecordBatch:
    """Key, value, headers and timestamp, those that are there, in types that can be encoded."""
    columns: dict[str, Any] = {name: batch.column(name) for name in ("key", "value") if name in batch.schema.names}
    if json_values:
        columns["value"] = json_texts(columns["value"])
    if "headers" in batch.schema.names:
        columns["headers"] = _checked_headers(batch.column("headers"))
    if include_timestamp:
        times: Any = batch.column("timestamp")
        zone: Any = pa.timestamp("us", "UTC")
        columns["timestamp"] = pc.floor_temporal(times.cast(zone), unit="millisecond").cast(pa.timestamp("ms", "UTC"))
    return pa.RecordBatch.from_pydict(columns)


def _checked_headers(headers: Any) -> Any:
    missing = headers.flatten().field("key").null_count
    if missing:
        raise HeaderWithoutKey(missing)
    return headers


class ColumnPlaces(NamedTuple):
    """Where each row goes: a number that stands for a topic and a partition."""

    of_rows: Numbers
    targets: list[RowTarget]
    bases: Numbers  # The first number of each target.

    def find(self, place: int) -> tuple[RowTarget, int]:
        at = int(np.searchsorted(self.bases, place, "right")) - 1
        return self.targets[at], place - int(self.bases[at])


class RowPartitioner:
    """Chooses partitions. Rows without key and partition take turns in runs, so that batches stay large."""

    def __init__(self, look_up: Callable[[str], RowTarget], topic: str | None, first_turn: int, run_size: int) -> None:
        self._look_up = look_up
        self._topic = topic
        self._turn = first_turn
        self._run_size = run_size

    def choose(self, batch: pa.RecordBatch, columns: Columns) -> ColumnPlaces:
        """The place of each row of a data frame's batch, whose record columns are `columns`."""
        targets, codes = self._targets(batch)
        counts = np.array([each.partitions for each in targets], np.int64)
        bases = np.concatenate(([0], np.cumsum(counts)))[:-1].astype(np.int64)
        partitions = self._by_key(columns, counts[codes])
        if "partition" in batch.schema.names:
            named, given = _named(batch.column("partition"))
            wrong = np.flatnonzero(named & ((given < 0) | (given >= counts[codes])))
            if len(wrong):
                target = targets[int(codes[wrong[0]])]
                raise NoSuchPartition(target.topic, int(given[wrong[0]]), target.partitions)
            partitions[named] = given[named]  # What a row says goes before what its key says.
        free = np.flatnonzero(partitions < 0)
        if len(free):
            partitions[free] = self._turns(row_sizes(columns)[free]) % counts[codes[free]]
        return ColumnPlaces(bases[codes] + partitions, targets, bases)

    def _targets(self, batch: pa.RecordBatch) -> tuple[list[RowTarget], Numbers]:
        if self._topic is not None:
            return [self._look_up(self._topic)], np.zeros(batch.num_rows, np.int64)
        topics: Any = batch.column("topic")
        if topics.null_count:
            raise NoTopic(topics.null_count)
        encoded = topics.dictionary_encode()
        codes: Numbers = encoded.indices.to_numpy().astype(np.int64)
        return [self._look_up(name) for name in encoded.dictionary.to_pylist()], codes

    def _by_key(self, columns: Columns, counts: Numbers) -> Numbers:
        if columns.key is None:
            return np.full(len(columns), -1, np.int64)
        return partitions_of(columns.key, counts)

    def _turns(self, sizes: Numbers) -> Numbers:
        turns = self._turn + np.cumsum(sizes) // self._run_size
        self._turn = int(turns[-1]) + 1
        return turns


def _named(partitions: Any) -> tuple[Any, Numbers]:
    """Which rows name a partition, and which."""
    named = partitions.is_valid().to_numpy(zero_copy_only=False)
    return named, partitions.fill_null(0).to_numpy().astype(np.int64)
